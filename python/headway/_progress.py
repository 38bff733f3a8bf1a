"""Progress of sweeps."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: True or False: with or without a bar; None: with one where somebody sees it and tqdm is installed. Or what is
#: called with the number of runs that are done and of those that are wanted.
Progress = bool | Callable[[int, int], None] | None


def outdated(runs: int) -> None:
    """Says that stored rows will be made again."""
    if runs > 0:
        were = "run was" if runs == 1 else "runs were"
        warnings.warn(
            f"{runs} {were} made by other code and will be made again (reuse=True keeps such runs)",
            stacklevel=4,
        )


@contextmanager
def reported(progress: Progress) -> Iterator[Callable[[int, int, int], None] | None]:
    """What the native part calls with the runs done, wanted, and outdated."""
    if progress is None:
        progress = _is_seen()
    bar: _Bar | _Called | None = None
    if callable(progress):
        bar = _Called(progress)
    elif progress:
        bar = _Bar()
    state = {"outdated": False}

    def report(done: int, wanted: int, stale: int) -> None:
        if stale and not state["outdated"]:
            state["outdated"] = True
            outdated(stale)
        if bar is not None:
            bar.update(done, wanted)

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()


def _is_seen() -> bool:
    if not (sys.stderr is not None and sys.stderr.isatty()) and "ipykernel" not in sys.modules:
        return False
    try:
        import tqdm.auto  # noqa: F401
    except ImportError:
        return False
    return True


class _Called:
    def __init__(self, call: Callable[[int, int], None]) -> None:
        self.call = call

    def update(self, done: int, wanted: int) -> None:
        self.call(done, wanted)

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self.bar = tqdm(unit="run")

    def update(self, done: int, wanted: int) -> None:
        if self.bar.total != wanted:
            self.bar.reset(total=wanted)
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        self.bar.close()
