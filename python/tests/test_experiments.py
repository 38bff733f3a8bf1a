"""Experiments: the files and the numbers of the command, and sweeps that go on."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import headway

from .conftest import SMALL, Command

TABLES = ["runs.csv", "runs.parquet", "experiment.json"]


def test_a_sweep_has_the_files_of_the_command(small: Path, tmp_path: Path, command: Command) -> None:
    command("lab", "run", "small.toml", "--out=theirs")
    runs = headway.Experiment(small).run(tmp_path / "ours")
    ours, theirs = tmp_path / "ours/small", tmp_path / "theirs/small"
    for table in TABLES:
        assert (ours / table).read_bytes() == (theirs / table).read_bytes(), table
    assert runs.equals(parquet.read_table(ours / "runs.parquet")), "with the same types"
    assert runs.num_rows == 18


def test_changes_are_those_of_the_command(small: Path, tmp_path: Path, command: Command) -> None:
    changes = ["--runs=2", "--seed=9", "--set=delay=40ms", "--set=variant=sack,headway"]
    command("lab", "run", "small.toml", "--out=theirs", *changes)
    experiment = headway.Experiment(small, runs=2, set={"delay": "40ms"})
    runs = experiment.run(tmp_path / "ours", seed=9, set={"variant": ["sack", "headway"]})
    for table in TABLES:
        ours, theirs = tmp_path / "ours/small" / table, tmp_path / "theirs/small" / table
        assert ours.read_bytes() == theirs.read_bytes(), table
    assert runs.num_rows == 8 and set(runs["seed"].to_pylist()) != {9}
    assert (experiment.runs, experiment.seed, experiment.cells) == (2, 7, 6)
    assert experiment.axes["variant"] == ["sack", "hack+sack", "headway"]


def test_a_sweep_of_the_command_goes_on_here(small: Path, tmp_path: Path, command: Command) -> None:
    experiment = headway.Experiment(small)
    whole = experiment.run(tmp_path / "whole")
    command("lab", "run", "small.toml", "--runs=1")
    made: list[tuple[int, int]] = []
    runs = experiment.run(tmp_path / "results", progress=lambda done, of: made.append((done, of)))
    assert made[-1] == (12, 12), "what was there is not made again"
    assert runs.equals(whole)
    assert (tmp_path / "results/small/runs.csv").read_bytes() == (
        tmp_path / "whole/small/runs.csv"
    ).read_bytes()
    assert experiment.run(tmp_path / "results", progress=lambda done, of: made.append((done, of))).equals(whole)
    assert made[-1] == (0, 0)


def test_ctrl_c_loses_nothing(small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace("runs = 3", "runs = 100").replace('"64KB"', '"500KB"'))
    program = "import headway, sys; headway.Experiment(sys.argv[1]).run(sys.argv[2])"
    sweep = subprocess.Popen(
        [sys.executable, "-c", program, str(small), str(tmp_path / "pieces")],
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / "pieces/small/runs.jsonl"
    while sweep.poll() is None and _lines(journal) < 5:
        time.sleep(0.01)
    sweep.send_signal(2)
    _, errors = sweep.communicate(timeout=60)
    made = _lines(journal)
    assert "KeyboardInterrupt" in errors and 5 <= made < 600, (made, errors)
    experiment = headway.Experiment(small)
    wanted: list[int] = []
    runs = experiment.run(tmp_path / "pieces", progress=lambda done, of: wanted.append(of))
    assert wanted[-1] == 600 - made
    assert runs.equals(experiment.run(tmp_path / "whole"))
    for table in TABLES:
        pieces, whole = tmp_path / "pieces/small" / table, tmp_path / "whole/small" / table
        assert pieces.read_bytes() == whole.read_bytes(), table


def _lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def test_rows_of_other_code_are_made_again_and_said(small: Path, tmp_path: Path) -> None:
    experiment = headway.Experiment(small, runs=1)
    whole = experiment.run(tmp_path)
    journal = tmp_path / "small/runs.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    rows[0]["code"] = "0123456789ab"
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made: list[int] = []
    experiment.run(tmp_path, reuse=True, progress=lambda done, of: made.append(of))
    assert made[-1] == 0
    with pytest.warns(UserWarning, match="1 run was made by other code and will be made again"):
        again = experiment.run(tmp_path, progress=lambda done, of: made.append(of))
    assert made[-1] == 1 and again.equals(whole)


def test_results_say_what_the_command_says(small: Path, tmp_path: Path, command: Command) -> None:
    text = command("lab", "run", "small.toml")
    experiment = headway.Experiment(small)
    results = experiment.results(tmp_path / "results")
    assert results.missing == 0 and results.measure == "goodput Mbit/s"
    figure = results.figure().to_pylist()
    lines = [line.split() for line in text.splitlines()]
    table = [line for line in lines if line and line[0] in ("sack", "hack+sack", "headway")]
    assert len(table) == len(figure) == 6
    for row, (variant, damage, value, low, _, high, runs) in zip(figure, table, strict=True):
        assert (row["variant"], row["damage"], str(row["finished"])) == (variant, damage, runs)
        for ours, theirs in [(row["value"], value), (row["low"], low), (row["high"], high)]:
            digits = len(theirs.partition(".")[2])
            assert f"{ours:.{digits}f}" == theirs
    [claim] = results.claims().to_pylist()
    assert claim["says"] == "headway is faster than SACK"
    assert f"{claim['verdict']} headway is faster than SACK" in " ".join(text.split())


def test_the_papers_are_there() -> None:
    papers = headway.papers().to_pylist()
    assert {"000-fig13", "004-tab3"} < {paper["name"] for paper in papers}
    assert headway.Experiment.paper("000-fig13").title in {paper["title"] for paper in papers}
    assert repr(headway.Experiment.paper("000-fig13", runs=2)) == "<Experiment 000-fig13: 81 cells of 2 runs>"
    with pytest.raises(headway.InputError, match="expected `all` or a name"):
        headway.Experiment.paper("000-fig99")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("title =", "broken.toml:1: "),
        (SMALL.replace("delay =", "dellay ="), "dellay: unknown key (did you mean delay?)"),
        (SMALL.replace('"20ms"', '"soon"'), 'delay: "soon": expected'),
        (SMALL.replace('size = "64KB"', 'size = "64KB"\nclock = "real"'), "expected virtual"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, part: str) -> None:
    file = tmp_path / "broken.toml"
    file.write_text(text)
    with pytest.raises(headway.InputError) as refusal:
        headway.Experiment(file).run(tmp_path / "results")
    assert part in str(refusal.value)
    with pytest.raises(headway.InputError, match="none.toml"):
        headway.Experiment(tmp_path / "none.toml")
    with pytest.raises(headway.InputError, match="--set dellay=1ms: "):
        headway.Experiment.paper("000-fig13", set={"dellay": "1ms"})


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"foo": 1}, "foo=1: \"foo\" is neither an axis nor a key of [scenario]: unknown key"),
        ({"dellay": "40ms"}, "(did you mean delay?)"),
        ({"delay": {"low": 1}}, "delay: {'low': 1}: expected a text"),
        ({"delay": None}, "delay: None: expected a text"),
        ({"variant": ["sack", "hedway"]}, "(did you mean headway?)"),
        (5, "set: 5: expected keys with their values"),
    ],
)
def test_changes_that_make_no_sense_are_refused(changes: Any, part: str, small: Path) -> None:
    for experiment, name in [(headway.Experiment.paper, "000-fig13"), (headway.Experiment, small)]:
        with pytest.raises(headway.InputError) as refusal:
            experiment(name, set=changes)
        assert part in str(refusal.value)
