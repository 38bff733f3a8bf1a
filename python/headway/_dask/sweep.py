"""A sweep whose runs Dask's workers make. What is stored, and how, is as in a sweep on one machine."""

from __future__ import annotations

import importlib.metadata
import time
import uuid
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import CancelledError
from os import PathLike
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from headway import _native
from headway._dask import worker
from headway._dask.batches import PLACE, Batches
from headway.errors import Error, InputError

if TYPE_CHECKING:
    from distributed import Client, Future

#: A batch, for Python's own `eval`. A function of the package would need the package in the scheduler, and would end each
#: worker that lacks it; so there is an exception, which comes back.
TASK = (
    "__import__('importlib').import_module('headway._dask.worker').make(description, expected, places, seconds)"
)

Report = Callable[[int, int, int], None]

#: Seconds between two looks at the cluster.
LOOK = 2.0
#: Seconds after which a scheduler that does not answer is gone.
PATIENCE = 15.0
#: What a call raises where the connection ends: a client that is being closed has no exception of its own.
ENDED = (CancelledError, OSError, TimeoutError, RuntimeError)
#: Batches under way for each thread of the cluster. An adaptive cluster, which has work of 5 seconds for each thread by
#: default, grows with it.
A_THREAD = 8


def run(
    client: Client,
    experiment: _native.Experiment,
    folder: str | PathLike[str],
    reuse: bool,
    report: Report | None,
) -> _native.Arrow:
    """Makes the runs that are missing in the folder on the client's cluster, and writes the tables."""
    check(client)
    sweep = _native.Sweep(experiment, folder, reuse)
    try:
        return _Sweep(client, sweep, report).run()
    finally:
        # An exception keeps the sweep, and the folder would stay taken.
        sweep.close()


def check(client: object) -> None:
    """Whether this is a client that can be waited for."""
    try:
        from distributed import Client
    except ImportError as error:
        raise Error(f"{error}: expected Dask's distributed (pip install './python[dask]')") from None
    if not isinstance(client, Client):
        raise InputError(f"client: expected a distributed.Client, found {type(client).__name__}")
    if client.asynchronous:
        raise InputError("client: expected one with asynchronous=False, found an asynchronous one")
    if client.status != "running":
        raise InputError(f"client: expected one that is connected, found one that is {client.status}")


