"""Hosts and links for networks of your own, in virtual time."""

from __future__ import annotations

from typing import Literal, NamedTuple

from headway import _native
from headway._values import Value, text, whole
from headway.controllers import Maker

#: A time: nanoseconds since an epoch of your choice as a whole number, or a text with a unit such as "300ms".
Time = int | str

#: Bytes, or what gives access to some.
Buffer = bytes | bytearray | memoryview

#: RFC 9293, 3.3.2. A connection that is over is "closed".
State = Literal[
    "closed",
    "syn_sent",
    "syn_received",
    "established",
    "fin_wait_1",
    "fin_wait_2",
    "close_wait",
    "closing",
    "last_ack",
    "time_wait",
]

#: Why a connection failed.
Failure = Literal[
    "other",
    "refused",
    "reset",
    "unreachable",
    "timed_out",
    "user_timeout",
    "aborted",
    "closing",
]

#: What happened to a connection. "readable": more has arrived, or the peer closed its side; "writable": there is room
#: again after a short write; "closed": the connection is over, and `Connection.failure` says whether it failed.
Happening = Literal["other", "connected", "readable", "writable", "urgent", "closed"]

#: What an arriving packet was, by its checksums. "corrupted": its header is valid, its payload is not; "unreadable": its
#: header is corrupted; "malformed": TCP that was sent like this and cannot be parsed.
Verdict = Literal["intact", "corrupted", "unreadable", "icmp", "other_protocol", "malformed"]


class Notification(NamedTuple):
    """What a program should know of a connection."""

    connection: Connection
    #: What happened.
    what: Happening


class Arrival(NamedTuple):
    """A packet that has arrived at the far end of a link."""

    #: Its bytes, with their damage.
    packet: bytes
    #: When its last bit arrived, in nanoseconds.
    at: int
    #: How many of its bits the link has flipped. It is for observers: a host finds out by its checksums.
    flipped_bits: int
    #: Whether this is the copy that the link made of a packet.
    is_duplicate: bool


class Host:
    """A TCP host without I/O and without a clock: IP packets and times go in, IP packets and times come out.

    The turn of a network's loop: `receive` what has arrived, `handle_timeout` when its time has come, let programs read
    and write, give what `transmit` returns to the network, and wait until `next_deadline` or the next packet. Times never
    decrease.

    `keys` are `variant` ("headway" unless given), `profile`, `cc`, `rules`, `window`, `mtu`, `retries` and the features,
    as of a `Scenario`; `dscp` ("EF", or a number) and `ttl`. `name` and `seed` give the host's secrets (sequence numbers, ports): hosts of one network have
    different names. Without one the name is the address. `controller` is a class of `headway.Controller`, or a function that
    makes one: the controller of connections where `variant` is "modern:custom", which it is unless given.
    """

    def __init__(
        self,
        address: str,
        *,
        name: str | None = None,
        seed: int = 1,
        controller: Maker | None = None,
        **keys: Value | None,
    ) -> None:
        self._address = address
        name = address if name is None else name
        if controller is not None:
            keys = {"variant": "modern:custom", **keys}
        self._native = _native.Host(address, _pairs(keys), name, whole("seed", seed), controller)

    @property
    def mtu(self) -> int:
        """The largest IP packet that the host sends, in bytes."""
        return self._native.mtu

    def add_address(self, address: str) -> None:
        """The host answers to this address too."""
        self._native.add_address(address)

    def set_only_peer(self, local: str, remote: str) -> None:
        """Every packet that arrives is of the host at `remote`, also one whose IP header is corrupted: it is then counted
        as one of its packets, and is not dropped unseen. For links with two ends.
        """
        self._native.set_only_peer(local, remote)

    def listen(self, local: str, backlog: int = 16) -> Listener:
        """Listens at `local`, such as "192.0.2.1:80" or "[2001:db8::1]:80", for at most `backlog` connections that open
        or wait to be accepted.
        """
        return Listener(self, self._native.listen(local, whole("backlog", backlog)))

    def connect(self, now: Time, remote: str, *, local: str | None = None) -> Connection:
        """Opens a connection to `remote`. Without `local` it begins at the host's address; port 0 is a free one."""
        if local is None:
            local = f"[{self._address}]:0" if ":" in self._address else f"{self._address}:0"
        return Connection(self, self._native.connect(now, local, remote))

    def notifications(self) -> list[Notification]:
        """What happened to connections since the last call."""
        return [
            Notification(Connection(self, number), what) for number, what in self._native.notifications()
        ]

    def receive(self, now: Time, packet: Buffer) -> Verdict:
        """An IP packet has arrived, whatever its bytes. What it was, by its checksums."""
        return self._native.receive(now, _bytes(packet))

    def transmit(self, now: Time) -> list[bytes]:
        """Every IP packet that the host sends now. To be called after every other call that may have given a reason."""
        return self._native.transmit(now)

    def next_deadline(self) -> int | None:
        """When to call `handle_timeout` at the latest, in nanoseconds; None: nothing waits for time. It is valid after
        `transmit`.
        """
        return self._native.next_deadline()

    def handle_timeout(self, now: Time) -> None:
        """Lets every timer expire whose time has come. Calling it early does no harm."""
        self._native.handle_timeout(now)

    def __repr__(self) -> str:
        return f"<Host {self._address}>"


