"""The native part. It is not an interface of the package: use what `headway` itself has."""

from collections.abc import Callable, Sequence
from os import PathLike

Progress = Callable[[int, int, int], None]

class Arrow:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Recorded:
    metrics: Arrow
    events: Arrow
    packets: Arrow
    time_sequence: Arrow

class Experiment:
    name: str
    title: str
    runs: int
    seed: int
    axes: list[tuple[str, list[str]]]
    cells: int
    def __init__(
        self,
        file: str | PathLike[str],
        *,
        paper: bool = False,
        runs: int | None = None,
        seed: int | None = None,
        settings: Sequence[str] = (),
    ) -> None: ...
    def run(
        self, folder: str | PathLike[str], reuse: bool = False, progress: Progress | None = None
    ) -> Arrow: ...

class Results:
    missing: int
    measure: tuple[str, str]
    def __init__(self, folder: str | PathLike[str]) -> None: ...
    def table(self) -> Arrow: ...
    def figure(
        self,
    ) -> list[tuple[list[tuple[str, str]], tuple[float, float, float] | None, int, int]]: ...
    def claims(self) -> list[tuple[str, str, float | None, float | None]]: ...

def check(given: dict[str, str]) -> list[tuple[str, str]]: ...
def columns() -> list[tuple[str, str, str]]: ...
def features() -> list[tuple[str, str]]: ...
def fingerprint() -> str: ...
def keys() -> list[tuple[str, str, str, str, str]]: ...
def papers() -> list[tuple[str, str]]: ...
def race(
    given: dict[str, str],
    variants: Sequence[str],
    runs: int,
    seed: int,
    progress: Progress | None = None,
) -> Arrow: ...
def run(
    given: dict[str, str], variant: str, seed: int, capture: str | PathLike[str] | None = None
) -> Recorded: ...
def trace(files: Sequence[str | PathLike[str]], interface: str | None = None) -> str: ...
def variants() -> list[str]: ...
def version() -> str: ...
