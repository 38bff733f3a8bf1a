"""Processes of Dask on this machine: a scheduler, its workers, and Pythons that lack something."""

import json
import os
import site
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import headway

#: Seconds after which a process that has not done what it should never will.
PATIENCE = 60


class Cluster:
    """A scheduler and workers with one thread each, as `dask scheduler` and `dask worker` start them. The scheduler has
    the packages of this Python, or those of a folder.
    """

    def __init__(self, folder: Path, workers: int = 0, scheduler: Path | None = None) -> None:
        self.folder = folder
        self.packages = scheduler
        self.started: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.wanted = workers

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "scheduler.json"
        words = ["--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={file}"]
        self.scheduler = self._start_dask("scheduler", words, self.packages)
        deadline = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text().endswith("}")):
            assert self.scheduler.poll() is None and time.monotonic() < deadline, self.said()
            time.sleep(0.02)
        self.address = str(json.loads(file.read_text())["address"])
        for _ in range(self.wanted):
            self.add_worker()
        return self

    def add_worker(self, packages: Path | None = None) -> None:
        """A worker with the packages of this Python, or with those of a folder."""
        words = ["--nthreads=1", "--no-nanny", "--no-dashboard", "--host=127.0.0.1"]
        self.workers.append(self._start_dask("worker", [self.address, *words], packages))

    def client(self) -> Any:
        """A client, when all workers are there."""
        from distributed import Client

        client = Client(self.address, timeout=PATIENCE, set_as_default=False)
        client.wait_for_workers(len(self.workers), timeout=PATIENCE)
        return client

    def said(self) -> str:
        return "".join(file.read_text() for file in self.folder.glob("*.log"))

    def _start_dask(self, role: str, words: list[str], packages: Path | None) -> subprocess.Popen[bytes]:
        python, environment = [sys.executable], dict(os.environ)
        if packages:
            python.append("-S")
            environment["PYTHONPATH"] = str(packages)
        words = [*python, "-m", f"distributed.cli.dask_{role}", *words]
        with (self.folder / f"{len(self.started)}.log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.folder, env=environment)
        self.started.append(process)
        return process

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.started):
            process.kill()
            process.wait()


def packages(folder: Path, *without: str) -> Path:
    """A folder with the packages of this Python except some."""
    folder.mkdir()
    for installed in map(Path, site.getsitepackages()):
        for entry in installed.iterdir():
            name = entry.name.partition("-")[0].partition(".")[0]
            if name not in without and not entry.name.endswith(".pth"):
                (folder / entry.name).symlink_to(entry)
    return folder


def with_other_code(folder: Path) -> Path:
    """The packages of this Python, with rows of another code."""
    source = Path(headway.__file__).parent
    target = packages(folder, "headway") / "headway"
    (target / "_dask").mkdir(parents=True)
    for file in [*source.glob("*.py"), *source.glob("*.so"), *source.glob("_dask/*.py")]:
        (target / file.relative_to(source)).write_bytes(file.read_bytes())
    package = target / "__init__.py"
    package.write_text("from headway import _native\n_native.fingerprint = lambda: 'other'\n" + package.read_text())
    _describe(folder, headway.__version__)
    return folder


def with_other_version(folder: Path) -> Path:
    """The packages of this Python, with a version of headway from before sweeps on Dask."""
    (packages(folder, "headway") / "headway").mkdir()
    (folder / "headway/__init__.py").write_text('__version__ = "0.0.9"\n')
    _describe(folder, "0.0.9")
    return folder


def _describe(folder: Path, version: str) -> None:
    described = folder / f"headway-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: headway\nVersion: {version}\n")


def python(folder: Path, packages: Path) -> Path:
    """A Python with the packages of a folder, as a program."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" -S "$@"\n')
    program.chmod(0o755)
    return program
