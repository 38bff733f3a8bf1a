"""Two TCPs behind a queue of your own: each flow in turn, 20 packets of each at most, 10 Mbit/s.

The queue is Python; behind it a link damages and delays the packets. How much of the queue's time does each TCP get?
"""

from collections import deque

import headway

SERVER = "10.0.0.1"
UNTIL = headway.nanoseconds("20s")


class TurnByTurn:
    """A queue for each flow, and one transmitter."""

    def __init__(self, flows: int) -> None:
        self.queues: list[deque[bytes]] = [deque() for _ in range(flows)]
        self.turn, self.sending, self.free_at = 0, b"", 0

    def push(self, now: int, flow: int, packet: bytes) -> None:
        if len(self.queues[flow]) < 20:
            self.queues[flow].append(packet)
        self.send(now)

    def send(self, now: int) -> None:
        waiting = [flow % len(self.queues) for flow in range(self.turn, self.turn + len(self.queues))]
        flow = next((flow for flow in waiting if self.queues[flow]), None)
        if not self.sending and flow is not None:
            self.sending, self.turn = self.queues[flow].popleft(), flow + 1
            self.free_at = now + len(self.sending) * 800  # nanoseconds for a byte at 10 Mbit/s

    def next_event(self) -> int | None:
        return self.free_at if self.sending else None

    def leave(self, now: int) -> bytes:
        packet, self.sending = self.sending, b""
        self.send(now)
        return packet


def race(*variants: str, seed: int = 1) -> dict[str, float]:
    """The goodput of each variant in Mbit/s."""
    server = headway.Host(SERVER, seed=seed)
    clients = [headway.Host(f"10.0.0.{10 + i}", variant=name, seed=seed) for i, name in enumerate(variants)]
    out = headway.Link(name="out", seed=seed, rate="unlimited", delay="50ms", damage="random:2%")
    back = headway.Link(name="back", seed=seed, rate="unlimited", delay="50ms")
    queue, listener = TurnByTurn(len(clients)), server.listen(f"{SERVER}:80")
    uploads = [client.connect(0, f"{SERVER}:80") for client in clients]
    by_address = {upload.endpoints[0]: name for upload, name in zip(uploads, variants, strict=True)}
    received, now = dict.fromkeys(variants, 0), 0
    accepted: list[headway.Connection] = []
    while now < UNTIL:
        for flow, (client, upload) in enumerate(zip(clients, uploads, strict=True)):
            while upload.writable and upload.write(bytes(65_536)):
                pass
            for packet in client.transmit(now):
                queue.push(now, flow, packet)
        while (connection := listener.accept()) is not None:
            accepted.append(connection)
        for connection in accepted:
            received[by_address[connection.endpoints[1]]] += len(connection.read())
        for packet in server.transmit(now):
            back.push(now, packet)
        hosts = [server, *clients]
        times = [queue.next_event(), out.next_event(), back.next_event()]
        times += [host.next_deadline() for host in hosts]
        now = min(time for time in times if time is not None)
        if queue.next_event() == now:
            out.push(now, queue.leave(now))
        for arrival in out.arrivals(now):
            server.receive(now, arrival.packet)
        for arrival in back.arrivals(now):
            for client in clients:  # each drops what is for another
                client.receive(now, arrival.packet)
        for host in hosts:
            host.handle_timeout(now)
    return {name: octets * 8e9 / UNTIL / 1e6 for name, octets in received.items()}


if __name__ == "__main__":
    for name, goodput in race("headway", "modern:cubic").items():
        print(f"{name:14} {goodput:5.2f} Mbit/s")
