"""An attacker on the path between two gateways, for `reference/trunk/faults`.

    attacker.py KIND RATE OUT IFACE_A IFACE_B

Reads every UDP datagram that arrives at either interface and sends what it makes of them out at the other, at most RATE a
second, from SIGUSR1 until SIGTERM; then OUT gets the number sent and the seconds, as JSON. `ready` is printed when it listens.
"""

import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time

ETH, IP, UDP = 14, 20, 8
HEADERS = ETH + IP + UDP
# Offset in a datagram of the sealed TCP header: type, index and number are before it (docs/trunk-protocol.md, section 2).
SEALED = 9
# The tags of payload and header, behind it.
TAGS = 32
# After this time, in seconds, a datagram has crossed the link.
OLD = 2


def ip_checksum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(like, payload, source=None, port=None):
    """A frame as the captured one, with another payload; without UDP checksum, which IPv4 permits."""
    eth, ip, udp = like[:ETH], bytearray(like[ETH : ETH + IP]), like[ETH + IP : HEADERS]
    struct.pack_into("!H", ip, 2, IP + UDP + len(payload))
    if source is not None:
        ip[12:16] = source
    ip[10:12] = b"\0\0"
    struct.pack_into("!H", ip, 10, ip_checksum(bytes(ip)))
    ports = struct.unpack("!HH", udp[:4])
    return eth + bytes(ip) + struct.pack("!HHHH", port or ports[0], ports[1], UDP + len(payload), 0) + payload


def flipped(payload, bits, first, last, rng):
    payload = bytearray(payload)
    for _ in range(bits):
        at = rng.randrange(first, last)
        payload[at] ^= 1 << rng.randrange(8)
    return bytes(payload)


class Attacker:
    def __init__(self, kind, interfaces):
        self.kind = kind
        self.is_race = kind.startswith("race")
        self.rng = random.Random(1)
        self.sockets = []
        for name in interfaces:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
            raw.bind((name, 0))
            raw.setblocking(False)
            self.sockets.append(raw)
        # Of each interface the last data datagrams that arrived, and handshakes.
        self.captured = ([], [])
        self.handshakes = ([], [])
        self.next = 0
        self.sent = 0
        self.first_sent = None

    def send(self, side, data):
        """Out at the interface that is not `side`, so in the direction in which the datagram went."""
        try:
            self.sockets[1 - side].send(data)
        except OSError:
            return
        self.sent += 1
        self.first_sent = self.first_sent or time.monotonic()

    def hear(self, side, data):
        if len(data) <= HEADERS or data[ETH] != 0x45 or data[ETH + 9] != 17:
            return
        # Without the padding of short Ethernet frames.
        data = data[: ETH + struct.unpack("!H", data[ETH + 2 : ETH + 4])[0]]
        kind = data[HEADERS]
        # The first are the gateways' own; later ones may be answers to the attack.
        if kind in (1, 2) and len(self.handshakes[side]) < 2:
            self.handshakes[side].append(data)
        if kind & 0xF0 not in (0x40, 0x50):
            return
        kept, stamped = self.captured[side], (time.monotonic(), data)
        if len(kept) < 4096:
            kept.append(stamped)
        else:
            kept[self.rng.randrange(4096)] = stamped
        if self.is_race and begun:
            payload = data[HEADERS:]
            # Of the header's bits only, or of the payload's: so that the copy is taken for a damaged packet.
            first, last = SEALED, SEALED + 4 * (kind & 0xF)
            if self.kind == "race-payload":
                first, last = last + TAGS, len(payload)
            if first + 4 < last <= len(payload):
                self.send(side, frame(data, flipped(payload, 2, first, last, self.rng)))

    def drain(self):
        for side, raw in enumerate(self.sockets):
            for _ in range(256):
                try:
                    data, address = raw.recvfrom(1 << 16)
                except BlockingIOError:
                    break
                if address[2] != socket.PACKET_OUTGOING:
                    self.hear(side, data)

    def strike(self):
        """One datagram of the attack, to one of the two gateways in turn."""
        rng = self.rng
        self.next ^= 1
        side = self.next
        if self.kind == "handshakes":
            kept = self.handshakes[side] or self.handshakes[1 - side]
            if not kept:
                return
            data = rng.choice(kept)
            payload = data[HEADERS:]
            if rng.random() < 0.5:
                payload = payload[:4] + rng.randbytes(len(payload) - 4)
            if not self.handshakes[side]:
                # Against the gateway that sends initiations and gets none: to its own address.
                data = self.captured[side][0][1] if self.captured[side] else data
            source = rng.randbytes(4) if rng.random() < 0.25 else None
            if source and (source[0] in (0, 127) or source[0] >= 224):
                source = None
            return self.send(side, frame(data, payload, source, rng.randrange(1024, 65536)))
        if not self.captured[side]:
            return
        then, data = rng.choice(self.captured[side])
        payload = data[HEADERS:]
        if self.kind == "replay":
            # What is still on the link would come early, and be no replay.
            if time.monotonic() - then > OLD:
                self.send(side, frame(data, payload))
        elif self.kind == "early":
            self.send(side, frame(data, payload))
        elif self.kind == "flips":
            self.send(side, frame(data, flipped(payload, rng.randrange(1, 9), 0, len(payload), rng)))
        elif self.kind == "garbage":
            draw = rng.random()
            if draw < 0.5:
                payload = payload[: rng.randrange(len(payload))]
            elif draw < 0.75:
                # The right type and index, and nothing else that is right.
                payload = payload[:5] + rng.randbytes(rng.randrange(1400))
            else:
                payload = rng.randbytes(rng.randrange(1400))
            self.send(side, frame(data, payload))

    def run(self, rate):
        due = time.monotonic()
        while not ended:
            self.drain()
            if self.is_race or not begun or not any(self.captured):
                select.select(self.sockets, [], [], 0.05)
                due = time.monotonic()
                continue
            now = time.monotonic()
            if now < due:
                select.select(self.sockets, [], [], due - now)
                continue
            # In groups of 16; a program that is too slow for the rate is as fast as it can.
            due = max(due + 16 / rate, now - 0.1)
            for _ in range(16):
                self.strike()


begun = ended = False


def begin(*_):
    global begun
    begun = True


def end(*_):
    global ended
    ended = True


if __name__ == "__main__":
    _, kind, rate, out, *interfaces = sys.argv
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGTERM, end)
    attacker = Attacker(kind, interfaces)
    print("ready", flush=True)
    attacker.run(float(rate))
    lasted = time.monotonic() - (attacker.first_sent or time.monotonic())
    with open(out + ".part", "w") as file:
        json.dump({"sent": attacker.sent, "seconds": lasted}, file)
    os.rename(out + ".part", out)
