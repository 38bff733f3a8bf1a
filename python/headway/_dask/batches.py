"""Batches of runs: long enough that the scheduler is not the bottleneck, short enough that little is lost with a worker."""

from collections import deque
from math import ceil

#: The bytes of the place of a run.
PLACE = 8

#: A batch takes this many seconds ...
SECONDS = 1.0
#: ... or this many for each thread of the cluster, if that is more: then a scheduler has 100 batches a second.
SECONDS_A_THREAD = 0.01

#: The most runs of a batch; a row has about 1 kB.
MOST = 10_000

#: How much the last batch counts in the mean.
WEIGHT = 0.3


class Batches:
    """The runs that no worker has yet, cut into batches by how long runs take."""

    def __init__(self, places: bytes) -> None:
        self._places = places
        self._begin = 0
        self._returned: deque[bytes] = deque()
        self._mean: float | None = None

    def __len__(self) -> int:
        """The number of runs."""
        return (len(self._places) - self._begin + sum(map(len, self._returned))) // PLACE

    @property
    def is_measured(self) -> bool:
        """Whether it is known how long a run takes."""
        return self._mean is not None

    @staticmethod
    def seconds(threads: int) -> float:
        """How long a batch should take on a cluster with this many threads."""
        return max(SECONDS, SECONDS_A_THREAD * threads)

    def cut(self, threads: int) -> bytes:
        """The places of the next batch. Towards the end batches get shorter, so that all threads end at about the same time."""
        if self._mean is None:
            runs = 1
        else:
            wanted = ceil(self.seconds(threads) / max(self._mean, 1e-6))
            runs = max(1, min(wanted, ceil(len(self) / (2 * max(threads, 1))), MOST))
        if self._returned:
            places = self._returned.popleft()
            if len(places) > runs * PLACE:
                self._returned.appendleft(places[runs * PLACE :])
            return places[: runs * PLACE]
        places = self._places[self._begin : self._begin + runs * PLACE]
        self._begin += len(places)
        return places

    def give_back(self, places: bytes) -> None:
        """Runs of a batch that were not made."""
        if places:
            self._returned.append(places)

    def measured(self, runs: int, seconds: float) -> None:
        """A batch of this many runs took so long."""
        if runs:
            last = seconds / runs
            self._mean = last if self._mean is None else WEIGHT * last + (1 - WEIGHT) * self._mean
