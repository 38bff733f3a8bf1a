"""Sends forged special ACKs and malformed options in the name of a host.

    forger.py blind ADDRESS PORT PEER PEERS-PORT PACKETS    one who sees no packet of the connection
    forger.py lying ADDRESS PEER PEERS-PORT                 one who sees all: each ACK is followed by reports of what is
                                                            outstanding, until the connection ends
    forger.py reporting PEERS-PORT                          each ACK of version 2, over IPv4 and IPv6, is followed by a special
                                                            ACK with a report on blocks, until the connection ends
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


def crc(data):
    """The CRC-32C."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def reporting(other_port):
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("eth0", 3))
    print("ready", flush=True)
    report = b"\xaa" * 92
    while True:
        frame, (_, protocol, direction, _, _) = wire.recvfrom(2048)
        at = 34 if protocol == 0x0800 else 54
        if protocol not in (0x0800, 0x86DD) or direction != socket.PACKET_OUTGOING or len(frame) < at + 42:
            continue
        ip, tcp = bytearray(frame[14:at]), frame[at:]
        if struct.unpack("!H", tcp[2:4])[0] != int(other_port) or tcp[13] & 2:
            continue
        if tcp[13] & 5:
            return
        # An ACK with timestamps, then the option.
        if tcp[32:36] != b"\xfd\x0a\x48\x57":
            continue
        option = b"\xfd\x0e\x48\x57" + bytes(4) + bytes(4) + tcp[40:42]
        head = tcp[:12] + b"\xc0" + tcp[13:16] + bytes(2) + tcp[18:32] + option + b"\1\1"
        length = len(head) + len(report)
        if at == 34:
            ip[2:4] = struct.pack("!H", 20 + length)
            ip[10:12] = bytes(2)
            ip[10:12] = struct.pack("!H", checksum(ip))
            pseudo = bytes(ip[12:20]) + struct.pack("!HH", 6, length)
        else:
            ip[4:6] = struct.pack("!H", length)
            pseudo = bytes(ip[8:40]) + struct.pack("!II", length, 6)
        head = head[:36] + struct.pack("!I", crc(pseudo + head)) + head[40:]
        head = head[:16] + struct.pack("!H", checksum(pseudo + head + report)) + head[18:]
        wire.send(frame[:14] + ip + head + report)


{"blind": blind, "lying": lying, "reporting": reporting}[sys.argv[1]](*sys.argv[2:])
