"""Sweeps on Dask: the files of one machine, whatever happens to the cluster."""

import re
from pathlib import Path

import pytest

import headway
from headway._dask.batches import MOST, PLACE, Batches

from .conftest import SMALL

distributed = pytest.importorskip(
    "distributed", reason="Dask's distributed is not installed (pip install './python[dask]')"
)

FILES = ["runs.csv", "runs.parquet", "experiment.json"]


def assert_same(ours: Path, theirs: Path) -> None:
    """The same files; the journal's lines may be in another order."""
    for file in FILES:
        assert (ours / file).read_bytes() == (theirs / file).read_bytes(), file
    assert sorted(lines(ours)) == sorted(lines(theirs))


def lines(folder: Path) -> list[str]:
    journal = folder / "runs.jsonl"
    return journal.read_text().splitlines() if journal.exists() else []


@pytest.mark.parametrize("processes", [True, False])
def test_files_are_those_of_one_machine(small: Path, tmp_path: Path, processes: bool) -> None:
    experiment = headway.Experiment(small, runs=20)
    here = experiment.run(tmp_path / "here")
    made: list[tuple[int, int]] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=processes, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = experiment.run(
            tmp_path / "there", client=client, progress=lambda done, of: made.append((done, of))
        )
        again = experiment.run(tmp_path / "there", client=client)
    assert there.equals(here) and again.equals(here)
    assert_same(tmp_path / "there/small", tmp_path / "here/small")
    assert made[0] == (0, 120) and made[-1] == (120, 120) and sorted(made) == made


def test_what_is_stored_is_not_made_again(small: Path, tmp_path: Path) -> None:
    experiment = headway.Experiment(small)
    experiment.run(tmp_path / "whole")
    experiment.run(tmp_path / "pieces", runs=2)
    made: list[tuple[int, int]] = []
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        experiment.run(
            tmp_path / "pieces", client=client, progress=lambda done, of: made.append((done, of))
        )
    assert made[-1] == (6, 6)
    assert_same(tmp_path / "pieces/small", tmp_path / "whole/small")


def test_clients_that_are_none_are_refused(small: Path, tmp_path: Path) -> None:
    experiment = headway.Experiment(small)
    with pytest.raises(headway.InputError, match=re.escape("client: expected a distributed.Client, found str")):
        experiment.run(tmp_path, client="tcp://127.0.0.1:8786")  # type: ignore[arg-type]
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        client = distributed.Client(cluster)
        client.close()
        with pytest.raises(headway.InputError, match="expected one that is connected, found one that is closed"):
            experiment.run(tmp_path, client=client)
    assert not list(tmp_path.glob("small/*"))


def test_experiments_in_real_time_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "real.toml"
    file.write_text(SMALL.replace('size = "64KB"', 'size = "64KB"\nclock = "real"'))
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(headway.InputError, match="expected virtual"),
    ):
        headway.Experiment(file).run(tmp_path / "results", client=client)
    assert not (tmp_path / "results").exists()


def test_batches_are_of_a_second() -> None:
    runs = 100_000
    places = b"".join(run.to_bytes(PLACE, "little") for run in range(runs))
    batches = Batches(places)
    seen: list[bytes] = []
    seen.append(batches.cut(4))
    assert len(seen[0]) == PLACE and not batches.is_measured
    batches.measured(1, 0.01)
    seen.append(batches.cut(4))
    assert len(seen[1]) == 100 * PLACE, "a second of runs of 10 ms"
    assert len(batches.cut(1000)) == 50 * PLACE, "no more than half of what a thread gets"
    batches.measured(100, 1e-6)
    batches.measured(100, 1e-6)
    long = batches.cut(1)
    assert PLACE < len(long) <= MOST * PLACE
    batches.give_back(long[5 * PLACE :])
    left = len(batches)
    sizes = []
    while batches:
        sizes.append(len(batches.cut(4)) // PLACE)
    assert sum(sizes) == left and sizes[-1] == 1, "shorter towards the end"
    assert max(sizes) <= left // 8 + 1
