"""What `headway lab run --dask ADDRESS` starts: python3 -m headway._dask.command ADDRESS.

The command asks on standard input, a line of JSON for each experiment, and is answered on standard output, a line of JSON
for each event. SIGINT ends a sweep; what was made is stored.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from headway import _native
from headway._dask import sweep
from headway.errors import Error

if TYPE_CHECKING:
    from distributed import Client

Tell = Callable[..., None]

#: Seconds in which the scheduler must answer.
PATIENCE = 5


def main() -> int:
    """Answers until there are no more questions; the exit code."""
    events = _events()

    def tell(**event: object) -> None:
        print(json.dumps(event), file=events, flush=True)

    # What else is printed is not for the command. Levels do not do: Dask sets those of its loggers when it is imported.
    logging.disable()
    warnings.showwarning = lambda message, *_: tell(notice=" ".join(str(message).split()))
    tell(version=_native.version(), fingerprint=_native.fingerprint())
    client: Client | None = None
    try:
        # Nothing is asked of a package of another version.
        for line in sys.stdin:
            client = client or connect(sys.argv[1])
            run(client, json.loads(line), tell)
    except KeyboardInterrupt:
        tell(interrupted=True)
        return 130
    except Error as error:
        tell(error=" ".join(str(error).split()))
        return 1
    finally:
        if client is not None:
            with suppress(Exception, KeyboardInterrupt):
                client.close(timeout=2)
    return 0


def connect(address: str) -> Client:
    """A client of the scheduler with this address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise Error(f"{error}: expected Dask's distributed (pip install './python[dask]')") from None
    answers: SimpleQueue[Client | str] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(Client(address, timeout=PATIENCE, set_as_default=False))
        # Dask has no exception of its own for addresses.
        except Exception as error:
            answers.put(" ".join(str(error).split()) or type(error).__name__)

    # Dask waits forever for what accepts a connection and says nothing.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=2 * PATIENCE)
    except Empty:
        answer = f"no answer in {2 * PATIENCE} s"
    if isinstance(answer, str):
        raise Error(
            f"--dask {address}: {answer}; expected the address of a Dask scheduler that runs, such as "
            "tcp://127.0.0.1:8786"
        )
    return answer


def run(client: Client, asked: dict[str, Any], tell: Tell) -> None:
    """Makes the runs of an experiment that are missing."""
    experiment = _native.Experiment(
        asked["file"],
        paper=asked["paper"],
        runs=asked["runs"],
        seed=asked["seed"],
        settings=asked["settings"],
    )

    def report(done: int, wanted: int, outdated: int) -> None:
        tell(done=done, wanted=wanted, outdated=outdated)

    sweep.run(client, experiment, Path(asked["folder"]), asked["reuse"], report)
    tell(finished=True)


def _events() -> IO[str]:
    """Standard output for events alone: what others print goes to standard error."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return events


if __name__ == "__main__":
    code = main()
    # Not sys.exit: threads of Dask may wait for what never answers.
    os._exit(code)
