"""An attacker on the path between two gateways, for `reference/trunk/faults`.

    attacker.py KIND RATE OUT IFACE_A IFACE_B

Reads every UDP datagram that arrives at either interface and sends what it makes of them out at the other, at most RATE a
second, from SIGUSR1 until SIGTERM; then OUT gets the number sent, the seconds, and how many bytes were sent from the victim's
address and to it, as JSON. `ready` is printed when it listens.
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
# Offset in a datagram of the packet's number, and of the sealed TCP header behind it (docs/trunk-protocol.md, section 2).
NUMBER = 5
SEALED = 9
# Sequence and ACK number in that header.
NUMBERS = SEALED + 4, SEALED + 12
# The tags of payload and header, behind it.
TAGS = 32
# Whose address the attack pretends to have, and its port.
VICTIM = bytes((10, 79, 2, 99)), 9
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
    """With `bits` bits flipped between the bytes `first` and `last`."""
    payload = bytearray(payload)
    for bit in rng.sample(range(8 * first, 8 * last), bits):
        payload[bit // 8] ^= 1 << bit % 8
    return bytes(payload)


def noise(payload, ahead, rng):
    """Of the same session, with a number that is higher by `ahead`, and random bytes behind it."""
    number = struct.unpack_from("!I", payload, NUMBER)[0] + ahead & 0xFFFFFFFF
    return payload[:NUMBER] + struct.pack("!I", number) + rng.randbytes(len(payload) - SEALED)


class Attacker:
    def __init__(self, kind, interfaces):
        self.kind = kind
        # What it sends depends on what it hears at the moment.
        self.is_prompt = kind.startswith("race") or kind in ("noise", "repeat", "nothing")
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
        self.from_victim = self.to_victim = 0

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
        if data[ETH + 16 : ETH + IP] == VICTIM[0]:
            self.to_victim += len(data) - HEADERS
            return
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
        if self.is_prompt and begun:
            self.race(side, data, kind)

    def race(self, side, data, kind):
        """What arrives ahead of the datagram that was just heard."""
        payload, copies = data[HEADERS:], []
        header_end = SEALED + 4 * (kind & 0xF)
        # So that the copy is taken for a damaged packet: bits of the header only, or of the payload.
        if self.kind == "race" and SEALED + 20 <= header_end <= len(payload):
            copies = [flipped(payload, 2, SEALED, header_end, self.rng)]
        elif self.kind == "race-numbers" and SEALED + 20 <= header_end <= len(payload):
            copies = [flipped(payload, 32, *NUMBERS, self.rng)]
        elif self.kind in ("race-payload", "race-ahead") and header_end + TAGS + 4 < len(payload):
            copies = [flipped(payload, 2, header_end + TAGS, len(payload), self.rng)]
        if self.kind in ("race-ahead", "noise"):
            copies += [noise(payload, ahead, self.rng) for ahead in (1024, self.rng.randrange(1, 1024))]
        for copy in copies:
            self.send(side, frame(data, copy))
        if self.kind == "repeat":
            self.send(side, frame(data, payload, *VICTIM))
            self.from_victim += len(payload)

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
            if self.is_prompt or not begun or not any(self.captured):
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
        account = {"from_victim": attacker.from_victim, "to_victim": attacker.to_victim}
        json.dump({"sent": attacker.sent, "seconds": lasted} | account, file)
    os.rename(out + ".part", out)
