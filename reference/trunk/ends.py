"""The two ends of a transfer through gateways, for `reference/trunk/faults`.

    ends.py serve FILE PORT EVENTS          answers a line "N" with the first N bytes of FILE, and writes how it ended
    ends.py fetch PROXY TO PORT SIZE OUT    fetches SIZE bytes through a SOCKS5 proxy; OUT gets what was seen, as JSON
    ends.py crowd PROXY TO PORT N SECONDS   holds N connections through the proxy, and prints how many it got

Times are those of CLOCK_MONOTONIC, which all namespaces of a machine share.
"""

import hashlib
import json
import os
import socket
import struct
import sys
import threading
import time


def serve(path, port, events):
    with open(path, "rb") as file:
        data = file.read()
    log = open(events, "a", buffering=1)

    def answer(connection):
        ended = "whole"
        try:
            size = int(connection.makefile("rb").readline())
            connection.sendall(memoryview(data)[:size])
            connection.shutdown(socket.SHUT_WR)
            if connection.recv(1):
                ended = "unexpected data"
        except (OSError, ValueError) as error:
            ended = type(error).__name__
        log.write(json.dumps({"at": time.monotonic(), "ended": ended}) + "\n")
        connection.close()

    listener = socket.create_server(("0.0.0.0", port), backlog=128)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def connect(proxy, to, port):
    """A connection through the SOCKS5 server, or the error that its reply says."""
    connection = socket.create_connection((proxy, 1080), timeout=30)
    connection.settimeout(700)
    connection.sendall(b"\x05\x01\x00")
    if connection.recv(2, socket.MSG_WAITALL) != b"\x05\x00":
        raise OSError("no SOCKS5 server")
    connection.sendall(b"\x05\x01\x00\x01" + socket.inet_aton(to) + struct.pack("!H", port))
    reply = connection.recv(10, socket.MSG_WAITALL)
    if len(reply) < 10 or reply[1]:
        raise OSError(f"SOCKS reply {reply[1] if len(reply) > 1 else 'none'}")
    return connection


def fetch(proxy, to, port, size, out):
    begun = time.monotonic()
    digest, length, arrivals, ended = hashlib.sha256(), 0, [], "whole"

    def say(end):
        seen = {"begun": begun, "ended": end, "at": time.monotonic(), "bytes": length, "sha256": digest.hexdigest()}
        with open(out + ".part", "w") as file:
            json.dump(seen | {"arrivals": arrivals}, file)
        os.rename(out + ".part", out)

    try:
        connection = connect(proxy, to, port)
        connection.sendall(b"%d\n" % size)
        written = 0.0
        while data := connection.recv(1 << 16):
            now = time.monotonic()
            digest.update(data)
            length += len(data)
            if not arrivals or now - arrivals[-1] > 0.001:
                arrivals.append(now)
            if now - written > 0.5:
                written = now
                say("")
        if length != size:
            ended = "end of the stream"
    except OSError as error:
        ended = str(error) if type(error) is OSError else type(error).__name__
    say(ended)


def crowd(proxy, to, port, number, seconds):
    held, lock = [], threading.Lock()

    def one():
        try:
            connection = connect(proxy, to, port)
        except OSError:
            return
        with lock:
            held.append(connection)

    for _ in range(number):
        threading.Thread(target=one, daemon=True).start()
    time.sleep(seconds)
    with lock:
        print(len(held), flush=True)
    os._exit(0)


if __name__ == "__main__":
    _, what, *rest = sys.argv
    if what == "serve":
        serve(rest[0], int(rest[1]), rest[2])
    elif what == "crowd":
        crowd(rest[0], rest[1], int(rest[2]), int(rest[3]), float(rest[4]))
    else:
        fetch(rest[0], rest[1], int(rest[2]), int(rest[3]), rest[4])
