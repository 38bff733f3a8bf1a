"""`headway lab run --dask`: the files of the command on one machine, and one clear line where something is wrong."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headway

from .cluster import Cluster, packages, python, with_other_code
from .conftest import SMALL, Command
from .test_dask import assert_same, lines

pytest.importorskip("distributed", reason="Dask's distributed is not installed (pip install './python[dask]')")


@pytest.fixture(autouse=True)
def this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_PYTHON", sys.executable)


def test_files_and_text_are_those_of_one_machine(small: Path, tmp_path: Path, command: Command) -> None:
    # Not the package.
    (tmp_path / "headway").mkdir()
    (tmp_path / "headway/__init__.py").write_text("raise SystemExit('another')\n")
    changes = ["--runs=2", "--seed=9", "--set=delay=40ms"]
    here = command("lab", "run", small.name, "--out=here", *changes)
    with Cluster(tmp_path / "cluster", workers=2) as cluster:
        there = command("lab", "run", small.name, "--out=there", *changes, "--dask", cluster.address)
        paper = ["paper", "run", "000-tab1-short", "--runs=1"]
        command(*paper, "--out=there", "--dask", cluster.address)
    command(*paper, "--out=here")
    assert there == here.replace(" here", " there")
    for name in ["small", "000-tab1-short"]:
        assert_same(tmp_path / "there" / name, tmp_path / "here" / name)


def refused(program: str, folder: Path, *words: str) -> str:
    """The one line with which the command refuses; nothing is written."""
    done = subprocess.run([program, "lab", "run", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "", (done.stdout, done.stderr)
    assert not (folder / "results").exists()
    [line] = done.stderr.splitlines()
    return line


def test_wrong_addresses_are_refused_soon(small: Path, tmp_path: Path, program: str) -> None:
    with socket.socket() as silent, socket.socket() as closed:
        for end in (silent, closed):
            end.bind(("127.0.0.1", 0))
        silent.listen()
        addresses = ["tcp://127.0.0.1:%d" % end.getsockname()[1] for end in (silent, closed)]
        for address in [*addresses, "nonsense", "none://127.0.0.1:1"]:
            began = time.monotonic()
            line = refused(program, tmp_path, small.name, "--dask", address)
            assert time.monotonic() < began + 20
            assert re.fullmatch(
                f"headway: --dask {address}: .+; expected the address of a Dask scheduler that runs, "
                "such as tcp://127.0.0.1:8786",
                line,
            ), line


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda folder: packages(folder, "headway"), r"No module named 'headway'.*pip install './python\[dask\]'"),
        (lambda folder: packages(folder, "distributed"), r"No module named 'distributed': expected Dask's distributed"),
    ],
    ids=["no package", "no distributed"],
)
def test_a_python_that_lacks_something_is_refused(
    small: Path,
    tmp_path: Path,
    program: str,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], Path],
    found: str,
) -> None:
    monkeypatch.setenv("HEADWAY_PYTHON", str(python(tmp_path, make(tmp_path / "packages"))))
    line = refused(program, tmp_path, small.name, "--dask=tcp://127.0.0.1:1")
    assert line.startswith("headway: ") and re.search(found, line), line


def test_no_python_is_refused(small: Path, tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_PYTHON", "/nowhere/python")
    line = refused(program, tmp_path, small.name, "--dask=tcp://127.0.0.1:1")
    assert line.startswith("headway: /nowhere/python: No such file or directory"), line
    assert "HEADWAY_PYTHON may name another Python" in line


def test_a_package_with_other_code_is_refused(
    small: Path, tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = with_other_code(tmp_path / "packages")
    monkeypatch.setenv("HEADWAY_PYTHON", str(python(tmp_path, folder)))
    line = refused(program, tmp_path, small.name, "--dask=tcp://127.0.0.1:1")
    version = headway.__version__
    assert line.endswith(
        f": expected the package headway {version} (code {headway.fingerprint()}), found {version} (code other)"
    ), line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_loses_nothing(tmp_path: Path, program: str, number: signal.Signals) -> None:
    (tmp_path / "longer.toml").write_text(SMALL.replace("runs = 3", "runs = 2000"))
    words = [program, "lab", "run", "longer.toml"]
    folder = tmp_path / "results/longer"
    with Cluster(tmp_path / "cluster", workers=2) as cluster:
        with subprocess.Popen([*words, "--dask", cluster.address], cwd=tmp_path, stderr=subprocess.PIPE) as sweep:
            while sweep.poll() is None and len(lines(folder)) < 20:
                time.sleep(0.01)
            sweep.send_signal(number)
            _, errors = sweep.communicate(timeout=60)
        assert sweep.returncode == 130, errors
        text = "headway: interrupted; the runs that were made are stored, and the same sweep goes on from them\n"
        assert errors.decode() == text
        made = len(lines(folder))
        assert 20 <= made < 12_000
        # The tasks are cancelled, so that the workers are free for what comes next.
        subprocess.run([*words, "--dask", cluster.address], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert len(lines(folder)) == 12_000, "no run was made twice"
    subprocess.run([*words, "--out=here"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert_same(folder, tmp_path / "here/longer")


def test_a_killed_scheduler_is_said(tmp_path: Path, program: str) -> None:
    (tmp_path / "longer.toml").write_text(SMALL.replace("runs = 3", "runs = 2000"))
    folder = tmp_path / "results/longer"
    with Cluster(tmp_path / "cluster", workers=2) as cluster:
        words = [program, "lab", "run", "longer.toml", "--dask", cluster.address]
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, env=dict(os.environ)) as sweep:
            while sweep.poll() is None and len(lines(folder)) < 20:
                time.sleep(0.01)
            cluster.scheduler.kill()
            _, errors = sweep.communicate(timeout=60)
    made = len(lines(folder))
    assert sweep.returncode == 1 and 20 <= made < 12_000
    assert errors.decode() == (
        f"headway: Dask's scheduler at {cluster.address} is gone: {made} of 12000 runs were made and are stored; "
        "the same sweep goes on from them\n"
    )
