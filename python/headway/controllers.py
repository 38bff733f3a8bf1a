"""Congestion controllers of your own."""

from collections.abc import Callable
from typing import NamedTuple


class Ack(NamedTuple):
    """An ACK that acknowledged or reported new data."""

    #: When it arrived, in seconds since the simulation began.
    now: float
    #: Bytes by which the oldest unacknowledged number moved.
    acked: int
    #: Newly delivered bytes, cumulatively or selectively acknowledged: each byte counts once.
    delivered: int
    #: Bytes in the network after it, without those that are known to be lost.
    pipe: int
    #: Its round-trip time in seconds, if it gives one.
    rtt: float | None
    #: Whether losses are being repaired.
    in_recovery: bool
    #: What the path delivered since the newest acknowledged segment was sent, in bits per second, if it was measured.
    delivery_rate: int | None
    #: Whether the sender had too little to send then.
    app_limited: bool


class Loss(NamedTuple):
    """A sign of congestion."""

    #: When it was found, in seconds since the simulation began.
    now: float
    #: Bytes sent and not cumulatively acknowledged.
    flight: int


class LostSegment(NamedTuple):
    """A segment that is lost, and not to damage that is known."""

    #: When that was found, in seconds since the simulation began.
    now: float
    #: When it was sent.
    sent_at: float
    #: Its length.
    bytes: int
    #: Bytes in the network with it when it was sent.
    in_flight: int


class Controller:
    """A congestion controller. A class of it, with methods for the events that matter to it, is given to `headway.run`,
    `headway.race` or `headway.Host`, and is the controller of senders that are called `custom`: `modern:custom`.

    An object serves one connection. It is made with the largest segment, in bytes, when that is known. After each call
    `window` and `pacing_rate` say what may be sent: nothing else reduces the window, not in recovery either. An
    exception ends the run, or the call of the host, and is raised there.
    """

    #: The congestion window in bytes; less than a segment counts as one.
    window: float
    #: Bits per second. None: twice the window in a round trip.
    pacing_rate: float | None = None
    #: The largest segment in bytes.
    mss: int

    def __init__(self, mss: int) -> None:
        self.mss = mss
        self.window = 10 * mss

    def on_established(self, now: float, rtt: float | None) -> None:
        """The handshake is over, and measured this round-trip time."""

    def on_mss(self, mss: int) -> None:
        """The largest segment has changed."""
        self.mss = mss

    def on_sent(self, now: float, pipe: int, app_limited: bool) -> None:
        """A segment is sent, with `pipe` bytes in the network before it."""

    def on_ack(self, ack: Ack) -> None:
        """Data was acknowledged."""

    def on_segment_lost(self, lost: LostSegment) -> None:
        """A segment is lost; called before `on_loss`."""

    def on_loss(self, loss: Loss) -> None:
        """Something was lost, called once at the start of each recovery."""

    def on_timeout(self, loss: Loss, first: bool) -> None:
        """The retransmission timer expired, `first`: for the first time for the same data."""

    def on_recovery_end(self, loss: Loss) -> None:
        """All is acknowledged that was sent before the loss was found."""

    def on_damage(self, now: float, bytes: int) -> None:
        """Segments arrived corrupted, or are taken to be lost to damage: no sign of congestion."""

    def on_ecn(self, loss: Loss) -> None:
        """A router marked a packet. A class without this method gets `on_loss`."""

    def on_spurious(self) -> None:
        """The last loss or timeout was none."""

    def on_idle(self) -> None:
        """Nothing was sent for a retransmission timeout."""


#: What makes a controller: a class, or a function of the largest segment in bytes.
Maker = Callable[[int], Controller]
