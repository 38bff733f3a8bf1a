"""The examples of the documents work as they are printed."""

import re
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2]

EXPERIMENT = """
title = "My own"
runs = 2
[sweep]
variant = ["sack", "hack"]
delay = ["10ms"]
[scenario]
size = "20KB"
"""


def test_the_readme_installs_what_it_imports() -> None:
    text = (FOLDER / "README.md").read_text()
    assert ".to_pandas()" in text
    [extra] = re.findall(r"pip install '\./python\[(\w+)\]'", text)
    project = tomllib.loads((FOLDER / "python/pyproject.toml").read_text())["project"]
    assert "pandas" in project["optional-dependencies"][extra]


@pytest.mark.parametrize("document", ["README.md", "docs/embedding.md", "docs/python.md"])
def test_examples_work(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / document).read_text(), re.DOTALL)
    assert blocks
    if any("from distributed" in block for block in blocks):
        pytest.importorskip("distributed", reason="Dask's distributed is not installed")
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, document, "exec"), names)
