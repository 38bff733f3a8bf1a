#!/usr/bin/env python3
"""Records a transfer between two Linux hosts over a path that this program makes.

Two network namespaces have a TUN device each; packets go from one to the other through this program,
which delays, drops, doubles and reorders them. With --veth they have a pair of veth devices instead,
and iptables drops. Needs root, ip, tcpdump, /dev/net/tun or ethtool and iptables. See README.md for the
words that made each capture.
"""

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

CLIENT, SERVER = f"hw-{os.getpid()}-a", f"hw-{os.getpid()}-b"
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LIBC = ctypes.CDLL(None, use_errno=True)

SERVE = """
import socket, time
listener = socket.socket(socket.{family}, socket.SOCK_STREAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if {slow}: listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"{control}")
listener.bind(("{host}", 5001))
listener.listen(5)
for _ in range({connections}):
    peer, _ = listener.accept()
    if {slow}: time.sleep(1.5)
    count = 0
    while data := peer.recv(65536): count += len(data)
    peer.sendall(b"%d\\n" % count)
    peer.close()
"""

SEND = """
import socket
for _ in range({connections}):
    sender = socket.socket(socket.{family}, socket.SOCK_STREAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"{control}")
    if {connections} > 1: sender.bind(("10.77.0.1", 40000))
    sender.connect(("{host}", 5001))
    sender.sendall(b"x" * {size})
    sender.shutdown(socket.SHUT_WR)
    sender.recv(100)
    # Without lingering, so that the same ports can be used again at once.
    if {connections} > 1: sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
    sender.close()
"""


def shell(command, check=True):
    subprocess.run(command, shell=True, check=check, stdout=subprocess.DEVNULL)


def enter(descriptor):
    if LIBC.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def open_tun(namespace):
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    enter(there)
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    enter(home)
    os.close(there)
    os.close(home)
    return device


def set_up(namespace, number, words):
    device = "veth0" if words.veth else "tun0"
    commands = [
        f"ip -n {namespace} addr add 10.77.0.{number}/24 dev {device}",
        f"ip -n {namespace} addr add fd77::{number}/64 dev {device} nodad",
        f"ip -n {namespace} link set {device} up",
        f"ip -n {namespace} link set lo up",
        f"ip netns exec {namespace} sysctl -qw net.ipv4.tcp_sack={int(not words.no_sack)}",
    ]
    if words.veth == "plain":
        commands.append(f"ip netns exec {namespace} ethtool -K {device} tso off gso off gro off tx off rx off")
    if words.veth and namespace == SERVER:
        drop = f"-A INPUT -p tcp -m statistic --mode random --probability {words.loss} -j DROP"
        commands += [f"ip netns exec {namespace} {tables} {drop}" for tables in ("iptables", "ip6tables")]
    for command in commands:
        shell(command)


def carry(devices, words, client):
    """Carries packets until the client has been gone for a second."""
    chance = random.Random(words.seed)
    waiting, count, free, end = [], 0, [0.0, 0.0], None
    while end is None or time.monotonic() < end:
        if end is None and client.poll() is not None:
            end = time.monotonic() + 1.0
        wait = waiting[0][0] - time.monotonic() if waiting else 0.1
        readable, _, _ = select.select(devices, [], [], max(0.0, min(wait, 0.1)))
        now = time.monotonic()
        for device in readable:
            side = devices.index(device)
            packet = os.read(device, 65536)
            if packet[0] >> 4 == 6 and packet[6] != 6:
                continue
            if chance.random() < (words.loss if side == 0 else words.ack_loss):
                continue
            start = max(now, free[side])
            if (start - now) * words.rate / 8 / 1500 > words.queue:
                continue
            free[side] = start + len(packet) * 8 / words.rate
            at = free[side] + words.delay
            if side == 0 and chance.random() < words.reorder:
                at += 0.008
            copies = 2 if chance.random() < words.duplicate else 1
            for copy in range(copies):
                count += 1
                heapq.heappush(waiting, (at + 0.0005 * copy, count, 1 - side, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, side, packet = heapq.heappop(waiting)
            os.write(devices[side], packet)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture")
    parser.add_argument("--control", default="cubic", help="congestion control of both hosts, by name")
    parser.add_argument("--size", type=int, default=120_000, help="bytes to send")
    parser.add_argument("--connections", type=int, default=1, help="one after the other, between the same ports")
    parser.add_argument("--delay", type=float, default=0.02, help="one-way delay in seconds")
    parser.add_argument("--rate", type=float, default=10e6, help="bit/s")
    parser.add_argument("--queue", type=int, default=30, help="packets")
    parser.add_argument("--loss", type=float, default=0.0)
    parser.add_argument("--ack-loss", type=float, default=0.0)
    parser.add_argument("--reorder", type=float, default=0.0)
    parser.add_argument("--duplicate", type=float, default=0.0)
    parser.add_argument("--slow", action="store_true", help="the receiver has little room and begins late")
    parser.add_argument("--no-sack", action="store_true")
    parser.add_argument("--ipv6", action="store_true")
    parser.add_argument("--at", choices=["sender", "receiver"], default="sender", help="host at which to capture")
    parser.add_argument("--veth", choices=["plain", "offload"], help="with or without offloads")
    parser.add_argument("--interface", help="interface of tcpdump")
    parser.add_argument("--link", help="link type, for the interface 'any'")
    parser.add_argument("--snap", type=int, default=100, help="bytes to keep of each packet, 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    values = {
        "family": "AF_INET6" if words.ipv6 else "AF_INET",
        "host": "fd77::2" if words.ipv6 else "10.77.0.2",
        "control": words.control,
        "connections": words.connections,
        "size": words.size,
        "slow": words.slow,
    }
    try:
        shell(f"ip netns add {CLIENT}")
        shell(f"ip netns add {SERVER}")
        if words.veth:
            shell(f"ip link add veth0 netns {CLIENT} type veth peer name veth0 netns {SERVER}")
        else:
            devices = [open_tun(CLIENT), open_tun(SERVER)]
        set_up(CLIENT, 1, words)
        set_up(SERVER, 2, words)
        place = CLIENT if words.at == "sender" else SERVER
        interface = words.interface or ("veth0" if words.veth else "tun0")
        dump = ["tcpdump", "-i", interface, "-w", words.capture, "-s", str(words.snap), "-U"]
        dump += (["-y", words.link] if words.link else []) + ["tcp", "port", "5001"]
        dump = subprocess.Popen(["ip", "netns", "exec", place] + dump, stderr=subprocess.DEVNULL)
        time.sleep(1)
        run = lambda place, program: subprocess.Popen(
            ["ip", "netns", "exec", place, sys.executable, "-c", program.format(**values)]
        )
        server = run(SERVER, SERVE)
        time.sleep(0.5)
        client = run(CLIENT, SEND)
        if words.veth:
            client.wait(30)
        else:
            carry(devices, words, client)
        server.wait(5)
        # tcpdump receives packets in blocks with a delay of up to one second.
        time.sleep(1.5)
        dump.send_signal(signal.SIGINT)
        dump.wait(5)
    finally:
        shell(f"ip netns del {CLIENT}", check=False)
        shell(f"ip netns del {SERVER}", check=False)


main()
