"""Experiments: sweeps from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from headway import _native
from headway._dask import sweep
from headway._progress import Progress, reported
from headway._tables import table
from headway._values import Value, text
from headway.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

#: What changes in an experiment: keys of `[scenario]` with a value, axes with several.
Changes = Mapping[str, Value | Sequence[Value]] | Iterable[str]


class Experiment:
    """An experiment file (TOML), read and checked: `headway lab` has the same.

    `runs`, `seed` and `set` change what the file says, as the options of `headway lab run` do:
    `set={"delay": "150ms", "variant": ["sack", "headway"]}`.
    """

    def __init__(
        self,
        file: str | PathLike[str],
        *,
        runs: int | None = None,
        seed: int | None = None,
        set: Changes = (),
    ) -> None:
        self._file = fspath(file)
        self._is_paper = False
        self._read(runs, seed, set)

    @classmethod
    def paper(
        cls, name: str, *, runs: int | None = None, seed: int | None = None, set: Changes = ()
    ) -> Self:
        """The experiment of a paper; `headway.papers()` has their names."""
        experiment = cls.__new__(cls)
        experiment._file = name
        experiment._is_paper = True
        experiment._read(runs, seed, set)
        return experiment

    def _read(self, runs: int | None, seed: int | None, set: Changes) -> None:
        self._changes = (runs, seed, _settings(set))
        self._native = self._with(*self._changes)

    def _with(self, runs: int | None, seed: int | None, settings: list[str]) -> _native.Experiment:
        paper = self._is_paper
        return _native.Experiment(self._file, paper=paper, runs=runs, seed=seed, settings=settings)

    @property
    def name(self) -> str:
        """The name of the file, without folder and ending; results are in a folder of this name."""
        return self._native.name

    @property
    def title(self) -> str:
        """What it shows."""
        return self._native.title

    @property
    def axes(self) -> dict[str, list[str]]:
        """The axes and their values."""
        return dict(self._native.axes)

    @property
    def cells(self) -> int:
        """The number of combinations of the axes that are run."""
        return self._native.cells

    @property
    def runs(self) -> int:
        """The runs of each cell."""
        return self._native.runs

    @property
    def seed(self) -> int:
        """The seed."""
        return self._native.seed

    def run(
        self,
        out: str | PathLike[str] = "results",
        *,
        runs: int | None = None,
        seed: int | None = None,
        set: Changes = (),
        reuse: bool = False,
        progress: Progress = None,
        client: Client | None = None,
    ) -> pa.Table:
        """Makes the runs that are missing in the folder `out`/`name`, over all cores, and writes its tables; a row is a run.

        It is what `headway lab run` does, with the same files: each run is stored as it is made, so that an interrupted
        sweep, also one of the command, goes on where it stopped. With `reuse`, rows of other code count as made. With a
        `client` of Dask (`distributed.Client`), its workers make the runs; the files are the same, byte by byte.
        """
        before = self._changes
        changes = (
            before[0] if runs is None else runs,
            before[1] if seed is None else seed,
            before[2] + _settings(set),
        )
        experiment = self._native if changes == before else self._with(*changes)
        folder = Path(out) / experiment.name
        with reported(progress) as report:
            if client is None:
                return table(experiment.run(folder, reuse, report))
            return table(sweep.run(client, experiment, folder, reuse, report))

    def results(self, out: str | PathLike[str] = "results") -> Results:
        """The results that are stored in the folder `out`/`name`."""
        return Results(Path(out) / self.name)

    def __repr__(self) -> str:
        return f"<Experiment {self.name}: {self.cells} cells of {self.runs} runs>"


class Results:
    """The stored results of an experiment, of this package or of the command."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._native = _native.Results(folder)

    @property
    def table(self) -> pa.Table:
        """A row for each run that there is."""
        return table(self._native.table())

    @property
    def missing(self) -> int:
        """The number of runs that are missing."""
        return self._native.missing

    @property
    def measure(self) -> str:
        """What the figure shows, with its unit."""
        return " ".join(self._native.measure).rstrip()

    def figure(self) -> pa.Table:
        """What the figure shows: a row for each cell, with the values of its axes; the `value` of the measure, its 95 %
        interval from `low` to `high`; and how many `runs` there are, and how many of these `finished`.
        """
        rows = []
        for axes, summary, runs, finished in self._native.figure():
            value, low, high = summary or (None, None, None)
            numbers = {"value": value, "low": low, "high": high, "runs": runs, "finished": finished}
            rows.append({**dict(axes), **numbers})
        return pa.Table.from_pylist(rows)

    def claims(self) -> pa.Table:
        """A row for each claim: what it `says`, its `verdict`, the number of the source (`paper`), and `ours`."""
        names = ["says", "verdict", "paper", "ours"]
        kinds = [pa.string(), pa.string(), pa.float64(), pa.float64()]
        schema = pa.schema(list(zip(names, kinds, strict=True)))
        rows = [dict(zip(names, row, strict=True)) for row in self._native.claims()]
        return pa.Table.from_pylist(rows, schema)


def papers() -> pa.Table:
    """The papers' experiments: name and title."""
    names, titles = zip(*_native.papers(), strict=True)
    return pa.table({"name": names, "title": titles})


def _settings(changes: Changes) -> list[str]:
    if isinstance(changes, str):
        return [changes]
    if not isinstance(changes, Mapping | Iterable):
        raise InputError(f"set: {changes!r}: expected keys with their values, such as {{\"delay\": \"150ms\"}}")
    if not isinstance(changes, Mapping):
        return list(changes)
    return [f"{name}={_value(name, value)}" for name, value in changes.items()]


def _value(name: str, value: Value | Sequence[Value]) -> str:
    if isinstance(value, str | int | float) or not isinstance(value, Sequence):
        return text(name, value)
    return ",".join(text(name, one) for one in value)
