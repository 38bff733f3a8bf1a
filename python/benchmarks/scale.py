"""What sweeps on Dask cost, beside `headway lab run` on the same cores, as Markdown.

    target/python/bin/python python/benchmarks/scale.py target/debug/headway

Build package and command with the same profile first (.ci/python does). Local sweeps and sweeps on Dask take turns, so that
what else the machine does hits both. ROUNDS (3) rounds; medians are shown.
"""

from __future__ import annotations

import logging
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

# Behind the installed package: the folder has no native part.
sys.path.append(str(Path(__file__).resolve().parents[1]))

import psutil
from tests.cluster import Cluster

import headway
from headway._dask import sweep
from headway._dask.batches import PLACE, Batches

ROUNDS = int(os.environ.get("ROUNDS", "3"))
CORES = os.cpu_count() or 1
FILES = ["runs.csv", "runs.parquet", "experiment.json"]

TEXT = """\
title = "Scale"
runs = {runs}
[sweep]
variant = ["sack", "headway"]
damage = ["burst:5%:5", "random:1%"]
[scenario]
size = "{size}"
delay = "20ms"
"""

#: Wall-clock and CPU seconds.
Cost = tuple[float, float]


def main() -> None:
    # What Dask says of the scheduler that is killed.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    program = str(Path(sys.argv[1]).resolve())
    load = os.getloadavg()[0]
    print(f"{CORES} cores, Linux {platform.release()}, load {load:.1f} at the beginning; medians of {ROUNDS} rounds.\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), program)
        print("| runs | of | `lab run`, s | Dask, s | throughput | CPU `lab run`, s | CPU Dask, s | CPU ratio | overhead a run |")
        print("|--:|---|--:|--:|--:|--:|--:|--:|--:|")
        for size, runs in [("1MB", 400), ("4MB", 1000), ("1MB", 4000), ("64KB", 25_000), ("64KB", 50_000), ("2KB", 100_000)]:
            bench.compare(size, runs)
        bench.batches_of_one()
        bench.killed_worker()
        bench.killed_scheduler()


class Bench:
    def __init__(self, folder: Path, program: str) -> None:
        self.folder, self.program = folder, program
        self.number = 0

    def write(self, size: str, runs: int) -> headway.Experiment:
        file = self.folder / "scale.toml"
        file.write_text(TEXT.format(size=size, runs=runs))
        return headway.Experiment(file)

    def out(self) -> Path:
        self.number += 1
        return self.folder / f"{self.number}"

    def local(self, out: Path) -> Cost:
        before = used()
        began = time.monotonic()
        words = [self.program, "lab", "run", str(self.folder / "scale.toml"), "--out", str(out)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began, used() - before

    def compare(self, size: str, runs: int) -> None:
        experiment = self.write(size, runs)
        wanted = experiment.cells * runs
        here: list[Cost] = []
        there: list[Cost] = []
        with Cluster(self.folder / f"cluster-{size}-{runs}", workers=CORES) as cluster, cluster.client() as client:
            # Both have read what they need from the disk.
            experiment.run(self.out(), runs=10, client=client)
            for _ in range(ROUNDS):
                ours, theirs = self.out(), self.out()
                here.append(self.local(ours))
                there.append(on(cluster, lambda out=theirs: experiment.run(out, client=client)))
                is_same(ours / "scale", theirs / "scale")
        wall, cpu = ([median(cost[kind] for cost in costs) for costs in (here, there)] for kind in (0, 1))
        ratio = median(ours[0] / theirs[0] for ours, theirs in zip(here, there, strict=True))
        overhead = (cpu[1] - cpu[0]) / wanted
        print(
            f"| {wanted:,} | {size} | {wall[0]:.1f} | {wall[1]:.1f} | {ratio:.2f} | {cpu[0]:.1f} | {cpu[1]:.1f} | "
            f"{cpu[0] / cpu[1]:.2f} | {overhead * 1e6:.0f} µs |",
            flush=True,
        )

    def batches_of_one(self) -> None:
        """What a batch costs the scheduler and the client, and what a row costs the client."""
        experiment = self.write("2KB", 500)
        rows = experiment.cells * 500
        shares = []
        for kind in (OneRun, Batches):
            sweep.Batches = kind  # type: ignore[misc]
            with Cluster(self.folder / f"cluster-{kind.__name__}", workers=CORES) as cluster:
                with cluster.client() as client:
                    experiment.run(self.out(), runs=10, client=client)
                    runs = 500 if kind is OneRun else 25_000
                    before = [spent(cluster.scheduler.pid), time.process_time()]
                    experiment.run(self.out(), runs=runs, client=client)
                    after = [spent(cluster.scheduler.pid), time.process_time()]
            count = experiment.cells * runs
            shares.append([(end - begin) / count for begin, end in zip(before, after, strict=True)])
        scheduler, client_batch, client_row = shares[0][0], shares[0][1], shares[1][1]
        print(f"\n{rows:,} batches of one run: {scheduler * 1e3:.2f} ms of the scheduler's CPU and {client_batch * 1e3:.2f} ms "
              f"of the client's a batch; in long batches {client_row * 1e6:.0f} µs of the client's CPU a row.")
        threads = 1000
        seconds = Batches.seconds(threads)
        print(f"\nComputed for {threads:,} threads: batches of {seconds:.0f} s are {threads / seconds:.0f} a second, which take "
              f"{threads / seconds * scheduler:.0%} of a core of the scheduler and {threads / seconds * client_batch:.0%} of the "
              f"client's; the client stores at most {1 / client_row:,.0f} rows a second, so runs shorter than "
              f"{threads * client_row * 1e3:.0f} ms keep fewer threads busy.")

    def killed_worker(self) -> None:
        experiment = self.write("1MB", 400)
        ours, theirs = self.out(), self.out()
        self.local(ours)
        with Cluster(self.folder / "cluster-worker", workers=2) as cluster, cluster.client() as client:
            state = Kill(cluster.workers[0].kill)
            began = time.monotonic()
            experiment.run(theirs, client=client, progress=state)
            took = time.monotonic() - began
        is_same(ours / "scale", theirs / "scale")
        print(f"\nOne of two workers killed after {state.at:,} of {state.of:,} runs: all made in {took:.1f} s, the files are those "
              "of one machine.")

    def killed_scheduler(self) -> None:
        experiment = self.write("1MB", 400)
        ours, theirs = self.out(), self.out()
        self.local(ours)
        with Cluster(self.folder / "cluster-scheduler", workers=2) as cluster, cluster.client() as client:
            state = Kill(cluster.scheduler.kill)
            try:
                experiment.run(theirs, client=client, progress=state)
            except headway.Error as error:
                seconds = time.monotonic() - state.when
                print(f"\nScheduler killed after {state.at:,} of {state.of:,} runs: after {seconds:.2f} s the sweep ended with "
                      f"\"{str(error).replace(cluster.address, 'ADDRESS')}\".", end=" ")
        missing = experiment.results(theirs).missing
        with Cluster(self.folder / "cluster-again", workers=2) as cluster, cluster.client() as client:
            experiment.run(theirs, client=client)
        is_same(ours / "scale", theirs / "scale")
        print(f"On a new cluster the same sweep made the other {missing:,}; the files are those of one machine.")


class OneRun(Batches):
    """Batches of one run."""

    def cut(self, threads: int) -> bytes:
        places = super().cut(threads)
        self.give_back(places[PLACE:])
        return places[:PLACE]


class Kill:
    """Progress that kills after a third."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self.kill = kill
        self.at = self.of = 0
        self.when = 0.0

    def __call__(self, done: int, of: int) -> None:
        if not self.when and 3 * done > of:
            self.at, self.of, self.when = done, of, time.monotonic()
            self.kill()


def on(cluster: Cluster, work: Callable[[], object]) -> Cost:
    """What a sweep costs on a cluster: its processes, and this one."""
    processes = [cluster.scheduler, *cluster.workers]

    def all_spent() -> float:
        return time.process_time() + sum(spent(process.pid) for process in processes)

    before = all_spent()
    began = time.monotonic()
    work()
    return time.monotonic() - began, all_spent() - before


def spent(process: int) -> float:
    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def is_same(ours: Path, theirs: Path) -> None:
    for file in FILES:
        assert (ours / file).read_bytes() == (theirs / file).read_bytes(), file


if __name__ == "__main__":
    main()
