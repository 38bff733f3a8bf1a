"""Congestion controllers that are written in Python."""

import traceback
from collections import Counter

import pytest

import headway

LINK = headway.Scenario(
    rate="10mbit", delay="20ms", damage="none", loss="1%", queue="1bdp", size="1MB", window="1MiB"
)


class Fixed(headway.Controller):
    """A window that stays."""

    segments = 20

    def __init__(self, mss: int) -> None:
        super().__init__(mss)
        self.window = self.segments * mss


class Paced(Fixed):
    segments = 1000
    pacing_rate = 2e6


class Long(Fixed):
    segments = 40


def test_the_window_is_what_it_says() -> None:
    link = LINK.replace(loss="0%", delay="50ms")
    goodput = {
        maker: headway.race(link, controller=maker, runs=1).to_pylist()[0]["goodput_bps"]
        for maker in (Fixed, Long, Paced)
    }
    # 20 segments of 1448 bytes in 100 ms and their own 1.2 ms.
    assert 0.8 < goodput[Fixed] / (20 * 1448 * 8 / 0.1012) < 1
    assert goodput[Long] > 1.7 * goodput[Fixed]
    assert 1.7e6 < goodput[Paced] < 2.1e6


class Recorder(headway.Controller):
    """Keeps what it is told."""

    def __init__(self, mss: int) -> None:
        super().__init__(mss)
        self.window = 30 * mss
        self.events: list[tuple[str, object]] = []
        made.append(self)

    def on_established(self, now: float, rtt: float | None) -> None:
        self.events.append(("established", rtt))

    def on_ack(self, ack: headway.Ack) -> None:
        self.events.append(("ack", ack))

    def on_segment_lost(self, lost: headway.LostSegment) -> None:
        self.events.append(("segment", lost))

    def on_loss(self, loss: headway.Loss) -> None:
        self.events.append(("loss", loss))


made: list[Recorder] = []


def test_events_have_the_numbers_of_the_run() -> None:
    made.clear()
    run = headway.run(LINK, controller=Recorder, seed=3)
    assert run.metrics["variant"] == "modern:custom" and run.metrics["finished"]
    # The receiver has one too, which has nothing to send.
    events = max((recorder.events for recorder in made), key=len)
    count = Counter(name for name, _ in events)
    acks = [event for _, event in events if isinstance(event, headway.Ack)]
    lost = [event for _, event in events if isinstance(event, headway.LostSegment)]
    assert sum(ack.delivered for ack in acks) == 1_000_001  # and the FIN
    assert 0.8 * run.metrics["retransmissions"] <= len(lost) <= run.metrics["retransmissions"]
    assert 0 < count["loss"] <= len(lost) and count["established"] == 1
    assert all(0.04 <= ack.rtt < 0.1 for ack in acks if ack.rtt is not None)
    assert all(0.04 <= segment.now - segment.sent_at < 0.2 for segment in lost)
    rates = [ack.delivery_rate for ack in acks if ack.delivery_rate is not None]
    assert max(rates) > 5e6


def test_the_same_seed_gives_the_same_run() -> None:
    one, two = (headway.race(LINK, controller=Fixed, runs=3, seed=5) for _ in range(2))
    assert one.equals(two) and one["cc"].to_pylist() == ["custom"] * 3


def test_several_flows_have_controllers_of_their_own() -> None:
    made.clear()
    link = LINK.replace(loss="0%", companions="2 modern:custom, modern:cubic", duration="5s", size=None)
    row = headway.race(link, ["modern:custom"], controller=Recorder, runs=1).to_pylist()[0]
    assert row["goodput_bps"] > 1e6
    assert sum(len(recorder.events) > 100 for recorder in made) == 3


def test_it_is_the_controller_of_a_host() -> None:
    made.clear()
    client, server = headway.Host("10.0.0.1"), headway.Host("10.0.0.2", controller=Recorder)
    listener = server.listen("10.0.0.2:80")
    connection, answer = client.connect(0, "10.0.0.2:80"), None
    for now in range(0, 100_000_000, 10_000_000):
        answer = answer or listener.accept()
        if answer and answer.writable:
            answer.write(b"x" * min(answer.writable, 50_000))
        for one, other in [(client, server), (server, client)]:
            for packet in one.transmit(now):
                other.receive(now, packet)
        connection.read()
    assert made[-1].window == 30 * made[-1].mss
    assert any(name == "ack" for name, _ in made[-1].events)


class Failing(headway.Controller):
    def on_ack(self, ack: headway.Ack) -> None:
        self.divide(ack.delivered, 0)

    def divide(self, number: int, by: int) -> None:
        self.window = number / by


@pytest.mark.parametrize("call", [headway.run, headway.race])
def test_an_exception_ends_the_run_with_its_traceback(call: object) -> None:
    # It would take days.
    link = LINK.replace(size="1000000GB", time_limit="100000h")
    with pytest.raises(ZeroDivisionError) as raised:
        call(link, controller=Failing)  # type: ignore[operator]
    names = [frame.name for frame in traceback.extract_tb(raised.tb)]
    assert names[-2:] == ["on_ack", "divide"]


def test_an_exception_ends_the_call_of_a_host() -> None:
    def fail(mss: int) -> headway.Controller:
        raise LookupError(f"{mss} bytes")

    client, server = headway.Host("10.0.0.1", controller=fail), headway.Host("10.0.0.2")
    server.listen("10.0.0.2:80")
    client.connect(0, "10.0.0.2:80")
    with pytest.raises(LookupError, match="1460 bytes|1448 bytes"):
        for packet in client.transmit(0):
            server.receive(0, packet)
        for packet in server.transmit(0):
            client.receive(0, packet)


def test_a_controller_does_not_call_its_host() -> None:
    class Calling(headway.Controller):
        def on_established(self, now: float, rtt: float | None) -> None:
            client.next_deadline()

    client, server = headway.Host("10.0.0.1", controller=Calling), headway.Host("10.0.0.2")
    server.listen("10.0.0.2:80")
    client.connect(0, "10.0.0.2:80")
    for packet in client.transmit(0):
        server.receive(0, packet)
    with pytest.raises(headway.Error, match="a controller cannot call a host"):
        for packet in server.transmit(0):
            client.receive(0, packet)


class NoNumber(headway.Controller):
    def on_ack(self, ack: headway.Ack) -> None:
        self.window = "wide"  # type: ignore[assignment]


class NoRate(headway.Controller):
    def on_ack(self, ack: headway.Ack) -> None:
        self.pacing_rate = float("nan")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"controller": 5}, "controller: 5: expected a class of headway.Controller"),
        ({"controller": dict}, "expected a headway.Controller"),
        ({"controller": lambda mss: None}, "controller: made None: expected a headway.Controller"),
        ({"controller": NoNumber}, "controller NoNumber: window: 'wide': expected a number of bytes"),
        ({"controller": NoRate}, "controller NoRate: pacing_rate: nan: expected bits per second"),
        ({"controller": Fixed, "variant": "modern"}, "controller: no sender has it"),
        ({"variant": "modern:custom"}, "controller custom: "),
        ({"controller": Fixed, "variant": "sack:custom"}, "controller custom: sack of profile linux22"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, object], part: str) -> None:
    with pytest.raises((headway.InputError, TypeError)) as refusal:
        headway.run(LINK, **arguments)  # type: ignore[arg-type]
    if arguments.get("controller") is not dict:
        assert isinstance(refusal.value, headway.InputError)
        assert part in str(refusal.value)
