"""Sweeps on Dask when processes end, and on clusters with other packages."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headway

from .cluster import Cluster, packages, with_other_code, with_other_version
from .conftest import SMALL
from .test_dask import assert_same, lines

pytest.importorskip("distributed", reason="Dask's distributed is not installed (pip install './python[dask]')")

RUNS = 1000
Progress = Callable[[int, int], None]


@pytest.fixture
def longer(tmp_path: Path) -> headway.Experiment:
    """An experiment of 6000 runs: some seconds of work."""
    file = tmp_path / "longer.toml"
    file.write_text(SMALL.replace("runs = 3", f"runs = {RUNS}"))
    return headway.Experiment(file)


def at(runs: int, act: Callable[[], object]) -> Progress:
    """Acts once, when N runs have been made and others are under way."""
    acts = [act]

    def progress(done: int, of: int) -> None:
        if done >= runs and acts:
            assert done < of
            acts.pop()()

    return progress


def test_a_killed_worker_costs_its_tasks_only(longer: headway.Experiment, tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", workers=2) as cluster, cluster.client() as client:
        longer.run(tmp_path / "dask", client=client, progress=at(20, cluster.workers[0].kill))
        assert cluster.workers[0].wait() == -9 and cluster.workers[1].poll() is None
    longer.run(tmp_path / "here")
    assert_same(tmp_path / "dask/longer", tmp_path / "here/longer")


def test_after_the_last_worker_a_new_one_goes_on(longer: headway.Experiment, tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", workers=1) as cluster, cluster.client() as client:

        def replace() -> None:
            cluster.workers[0].kill()
            cluster.workers[0].wait()
            cluster.add_worker()

        longer.run(tmp_path / "dask", client=client, progress=at(20, replace))
    longer.run(tmp_path / "here")
    assert_same(tmp_path / "dask/longer", tmp_path / "here/longer")


def test_a_killed_scheduler_ends_a_sweep_that_goes_on(longer: headway.Experiment, tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", workers=2) as cluster, cluster.client() as client:
        # Mostly at once; where a call is under way Dask tries for a minute to connect again.
        with pytest.raises(headway.Error) as failure:
            longer.run(tmp_path / "dask", client=client, progress=at(20, cluster.scheduler.kill))
    stored = len(lines(tmp_path / "dask/longer"))
    assert 20 <= stored < 6 * RUNS
    assert str(failure.value) == (
        f"Dask's scheduler at {cluster.address} is gone: {stored} of {6 * RUNS} runs were made and are stored; "
        "the same sweep goes on from them"
    )
    wanted: list[int] = []
    with Cluster(tmp_path / "another", workers=2) as cluster, cluster.client() as client:
        longer.run(tmp_path / "dask", client=client, progress=lambda done, of: wanted.append(of))
    assert wanted[-1] == 6 * RUNS - stored
    longer.run(tmp_path / "here")
    assert_same(tmp_path / "dask/longer", tmp_path / "here/longer")


def test_what_is_interrupted_is_stored_and_cancelled(longer: headway.Experiment, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with Cluster(tmp_path / "cluster", workers=2) as cluster, cluster.client() as client:
        with pytest.raises(KeyboardInterrupt, match="the same sweep goes on"):
            longer.run(tmp_path / "dask", client=client, progress=at(20, interrupt))
        deadline = time.monotonic() + 30
        while any(client.processing().values()):
            assert time.monotonic() < deadline, "the tasks are cancelled"
            time.sleep(0.05)
        assert 20 <= len(lines(tmp_path / "dask/longer")) < 6 * RUNS
    longer.run(tmp_path / "dask")
    longer.run(tmp_path / "here")
    assert_same(tmp_path / "dask/longer", tmp_path / "here/longer")


def test_a_scheduler_needs_no_package(small: Path, tmp_path: Path) -> None:
    experiment = headway.Experiment(small)
    without = packages(tmp_path / "packages", "headway")
    with Cluster(tmp_path / "cluster", workers=1, scheduler=without) as cluster, cluster.client() as client:
        with pytest.raises(ImportError):
            client.run_on_scheduler(headway.fingerprint)
        experiment.run(tmp_path / "dask", client=client)
    experiment.run(tmp_path / "here")
    assert_same(tmp_path / "dask/small", tmp_path / "here/small")


OURS = f"expected headway {headway.__version__} (code {headway.fingerprint()})"


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (with_other_code, f"{OURS}, found headway {headway.__version__} (code other)"),
        (with_other_version, f"{OURS}, found headway 0.0.9 (code unknown)"),
        (lambda folder: packages(folder, "headway"), f"it has no Python package headway; {OURS}"),
    ],
    ids=["other code", "other version", "no package"],
)
@pytest.mark.parametrize("late", [False, True], ids=["at the beginning", "later"])
def test_workers_with_other_packages_are_refused(
    longer: headway.Experiment, tmp_path: Path, make: Callable[[Path], Path], found: str, late: bool
) -> None:
    others = make(tmp_path / "packages")
    with Cluster(tmp_path / "cluster", workers=1) as cluster:
        if not late:
            cluster.add_worker(others)
        with cluster.client() as client:
            here = set(client.scheduler_info()["workers"])

            def join() -> None:
                cluster.add_worker(others)
                client.wait_for_workers(2, timeout=60)

            text = f"^worker tcp://127.0.0.1:[0-9]+: {re.escape(found)}$"
            with pytest.raises(headway.Error, match=text) as refusal:
                longer.run(tmp_path / "dask", runs=10 * RUNS, client=client, progress=at(20, join) if late else None)
            if late:
                assert not any(worker in str(refusal.value) for worker in here), "the other is named"
    stored = len(lines(tmp_path / "dask/longer"))
    assert 20 <= stored < 60 * RUNS if late else stored == 0
