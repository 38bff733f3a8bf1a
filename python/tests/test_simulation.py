"""Races and single runs: the numbers of the command, and what is recorded."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars
import pyarrow as pa
import pytest

import headway

from .conftest import Command

LINK = headway.Scenario(rate="10mbit", delay="100ms", damage="burst:5%:5", header_hit="40%", size="200KB")
OPTIONS = ["--rate=10mbit", "--delay=100ms", "--damage=burst:5%:5", "--header-hit=40%", "--size=200KB"]
SENDERS = ["sack", "hack+sack", "modern:bbr", "headway", "oracle"]


def test_a_race_has_the_numbers_of_the_command(command: Command) -> None:
    runs = headway.race(LINK, variants=SENDERS, runs=3, seed=5)
    words = ["race", *OPTIONS, "--variant", ",".join(SENDERS), "--runs=3", "--seed=5", "--json"]
    document = json.loads(command(*words))
    rows = runs.to_pylist()
    assert len(rows) == len(document["runs"]) == 15
    compared = 0
    for row, run in zip(rows, document["runs"], strict=True):
        variant = run.pop("variant")
        assert row["variant"] == variant
        for name, value in run.items():
            # No number but null is missing from JSON.
            assert row[name] == (value if value != "" else row[name] and ""), (variant, name)
            compared += 1
    assert compared > 15 * 30


def test_a_race_is_a_sweep_of_one_cell_each(tmp_path: Path) -> None:
    runs = headway.race(LINK, runs=1)
    assert runs["variant"].to_pylist() == [name for name in headway.VARIANTS if name != "oracle"]
    assert runs.column_names == headway.columns()["name"].to_pylist()
    assert headway.race(LINK.replace(variant="hack"), runs=2)["variant"].to_pylist() == ["hack", "hack"]


def test_other_libraries_read_the_tables() -> None:
    runs = headway.race(LINK, variants=["sack", "headway"], runs=2)
    means = runs.to_pandas().groupby("variant")["seconds"].mean()
    assert means["headway"] < means["sack"]
    frame = polars.DataFrame(runs)
    assert frame.shape == (runs.num_rows, runs.num_columns)
    assert frame["seconds"].to_list() == runs["seconds"].to_pylist()


def test_a_sender_has_its_controller_in_its_name() -> None:
    names = ["modern:cubic", "modern:bbr", "headway", "headway:cubic"]
    runs = headway.race(LINK, variants=names, runs=2)
    assert list(runs.to_pandas().groupby("variant", sort=False).groups) == names
    assert headway.run(LINK, "modern:bbr").metrics["variant"] == "modern:bbr"
    # What people call them.
    short = headway.race(LINK, variants=["cubic", "bbr", "reno"], runs=1)
    assert short["cc"].to_pylist() == ["cubic", "bbr", "newreno"]
    assert headway.Host("192.0.2.1", variant="bbr")


@pytest.mark.parametrize("scenario", [{"rate": "10mbit"}, "10mbit", 5])
def test_a_scenario_is_one(scenario: object) -> None:
    for of in (headway.race, headway.run):
        with pytest.raises(headway.InputError, match=r"^scenario: .*: expected a headway.Scenario"):
            of(scenario)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"variants": ["tahoe"]}, 'variant: "tahoe": expected one of newreno,'),
        ({"variants": ["hedway"]}, "(did you mean headway?)"),
        ({"variants": ["modern:bbt"]}, "(did you mean bbr?)"),
        ({"variants": []}, "variant: expected at least one sender"),
        ({"variants": ["sack:bbr"]}, "congestion controller bbr"),
        ({"runs": 0}, "runs: 0: expected between 1 and 1000000"),
        ({"runs": 2**40}, "runs: 1099511627776: expected between 1 and 1000000"),
        ({"runs": -1}, "runs: -1: expected a whole number from 0"),
        ({"seed": -1}, "seed: -1: expected a whole number from 0"),
        ({"seed": 2**64 - 3}, "expected room for the seeds of all runs above it"),
    ],
)
def test_a_race_that_makes_no_sense_is_refused(arguments: dict[str, object], part: str) -> None:
    with pytest.raises(headway.InputError, match="expected") as refusal:
        headway.race(LINK, **arguments)  # type: ignore[arg-type]
    assert part in str(refusal.value)


def test_a_run_is_that_of_the_race() -> None:
    run = headway.run(LINK, "hack+sack", seed=6)
    raced = headway.race(LINK, variants=["hack+sack"], runs=2, seed=5).to_pylist()[1]
    assert run.metrics == {**raced, "run": 0}
    assert repr(run).startswith("<Run of hack+sack, seed 6: finished in ")


def test_what_was_recorded_adds_up(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "run.pcapng"
    run = headway.run(LINK, "hack+sack", seed=6, capture=file)
    events, packets = run.events.to_pandas(), run.packets.to_pandas()
    metrics = run.metrics
    assert set(events["end"]) == set(packets["end"]) == {"sender", "receiver"}
    assert events["time"].is_monotonic_increasing
    retransmitted = events[(events["end"] == "sender") & (events["event"] == "retransmitted")]
    assert len(retransmitted) == metrics["retransmissions"] > 0
    special = events[(events["end"] == "receiver") & (events["event"] == "special_ack_sent")]
    assert len(special) == metrics["special_acks"] > 0
    sent = packets[(packets["end"] == "sender") & packets["outbound"]]
    assert sent["payload_bytes"].sum() == metrics["bytes_sent"]
    damaged = packets[packets["flipped_bits"].notna()]
    assert len(damaged) > 0 and not damaged["outbound"].any()
    points = run.time_sequence.to_pandas()
    assert (points["kind"] == "retransmission").sum() == metrics["retransmissions"]
    new = points[points["kind"] == "sent"]
    assert new["len"].sum() == metrics["delivered_bytes"] == 200_000
    # The same packets, as the command writes them.
    options = ["--variant=hack+sack", "--runs=1", "--seed=6", "--pcap=out", "--json"]
    command("race", *OPTIONS, *options)
    assert (tmp_path / "out/hack+sack-6.pcapng").read_bytes() == file.read_bytes()
    assert len(packets) == _packets(file)


def _packets(file: Path) -> int:
    packets: int = headway.trace(file).to_dict()["packets"]
    return packets


def test_traces_are_those_of_the_command(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "run.pcapng"
    headway.run(LINK, "headway", capture=file)
    for interface in [None, "receiver"]:
        words = ["trace", "run.pcapng", "--json"] + (["--interface", interface] if interface else [])
        ours = headway.trace(file, interface=interface).to_dict()
        theirs = json.loads(command(*words))
        assert {**ours, "file": "run.pcapng"} == theirs
    trace = headway.trace(file)
    assert repr(trace).endswith("run.pcapng: 1 connection>")
    lines = command("trace", "run.pcapng", "--csv").splitlines()
    connections = trace.connections
    assert connections.column_names == lines[0].split(",") and connections.num_rows == len(lines) - 1
    for row, line in zip(connections.to_pylist(), lines[1:], strict=True):
        for value, text in zip(row.values(), line.split(","), strict=True):
            assert _csv(value, text), (value, text)
    lines = command("trace", "run.pcapng", "--csv=throughput").splitlines()
    throughput = trace.throughput
    assert throughput.column_names == lines[0].split(",") and throughput.num_rows == len(lines) - 1 > 0
    assert not any(pa.types.is_null(field.type) for field in connections.schema)
    with pytest.raises(headway.InputError, match="none.pcap"):
        headway.trace(tmp_path / "none.pcap")
    with pytest.raises(headway.InputError, match="expected one of sender, receiver"):
        headway.trace(file, interface="eth0")


def _csv(value: object, text: str) -> bool:
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, float):
        return math.isclose(value, float(text), rel_tol=1e-12)
    return text == str(value)


def test_ctrl_c_ends_a_race() -> None:
    link = headway.Scenario(size="2MB")
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        headway.race(link, runs=100_000, progress=False)
    timer.cancel()


@pytest.mark.parametrize(
    "call", ["race(link, ['modern:bbr'], runs=1)", "run(link, 'modern:bbr', capture='run.pcapng', limit=None)"]
)
def test_ctrl_c_ends_one_run_in_its_middle(call: str, tmp_path: Path) -> None:
    (tmp_path / "run.pcapng").write_text("there before")
    # It would take days.
    link = "link = headway.Scenario(size='1000000GB', time_limit='100000h', delay='300ms')"
    program = f"import headway; {link}; print('begun', flush=True); headway.{call}"
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=100)
    finally:
        child.kill()
    assert errors.endswith("KeyboardInterrupt\n"), errors
    assert [path.name for path in tmp_path.iterdir()] == ["run.pcapng"]
    assert (tmp_path / "run.pcapng").read_text() == "there before"


def test_a_run_with_too_many_events_and_packets_is_ended(tmp_path: Path) -> None:
    whole = headway.run(LINK, "headway")
    rows = whole.events.num_rows + whole.packets.num_rows
    assert rows > 1000
    again = headway.run(LINK, "headway", limit=rows)
    assert again.events.equals(whole.events) and again.packets.equals(whole.packets)
    assert headway.run(LINK, "headway", limit=None).metrics == whole.metrics
    for limit in [rows - 1, 10, 0]:
        with pytest.raises(headway.InputError) as refusal:
            headway.run(LINK, "headway", limit=limit, capture=tmp_path / "run.pcapng")
        text = f"limit: {limit}: the run has more events and packets: expected a shorter run, or a limit above it"
        assert str(refusal.value).startswith(text)
    assert not list(tmp_path.iterdir()), "nothing is half written"
    for wrong in [-1, 1.5, True]:
        with pytest.raises(headway.InputError, match="limit: .*: expected a whole number from 0 to"):
            headway.run(LINK, limit=wrong)  # type: ignore[arg-type]
    with pytest.raises(headway.InputError, match="none/run.pcapng: cannot be written: "):
        headway.run(LINK, capture=tmp_path / "none/run.pcapng")
    with pytest.raises(headway.InputError, match=f"{tmp_path}: cannot be written: "):
        headway.run(LINK, capture=tmp_path)


def test_python_runs_beside_a_race() -> None:
    turns = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            turns.append(time.monotonic())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    before = len(turns)
    seen: list[tuple[int, int]] = []
    headway.race(LINK, runs=60, progress=lambda runs, of: seen.append((runs, of)))
    after = len(turns)
    done.set()
    other.join()
    assert after > before + 5, "another thread ran"
    assert seen[-1] == (540, 540)
