"""What the tests share: the command, and a sweep that takes a moment."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = """\
title = "Small"
runs = 3
seed = 7

[sweep]
variant = ["sack", "hack+sack", "headway"]
damage = ["burst:5%:5", "random:1%"]

[scenario]
size = "64KB"
delay = "20ms"

[figure]
kind = "table"
x = "damage"
series = "variant"
measure = "goodput"
unit = "Mbit/s"

[[claim]]
says = "headway is faster than SACK"
order = ["sack", "headway"]
"""

Command = Callable[..., str]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An experiment of six cells."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture(scope="session")
def program() -> str:
    """The command of the same sources."""
    program = os.environ.get("HEADWAY_COMMAND", "")
    if not Path(program).is_file():
        pytest.skip("HEADWAY_COMMAND: expected the path of the command headway (.ci/python sets it)")
    return program


@pytest.fixture
def command(program: str, tmp_path: Path) -> Command:
    """Runs the command in the test's folder; what it printed."""

    def run(*words: str) -> str:
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