class Listener:
    """Where a host accepts connections."""

    def __init__(self, host: Host, number: int) -> None:
        self._host = host
        self._number = number

    def accept(self) -> Connection | None:
        """The connection that has been waiting longest, if any."""
        number = self._host._native.accept(self._number)
        return None if number is None else Connection(self._host, number)

    def close(self, now: Time) -> None:
        """Stops listening; connections that were not accepted are aborted."""
        self._host._native.close_listener(now, self._number)

    def __repr__(self) -> str:
        return f"<Listener {self._number} of {self._host!r}>"


class Connection:
    """A connection of a host. Objects for the same connection are equal.

    After `release` every call raises `headway.Error`.
    """

    __slots__ = ("_host", "_number")

    def __init__(self, host: Host, number: int) -> None:
        self._host = host
        self._number = number

    def write(self, data: Buffer) -> int:
        """Takes as much as the send buffer has room for, and says how much that was. "writable" follows a short write.
        Raises `headway.Error` if the connection failed or is closed for sending.
        """
        return self._host._native.write(self._number, _bytes(data, self.writable + 1))

    @property
    def writable(self) -> int:
        """Bytes that `write` would take now."""
        return self._host._native.writable(self._number)

    @property
    def readable(self) -> int:
        """Bytes that `read` would give now."""
        return self._host._native.readable(self._number)

    def read(self, room: int | None = None) -> bytes:
        """Received bytes, at most `room`. If it is empty there are none now, or no more come (`is_finished`)."""
        return self._host._native.read(self._number, None if room is None else whole("room", room))

    @property
    def is_finished(self) -> bool:
        """Whether the peer has closed its side, or the connection is over, and all is read."""
        return self._host._native.is_finished(self._number)

    def shutdown(self, now: Time) -> None:
        """Ends our side after what was written (FIN); the peer may go on sending."""
        self._host._native.shutdown(now, self._number)

    def abort(self, now: Time) -> None:
        """Ends both sides at once (RST); what was not sent or read is dropped."""
        self._host._native.abort(now, self._number)

    def release(self, now: Time) -> None:
        """The program needs the connection no more; what is open is closed. Without it a connection that is over stays."""
        self._host._native.release(now, self._number)

    @property
    def state(self) -> State:
        """Its state."""
        return self._host._native.state(self._number)

    @property
    def failure(self) -> Failure | None:
        """Why it failed, if it did."""
        return self._host._native.failure(self._number)

    @property
    def endpoints(self) -> tuple[str, str]:
        """Its two ends, ours first."""
        return self._host._native.endpoints(self._number)

    @property
    def statistics(self) -> dict[str, int]:
        """Counters and estimates: windows in bytes, times in nanoseconds, 0 where nothing was measured yet."""
        return self._host._native.statistics(self._number)

    @property
    def path_counts(self) -> dict[str, int]:
        """What is counted on the path, for all connections on it: losses of what was sent by their cause, and what
        arrived.
        """
        return self._host._native.path_counts(self._number)

    def __eq__(self, other: object) -> bool:
        # No two connections of a process have the same number.
        return isinstance(other, Connection) and self._number == other._number

    def __hash__(self) -> int:
        return hash(self._number)

    def __repr__(self) -> str:
        return f"<Connection {self._number} of {self._host!r}>"


class Link:
    """One direction of a link: a queue, a rate, a delay, damage to real bytes.

    `keys` are those of a link and its damage in a `Scenario`, except `reverse_...`: the other direction is a second link;
    and `mtu`, which `queue="1bdp"` needs. What is not given is 10 Mbit/s, 300 ms, 100 packets, no damage.
    `rate="unlimited"` transmits in no time, for networks with a transmitter of their own. `name` and `seed` give the
    link's randomness: links of one network have different names.
    """

    def __init__(self, *, name: str, seed: int = 1, **keys: Value | None) -> None:
        self._name = name
        self._native = _native.Link(_pairs(keys), name, whole("seed", seed))

    def push(self, now: Time, packet: Buffer) -> bool:
        """Gives the link an IP packet. False if it is dropped in front of the transmitter."""
        return self._native.push(now, _bytes(packet))

    def next_event(self) -> int | None:
        """When to ask for arrivals next, in nanoseconds; None while the link is empty. There may be nothing at that time,
        where packets are lost on the way.
        """
        return self._native.next_event()

    def arrivals(self, now: Time) -> list[Arrival]:
        """Every packet that has arrived, in order of arrival."""
        return [Arrival(*arrival) for arrival in self._native.arrivals(now)]

    @property
    def queue_len(self) -> int:
        """Packets in the queue at the time of the last call with a time."""
        return self._native.queue_len

    @property
    def counters(self) -> dict[str, int]:
        """What the link has done, in packets unless a name says otherwise."""
        return self._native.counters()

    def __repr__(self) -> str:
        return f"<Link {self._name!r}>"


def nanoseconds(time: Time) -> int:
    """A time as whole nanoseconds: `nanoseconds("300ms")` is 300000000."""
    return _native.nanoseconds(time)


def _bytes(data: Buffer, most: int | None = None) -> bytes:
    """Bytes are not copied; of others no more than `most`."""
    if isinstance(data, bytes):
        return data
    view = memoryview(data)
    view = view if view.format == "B" and view.ndim == 1 else view.cast("B")
    return view[:most].tobytes()


def _pairs(keys: dict[str, Value | None]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", "-"), text(name, value)) for name, value in keys.items() if value is not None
    ]
