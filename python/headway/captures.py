"""Captures: what `headway trace` says of them."""

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any

import pyarrow as pa

from headway import _native


class Trace:
    """The TCP connections of a capture."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def to_dict(self) -> dict[str, Any]:
        """Everything, as `headway trace --json` prints it."""
        return self._document

    @property
    def connections(self) -> pa.Table:
        """A row for each direction of each connection: the columns of `headway trace --csv`."""
        rows = []
        for connection in self._document["connections"]:
            about = {
                name: connection[name]
                for name in ("number", "interface", "ending", "first_at_ns", "duration_seconds")
            }
            for direction in connection["directions"]:
                numbers = {
                    name: value for name, value in direction.items() if not isinstance(value, dict | list)
                }
                rows.append({**about, **numbers})
        return _typed(rows)

    @property
    def throughput(self) -> pa.Table:
        """A row for each interval of time of each direction: the columns of `headway trace --csv=throughput`."""
        rows = []
        for connection in self._document["connections"]:
            for direction in connection["directions"]:
                of = direction["throughput"]
                width = of["interval_seconds"]
                for place, (sent, new) in enumerate(zip(of["bytes"], of["new_bytes"], strict=True)):
                    rows.append(
                        {
                            "number": connection["number"],
                            "from": direction["from"],
                            "to": direction["to"],
                            "start_seconds": place * width,
                            "interval_seconds": width,
                            "bytes": sent,
                            "new_bytes": new,
                        }
                    )
        return _typed(rows)

    def __repr__(self) -> str:
        count = len(self._document["connections"])
        return f"<Trace of {self._document['file']}: {count} connection{'s' * (count != 1)}>"


def trace(
    *files: str | PathLike[str],
    interface: str | None = None,
) -> Trace:
    """Analyses a capture (pcap, pcapng). Several are merged by time, such as those of both ends. With `interface` only
    packets of this interface count; otherwise, for each connection, those of the one that captured its first packet.
    """
    return Trace(json.loads(_native.trace(list(files), interface)))


_TEXTS = ("interface", "ending", "from", "to")


def _type(name: str) -> pa.DataType:
    """The type of a column, which depends on its name alone."""
    if name in _TEXTS:
        return pa.string()
    if name.startswith("offers_"):
        return pa.bool_()
    if name.endswith(("_seconds", "_bps", "_mean_bytes")):
        return pa.float64()
    return pa.uint64()


def _typed(rows: Sequence[dict[str, Any]]) -> pa.Table:
    names = list(rows[0]) if rows else []
    return pa.table({name: pa.array([row[name] for row in rows], _type(name)) for name in names})
