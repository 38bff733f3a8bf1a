"""Races and single runs."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import pyarrow as pa

from headway import _native
from headway._progress import Progress, reported
from headway._tables import table
from headway._values import whole
from headway.controllers import Maker
from headway.errors import InputError
from headway.scenario import Scenario

#: Every sender: those of the papers, ours, and the oracle. A controller of `cc` may follow: "modern:bbr"; "modern:custom" is one of
#: your own (`headway.Controller`).
VARIANTS: tuple[str, ...] = tuple(_native.variants())


def race(
    scenario: Scenario | None = None,
    variants: Sequence[str] | None = None,
    runs: int = 10,
    seed: int = 1,
    *,
    progress: Progress = None,
    controller: Maker | None = None,
) -> pa.Table:
    """Runs each of the senders over the scenario with each of `runs` seeds, from `seed` on, over all cores.

    A row is a run, and has the columns of `headway lab` (`headway.columns()`), with the controller in `variant`: "modern:bbr". With the same seed all senders meet the same
    damage. Without `variants` all senders are raced except the oracle, or that of the scenario. Numbers are those of
    `headway race --json` with the same options. `controller` is that of senders that are called `custom`, also beside the one that is raced:
    a class of `headway.Controller`, or a function that makes one. With it alone, "modern:custom" is raced.
    """
    scenario = _checked(scenario)
    if isinstance(variants, str):
        variants = [variants]
    if variants is None:
        own = _sender(scenario, controller)
        variants = [own] if own else [name for name in VARIANTS if name != "oracle"]
    with reported(progress) as report:
        return table(
            _native.race(scenario.given, list(variants), whole("runs", runs), whole("seed", seed), report, controller)
        )


class Run:
    """One run, and what was recorded of it."""

    #: One row with the columns of `race`.
    table: pa.Table
    #: What both TCPs did, in the order of time: the fields of an event, after the end ("sender", "receiver") it is of.
    events: pa.Table
    #: The packets at both ends as they were sent and as they arrived.
    packets: pa.Table
    #: The points of the sender's time-sequence graph: "sent", "retransmission", "ack", "special-ack", "timeout", "window".
    time_sequence: pa.Table

    def __init__(self, recorded: _native.Recorded) -> None:
        self.table = table(recorded.metrics)
        self.events = table(recorded.events)
        self.packets = table(recorded.packets)
        self.time_sequence = table(recorded.time_sequence)

    @property
    def metrics(self) -> dict[str, Any]:
        """What was measured, by the names of the columns."""
        row: dict[str, Any] = self.table.to_pylist()[0]
        return row

    def __repr__(self) -> str:
        row = self.metrics
        outcome = "finished" if row["finished"] else f"not finished ({row['failure']})"
        return f"<Run of {row['variant']}, seed {row['seed']}: {outcome} in {row['seconds']:.3f} s>"


def run(
    scenario: Scenario | None = None,
    variant: str | None = None,
    seed: int = 1,
    *,
    capture: str | PathLike[str] | None = None,
    limit: int | None = 2_000_000,
    controller: Maker | None = None,
) -> Run:
    """Runs one sender with one seed: that of the scenario, or headway's. With `capture`, all packets are written to this
    file too (pcapng, both ends). The oracle is no TCP: nothing is recorded of it but its metrics. Events and packets
    are held in memory, some 170 bytes each and 430 while they are collected: a run that has more than
    `limit` of them is ended, and raises `headway.InputError`. Longer runs are for `race`, which holds none. `controller` is
    that of `race`.
    """
    scenario = _checked(scenario)
    variant = variant or _sender(scenario, controller) or "headway"
    limit = None if limit is None else whole("limit", limit)
    return Run(_native.run(scenario.given, variant, whole("seed", seed), capture, limit, controller))


def columns() -> pa.Table:
    """The columns of a table of runs: name, type, meaning."""
    names, types, meanings = zip(*_native.columns(), strict=True)
    return pa.table({"name": names, "type": types, "meaning": meanings})


def _sender(scenario: Scenario, controller: Maker | None) -> str | None:
    """The sender where none is named."""
    return scenario.given.get("variant") or (None if controller is None else "modern:custom")


def _checked(scenario: Scenario | None) -> Scenario:
    """The scenario, or that of a plain race."""
    if scenario is None:
        return Scenario()
    if not isinstance(scenario, Scenario):
        raise InputError(
            f"scenario: {scenario!r}: expected a headway.Scenario, such as headway.Scenario(rate=\"10mbit\")"
        )
    return scenario
