"""What a task is: a batch of runs. Arguments and answers are values of Python's own types: the scheduler, which moves them,
needs no package.
"""

from __future__ import annotations

import threading
import zlib
from functools import lru_cache

from headway import _native

#: The version of the package, and what its rows are known by.
Identity = tuple[str, str]

#: The worker, and its identity, where it makes other rows; otherwise the rows (compressed lines of the journal), how many,
#: the seconds that they took, and what was wrong with the next run.
Answer = tuple[str, Identity] | tuple[bytes, int, float, str | None]

_opening = threading.Lock()


def identity() -> Identity:
    """The identity of this process."""
    return _native.version(), _native.fingerprint()


def make(description: bytes, expected: Identity, places: bytes, seconds: float) -> Answer:
    """Makes the runs of these places, one at least, and begins no more once `seconds` have passed."""
    if identity() != expected:
        return _address(), identity()
    # The threads of a worker share what is read once.
    with _opening:
        runs = _runs(description)
    lines, made, took, problem = runs.make(places, seconds)
    # Columns have the same names in each line: a tenth of the bytes is left.
    return zlib.compress(lines, 1), made, took, problem


@lru_cache(maxsize=4)
def _runs(description: bytes) -> _native.RunMaker:
    return _native.RunMaker(zlib.decompress(description))


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