class _Sweep:
    def __init__(self, client: Client, sweep: _native.Sweep, report: Report | None) -> None:
        self.client = client
        #: Calls to the scheduler.
        self.scheduler = cast("Any", client.scheduler)
        self.address = str(self.scheduler.address)
        self.sweep = sweep
        self.report = report or (lambda done, wanted, outdated: None)
        self.batches = Batches(sweep.missing())
        self.wanted, self.made = len(self.batches), 0
        self.identity = worker.identity()
        self.name = f"headway-runs-{uuid.uuid4().hex}"
        self.number = 0
        #: The places of each batch under way.
        self.flying: dict[Future[Any], bytes] = {}
        self.done: SimpleQueue[Future[Any]] = SimpleQueue()
        self.threads = 0
        self.looked = float("-inf")
        self.idle_since: float | None = None

    def run(self) -> _native.Arrow:
        self.tell()
        if self.wanted:
            try:
                self.check_cluster()
                self.make()
            except KeyboardInterrupt:
                text = "interrupted; the runs that were made are stored, and the same sweep goes on from them"
                raise KeyboardInterrupt(text) from None
            except ENDED as error:
                if self.answers():
                    raise Error(f"Dask's scheduler at {self.address}: {error or type(error).__name__}") from error
                raise self.lost() from None
        return self.sweep.finish()

    def tell(self) -> None:
        self.report(self.made, self.wanted, self.sweep.outdated)

    def is_connected(self) -> bool:
        return bool(self.client.status == "running")

    def answers(self) -> bool:
        """Whether the scheduler is there: a call can fail before the client knows that its connection has ended."""
        try:
            self.count_threads()
        except ENDED:
            return False
        return self.is_connected()

    def lost(self) -> Error:
        return Error(
            f"Dask's scheduler at {self.address} is gone: {self.made} of {self.wanted} runs were made and are stored; "
            "the same sweep goes on from them"
        )

    def make(self) -> None:
        # A task, not data of ours: the scheduler has it made again where all workers that hold it die.
        description = self.client.submit(
            bytes, zlib.compress(self.sweep.description), key=f"{self.name}-description", pure=False
        )
        try:
            while self.batches or self.flying:
                self.look()
                self.send(description)
                self.receive()
        except KeyboardInterrupt:
            self.store([future for future in self.flying if future.status == "finished"])
            raise
        finally:
            if self.is_connected():
                self.client.cancel([*self.flying, description])

    def look(self) -> None:
        """How many threads there are, and whether the scheduler is."""
        now = time.monotonic()
        if now < self.looked + LOOK:
            return
        self.looked = now
        self.threads = self.count_threads()
        if self.threads:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now
        elif now >= self.idle_since + 2 * LOOK and now < self.idle_since + 3 * LOOK:
            warnings.warn(f"Dask's scheduler at {self.address} has no worker: waiting for one", stacklevel=6)

    def count_threads(self) -> int:
        cores = self.client.sync(self.scheduler.ncores, callback_timeout=PATIENCE)
        return sum(cast("dict[str, int]", cores).values())

    def send(self, description: Future[Any]) -> None:
        """Fills up what is under way: the number of futures does not depend on that of runs."""
        bound = max(1, self.threads) * (A_THREAD if self.batches.is_measured else 2)
        room = bound - len(self.flying)
        # Each call costs the scheduler some milliseconds, however many batches it brings.
        if room < max(1, bound // A_THREAD):
            return
        cuts: list[bytes] = []
        while self.batches and len(cuts) < room:
            cuts.append(self.batches.cut(self.threads))
        if not cuts:
            return
        keys = [f"{self.name}-{self.number + place}" for place in range(len(cuts))]
        self.number += len(cuts)
        # A batch whose runs take far longer than those before it is cut short; its rest is made later.
        limit = 2 * self.batches.seconds(self.threads)
        names = [
            {"description": description, "expected": self.identity, "places": places, "seconds": limit}
            for places in cuts
        ]
        futures = self.client.map(eval, [TASK] * len(cuts), names, key=keys, pure=False)
        for future, places in zip(futures, cuts, strict=True):
            self.flying[future] = places
            future.add_done_callback(self.done.put)

    def receive(self) -> None:
        """Waits for batches, and stores them."""
        try:
            done = [self.done.get(timeout=LOOK)]
        except Empty:
            return
        while not self.done.empty():
            done.append(self.done.get())
        states = [(future, future.status) for future in done]
        self.store([future for future, status in states if status == "finished"])
        for future, status in states:
            if status in ("error", "cancelled"):
                self.fail(future)
            # Its rows ended with the worker that held them: the scheduler has them made again.
            if status in ("pending", "lost"):
                future.add_done_callback(self.done.put)

    def store(self, futures: list[Future[Any]]) -> None:
        futures = [future for future in futures if future in self.flying]
        answers: list[worker.Answer] = self.client.gather(futures)
        problems = []
        for future, answer in zip(futures, answers, strict=True):
            places = self.flying.pop(future)
            if len(answer) == 2:
                problems.append(self.mismatch(answer[0], answer[1]))
                continue
            lines, made, seconds, problem = answer
            accepted = self.sweep.accept(places, zlib.decompress(lines))
            if accepted != made or (made == 0 and problem is None):
                problems.append(f"a batch of runs: expected rows of {max(made, 1)} runs, found {accepted}")
            self.made += accepted
            self.batches.measured(made, seconds)
            if problem is not None:
                problems.append(problem)
            self.batches.give_back(places[made * PLACE :])
        self.tell()
        if problems:
            raise Error(problems[0])

    def fail(self, future: Future[Any]) -> None:
        """A batch that was not made."""
        if not self.is_connected():
            raise self.lost()
        if future.status == "cancelled":
            raise Error(f"Dask's scheduler at {self.address}: the runs were cancelled there")
        error = future.exception()
        # A worker that came later, without the package.
        if isinstance(error, ImportError):
            self.check_cluster()
        raise Error(f"Dask's scheduler at {self.address}: a batch of runs failed: {_text(error)}")

    def check_cluster(self) -> None:
        """Refuses a cluster with another version of the package, or without it."""
        # Functions of Python's own, which can be called everywhere.
        found = self.client.run(importlib.metadata.version, "headway", on_error="return")
        there = [address for address, version in found.items() if isinstance(version, str)]
        # Older versions have no such function.
        who = self.client.run(worker.identity, workers=there, on_error="return") if there else {}
        problems = []
        for address, version in sorted(found.items()):
            if not isinstance(version, str):
                problems.append(f"worker {address}: it has no Python package headway; expected {_named(self.identity)}")
            elif not isinstance(who[address], tuple):
                problems.append(self.mismatch(address, (version, "unknown")))
            elif who[address] != self.identity:
                problems.append(self.mismatch(address, who[address]))
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise Error(problems[0] + more)

    def mismatch(self, address: str, found: worker.Identity) -> str:
        return f"worker {address}: expected {_named(self.identity)}, found {_named(found)}"


def _named(identity: worker.Identity) -> str:
    version, code = identity
    return f"headway {version} (code {code})"


def _text(error: BaseException | None) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
