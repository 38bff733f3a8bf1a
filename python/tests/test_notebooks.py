"""The notebooks run, and what they show is what the command says."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python/examples"

#: What takes the place of a notebook's parameters, so that it is done in seconds.
FEW: dict[str, dict[str, Any]] = {
    "000-fig13": {"RUNS": 2, "OUT": "ours"},
    "damage-and-rtt": {"RUNS": 1, "SIZE": "1MB", "DAMAGE": ["1%", "10%"], "RTT_MS": [20, 300]},
    "recorded-trace": {"RUNS": 3},
}


#: Recordings that come with the sources: a notebook needs none.
RECORDED = {
    "RECORDING": str(ROOT / "papers/gilbert.fates"),
    "CAPTURE": str(ROOT / "crates/headway-trace/tests/data/linux-reno-loss.pcap"),
}


def run(name: str, folder: Path, more: str = "", given: dict[str, Any] = {}) -> Any:
    """The notebook after its cells have run in the folder, with few runs and these parameters, and then `more`."""
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    [place] = [i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    parameters = {**FEW[name], **given}
    for key in parameters:
        assert re.search(rf"^{key} = ", notebook.cells[place].source, re.MULTILINE), key
    few = "\n".join(f"{key} = {value!r}" for key, value in parameters.items())
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(few))
    notebook.cells.append(nbformat.v4.new_code_cell(more))
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return notebook


def pictures(notebook: Any) -> int:
    """How many figures a notebook has."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_every_notebook_is_run_and_holds_no_outputs() -> None:
    paths = sorted(EXAMPLES.glob("*.ipynb"))
    assert [path.stem for path in paths] == sorted(FEW)
    for path in paths:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs") and not cell.get("execution_count"), f"{path}: clear its outputs"


def test_fig13_has_the_figures_of_the_command(tmp_path: Path, command: Command) -> None:
    keep = 'points.to_json("points.json", orient="records"); claims.to_json("claims.json", orient="records")'
    notebook = run("000-fig13", tmp_path, keep)
    assert pictures(notebook) == 1
    text = command("paper", "run", "000-fig13", "--runs=2", "--out=theirs")
    for table in ["runs.csv", "runs.parquet", "experiment.json"]:
        ours, theirs = tmp_path / "ours/000-fig13" / table, tmp_path / "theirs/000-fig13" / table
        assert ours.read_bytes() == theirs.read_bytes(), table
    points = {
        (point["variant"], str(point["length"]), point["header-hit"]): point
        for point in json.loads((tmp_path / "points.json").read_text())
    }
    printed = [line.split() for line in text.splitlines()]
    printed = [line for line in printed if len(line) == 8 and line[5] == ".."]
    assert len(printed) == len(points) == 81
    for variant, length, share, value, low, _, high, runs in printed:
        point = points[variant, length, share]
        for ours, theirs in [(point["value"], value), (point["low"], low), (point["high"], high)]:
            assert f"{ours:.{len(theirs.partition('.')[2])}f}" == theirs, (variant, length, share)
        assert runs == str(point["finished"])
    claims = json.loads((tmp_path / "claims.json").read_text())
    words = " ".join(text.split())
    assert claims and all(f"{claim['verdict']} {claim['says']}" in words for claim in claims)


@pytest.mark.parametrize(
    ("name", "figures", "given"),
    [("damage-and-rtt", 2, {}), ("recorded-trace", 3, {}), ("recorded-trace", 3, RECORDED)],
)
def test_the_others_run(name: str, figures: int, given: dict[str, Any], tmp_path: Path) -> None:
    """Wherever they are: in this folder there is nothing else."""
    assert pictures(run(name, tmp_path, given=given)) == figures
