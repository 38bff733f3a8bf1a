"""Hosts and links step by step: transfers, the simulator's packets, and every mistake."""

import importlib.util
from pathlib import Path
from typing import get_args

import pytest

import headway
from headway import _native, network

FORWARD = {"rate": "10mbit", "delay": "50ms", "queue": "100p", "damage": "burst:5%:5", "header_hit": "40%"}
REVERSE = {"rate": "10mbit", "delay": "50ms", "queue": "100p"}
CLIENT, SERVER = "10.0.1.1", "10.0.2.1"

Passed = tuple[int, str, bool, bytes]


def content(size: int) -> bytes:
    """What the simulator sends."""
    return bytes((i * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 56 for i in range(size))


class Upload:
    """Two hosts and two links with the names and the order of events of `headway race`."""

    def __init__(self, size: int, seed: int) -> None:
        self.data = content(size)
        self.server = headway.Host(SERVER, name="receiver", seed=seed)
        self.client = headway.Host(CLIENT, name="sender", seed=seed)
        self.forward = headway.Link(name="forward link", seed=seed, **FORWARD)
        self.reverse = headway.Link(name="reverse link", seed=seed, **REVERSE)
        self.listener = self.server.listen(f"{SERVER}:5001", 1)
        self.now = self.written = 0
        self.received = bytearray()
        self.opened: headway.Connection | None = None
        self.accepted: headway.Connection | None = None
        self.may_write = self.server_closed = False
        self.complete: int | None = None
        self.retransmissions = 0
        self.passed: list[Passed] = []

    def client_program(self) -> None:
        if self.opened is None:
            self.opened = self.client.connect(self.now, f"{SERVER}:5001", local=f"{CLIENT}:40000")
        for connection, what in self.client.notifications():
            assert connection == self.opened
            self.may_write |= what in ("connected", "writable")
        if self.may_write and self.written < len(self.data):
            self.written += self.opened.write(memoryview(self.data)[self.written :])
            self.may_write = False
            if self.written == len(self.data):
                self.opened.shutdown(self.now)

    def server_program(self) -> None:
        self.accepted = self.accepted or self.listener.accept()
        self.server.notifications()
        if self.accepted is None:
            return
        self.received += self.accepted.read()
        if self.accepted.is_finished and not self.server_closed:
            self.server_closed = True
            self.accepted.shutdown(self.now)

    def turn(self, host: headway.Host) -> None:
        end, program, link = (
            ("sender", self.client_program, self.forward)
            if host is self.client
            else ("receiver", self.server_program, self.reverse)
        )
        program()
        for packet in host.transmit(self.now):
            self.passed.append((self.now, end, True, packet))
            link.push(self.now, packet)

    def deliver(self, link: headway.Link, host: headway.Host) -> None:
        for arrival in link.arrivals(self.now):
            end = "sender" if host is self.client else "receiver"
            self.passed.append((self.now, end, False, arrival.packet))
            host.receive(self.now, arrival.packet)
            self.turn(host)

    def is_over(self) -> bool:
        assert self.opened is not None
        over = ("closed", "time_wait", "fin_wait_2")
        return len(self.received) >= len(self.data) and self.opened.state in over

    def run(self) -> None:
        self.turn(self.server)
        self.turn(self.client)
        while not self.is_over():
            due = [
                self.forward.next_event(),
                self.reverse.next_event(),
                self.server.next_deadline(),
                self.client.next_deadline(),
            ]
            at = min(time for time in due if time is not None)
            self.now = max(self.now, at)
            match due.index(at):
                case 0:
                    self.deliver(self.forward, self.server)
                case 1:
                    self.deliver(self.reverse, self.client)
                case place:
                    host = self.server if place == 2 else self.client
                    host.handle_timeout(self.now)
                    self.turn(host)
            if self.complete is None and len(self.received) == len(self.data):
                self.complete = self.now
                # The simulator counts until then; a copy of the tail may follow.
                assert self.opened is not None
                self.retransmissions = self.opened.statistics["retransmissions"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_packets_are_those_of_the_simulator(seed: int, tmp_path: Path) -> None:
    upload = Upload(1_000_000, seed)
    upload.run()
    assert upload.received == upload.data
    file = tmp_path / "run.pcapng"
    scenario = headway.Scenario(**FORWARD, size="1MB")
    run = headway.run(scenario, "headway", seed, capture=file)
    assert upload.complete == round(run.metrics["seconds"] * 1e9)
    packets = captured(file)
    assert len(packets) > 1000
    assert upload.passed == packets
    assert upload.opened is not None
    assert upload.retransmissions == run.metrics["retransmissions"] > 0
    assert upload.opened.path_counts["reported"] > 0 and upload.forward.counters["hit"] > 0


def captured(file: Path) -> list[Passed]:
    """The packets of a capture of both ends (pcapng, little-endian, raw IP, times of nanoseconds)."""
    data, packets, at = file.read_bytes(), [], 0

    def number(offset: int) -> int:
        return int.from_bytes(data[offset : offset + 4], "little")

    def flags(begin: int, end: int) -> int:
        while begin < end:
            kind, length = number(begin) & 0xFFFF, number(begin) >> 16
            if kind == 2:
                return number(begin + 4)
            begin += 4 + (length + 3) // 4 * 4
        raise AssertionError("a packet without a direction")

    while at < len(data):
        kind, length = number(at), number(at + 4)
        if kind == 6:
            time, size = number(at + 12) << 32 | number(at + 16), number(at + 20)
            packet = data[at + 28 : at + 28 + size]
            outbound = flags(at + 28 + (size + 3) // 4 * 4, at + length - 4) & 3 == 2
            packets.append((time, ("sender", "receiver")[number(at + 8)], outbound, packet))
        at += length
    return packets


@pytest.mark.parametrize("version", [4, 6])
def test_a_download_arrives_whole_over_damage(version: int) -> None:
    client_at, server_at = ("10.0.1.1", "10.0.2.1") if version == 4 else ("2001:db8::1", "2001:db8::2")
    site = f"{server_at}:80" if version == 4 else f"[{server_at}]:80"
    server, client = headway.Host(server_at), headway.Host(client_at, window="256KiB")
    for host, peer in [(server, client_at), (client, server_at)]:
        host.set_only_peer(server_at if host is server else client_at, peer)
    damage = {"rate": "20mbit", "delay": "20ms", "damage": "random:3%", "header_hit": "40%"}
    damage |= {"hit_zone": "ip+tcp", "loss": "1%"}
    down = headway.Link(name="down", seed=7, **damage)
    up = headway.Link(name="up", seed=7, **damage)
    listener, request = server.listen(site), client.connect("0", site)
    page, got, sent, answer, now = content(3_000_000), bytearray(), 0, None, 0
    verdicts = set()
    while not (request.is_finished and len(got) == len(page)):
        for connection, what in client.notifications():
            if what == "connected":
                assert connection == request and connection.write(b"GET") == 3
        got += request.read(10_000)
        answer = answer or listener.accept()
        if answer is not None and answer.readable:
            assert answer.read() == b"GET"
        if answer is not None and sent < len(page) and (room := answer.writable):
            # Any buffer of bytes.
            piece = page[sent : sent + room]
            sent += answer.write(bytearray(piece) if sent % 2 else memoryview(piece + b"more")[: len(piece)])
            if sent == len(page):
                answer.shutdown(now)
        for host, link in [(server, down), (client, up)]:
            for packet in host.transmit(now):
                link.push(now, packet)
        if request.readable:
            continue
        times = [server.next_deadline(), client.next_deadline(), down.next_event(), up.next_event()]
        now = min(time for time in times if time is not None)
        for host, link in [(client, down), (server, up)]:
            for arrival in link.arrivals(now):
                assert arrival.at <= now
                verdicts.add(host.receive(now, arrival.packet))
            host.handle_timeout(now)
    assert got == page
    assert {"intact", "corrupted", "unreadable"} <= verdicts
    assert down.counters["hit_in_header"] > 10 and down.counters["lost"] > 10
    assert down.counters["offered_bytes"] > len(page)


def test_times_are_numbers_or_texts() -> None:
    assert headway.nanoseconds("300ms") == headway.nanoseconds(300_000_000) == 300_000_000
    for wrong in [0.3, -1, True, None, 2**64 - 1, b"1s"]:
        with pytest.raises(headway.InputError, match="^time .*expected nanoseconds as a whole number"):
            headway.nanoseconds(wrong)  # type: ignore[arg-type]
    with pytest.raises(headway.InputError, match='^time "soon": expected a time with a unit'):
        headway.nanoseconds("soon")
    host = headway.Host("192.0.2.1")
    host.handle_timeout("5s")
    with pytest.raises(headway.InputError, match="^time 4000000000 ns: expected 5000000000 ns"):
        host.handle_timeout("4s")
    host.handle_timeout("5s")
    link = headway.Link(name="l")
    link.push("5s", bytes(40))
    with pytest.raises(headway.InputError, match="time of an earlier call"):
        link.arrivals(0)
    with pytest.raises(headway.InputError, match="time 0.5: expected nanoseconds"):
        link.push(0.5, bytes(40))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "keys", "text"),
    [
        (["192.0.2"], {}, '"192.0.2": expected an IP address, such as'),
        (["192.0.2.1"], {"vriant": "sack"}, "vriant: unknown key (did you mean variant?)"),
        (["192.0.2.1"], {"variant": "tahoe"}, 'variant: "tahoe": expected one of newreno'),
        (["192.0.2.1"], {"rate": "1mbit"}, "rate: unknown key"),
        (["192.0.2.1"], {"window": [1]}, "window: [1]: expected a text"),
        (["192.0.2.1"], {"seed": -1}, "seed: -1: expected a whole number from 0 to"),
        (["192.0.2.1"], {"seed": 2**64}, "seed: 18446744073709551616: expected"),
        (["192.0.2.1"], {"seed": 1.5}, "seed: 1.5: expected a whole number"),
        ([], {"name": "l", "rate": "0"}, 'rate: "0": expected a rate such as 10mbit'),
        ([], {"name": "l", "variant": "sack"}, "variant: unknown key"),
        ([], {"name": "l", "reverse_rate": "1mbit"}, "reverse-rate: a link here is one direction"),
        ([], {"name": "l", "damage": "trace:none.fates"}, "damage: none.fates: cannot be read"),
    ],
)
def test_hosts_and_links_that_make_no_sense_are_refused(
    arguments: list[str], keys: dict[str, object], text: str
) -> None:
    with pytest.raises(headway.InputError) as refusal:
        (headway.Host if arguments else headway.Link)(*arguments, **keys)  # type: ignore[arg-type]
    assert str(refusal.value).startswith(text)


def test_every_misuse_raises() -> None:
    host, other = headway.Host("192.0.2.1", variant="modern", mtu=1400), headway.Host("2001:db8::1")
    assert (host.mtu, other.mtu, repr(host)) == (1400, 1500, "<Host 192.0.2.1>")
    refusals = [
        (lambda: host.listen("192.0.2.1"), headway.InputError, "an IP address with a port"),
        (lambda: host.listen("192.0.2.7:80"), headway.Error, "192.0.2.7 is not an address of this host"),
        (lambda: host.listen("192.0.2.1:80", -1), headway.InputError, "backlog: -1: expected"),
        (lambda: host.connect(0, "[2001:db8::2]:80"), headway.Error, "are not of one address family"),
        (lambda: host.connect(0, "localhost:80"), headway.InputError, '"localhost:80": expected an IP address'),
        (lambda: host.add_address("x"), headway.InputError, '"x": expected an IP address'),
        (lambda: host.set_only_peer("192.0.2.1", ""), headway.InputError, '"": expected an IP address'),
    ]
    for call, kind, text in refusals:
        with pytest.raises(kind) as refusal:
            call()
        assert text in str(refusal.value)
    host.add_address("192.0.2.7")
    host.listen("192.0.2.7:80")
    listener = host.listen("192.0.2.1:80")
    assert listener.accept() is None
    with pytest.raises(headway.Error, match="address in use: 192.0.2.1:80"):
        host.listen("192.0.2.1:80")

    connection = host.connect(5, "192.0.2.2:80")
    assert connection.state == "syn_sent" and connection.failure is None
    assert connection.endpoints[0].startswith("192.0.2.1:") and connection.endpoints[1] == "192.0.2.2:80"
    assert (connection.read(), connection.is_finished) == (b"", False)
    with pytest.raises(headway.InputError, match="room: -5: expected"):
        connection.read(-5)
    with pytest.raises(TypeError):
        connection.write("text")  # type: ignore[arg-type]
    # Numbers of other hosts, and such as never were.
    for number in [0, connection._number, listener._number, 2**63]:
        with pytest.raises(headway.Error, match=f"unknown connection {number}: .*another host"):
            headway.Connection(other, number).write(b"x")
    with pytest.raises(headway.Error, match="unknown listener"):
        headway.Listener(other, listener._number).accept()

    connection.shutdown(5)
    with pytest.raises(headway.Error, match="^the sending side is closed$"):
        connection.write(b"x")
    second = host.connect(6, "192.0.2.2:81")
    second.abort(6)
    assert (second.state, second.failure, second.is_finished) == ("closed", "aborted", True)
    with pytest.raises(headway.Error, match="connection aborted by the application"):
        second.write(b"x")
    assert (second, "closed") in host.notifications() and second != connection
    second.release(7)
    uses = [
        lambda: second.write(b"x"),
        lambda: second.read(),
        lambda: second.state,
        lambda: second.failure,
        lambda: second.endpoints,
        lambda: second.readable,
        lambda: second.writable,
        lambda: second.is_finished,
        lambda: second.statistics,
        lambda: second.path_counts,
        lambda: second.shutdown(7),
        lambda: second.abort(7),
        lambda: second.release(7),
    ]
    for use in uses:
        with pytest.raises(headway.Error, match=f"unknown connection {second._number}: it was released"):
            use()
    listener.close(8)
    with pytest.raises(headway.Error, match="unknown listener"):
        listener.accept()
    with pytest.raises(headway.Error, match="unknown listener"):
        listener.close(9)


def test_any_bytes_may_arrive() -> None:
    host, link = headway.Host("192.0.2.1"), headway.Link(name="l", rate="unlimited", delay="0s")
    host.listen("192.0.2.1:80")
    client = headway.Host("192.0.2.2")
    client.connect(0, "192.0.2.1:80")
    [syn] = client.transmit(0)
    for length in range(2000):
        junk = bytes((i * 7919 + length * 31) % 256 for i in range(length))
        assert host.receive(0, junk) == "unreadable"
    for place in range(len(syn)):
        hit = bytearray(syn)
        hit[place] ^= 0x10
        assert host.receive(0, hit) == "unreadable"
        assert host.receive(0, syn[:place]) == "unreadable"
    assert host.transmit(0) == [], "what cannot be read is not answered"
    assert host.receive(0, memoryview(syn)) == "intact"
    [answer] = host.transmit(0)
    assert client.receive(0, answer) == "intact"
    for length in [0, 65_536]:
        with pytest.raises(headway.InputError, match=f"a packet of {length} bytes: expected 1 to 65535"):
            link.push(0, bytes(length))
    for length in [1, 65_535]:
        link.push(0, bytes(length))
        [arrival] = link.arrivals(0)
        assert (arrival.packet, arrival.at, arrival.flipped_bits) == (bytes(length), 0, 0)


def test_types_have_the_names_of_the_native_part() -> None:
    states, failures, happenings, verdicts = _native.network_names()
    assert states == list(get_args(network.State))
    assert failures == ["none", *get_args(network.Failure)]
    assert happenings == ["none", *get_args(network.Happening)]
    assert verdicts == list(get_args(network.Verdict))


def test_a_queue_of_ones_own() -> None:
    path = Path(__file__).parents[1] / "examples/own_queue.py"
    spec = importlib.util.spec_from_file_location("own_queue", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    goodput = example.race("headway", "modern:cubic")
    # Together no more than the transmitter has, and the one that repairs damage has its whole turn.
    assert sum(goodput.values()) < 10
    assert goodput["headway"] > 4 > goodput["modern:cubic"] > 0.1
