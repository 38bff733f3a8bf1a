"""A client - near gateway - box - far gateway - server, a namespace each: what the measurements here are made across.

Needs root, iproute2 and a release build of headway (HEADWAY names another one)."""

import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

HEADWAY = os.environ.get(
    "HEADWAY", str(pathlib.Path(__file__).resolve().parents[2] / "target/release/headway")
)
SERVER, SOCKS = "10.79.3.2", "10.79.1.1:1080"
RATE, DELAY, QUEUE = "10mbit", "300ms", "1bdp"  # the one-way delay

# How packets and connections get across. The direct ways are named by the congestion control of the hosts. By any other
# way nothing does: what carries it is started between near and far.
WAYS = {
    "tun": "split",
    "tproxy": None,
    "socks": None,
    "packets": "packets",
    "cubic": None,
    "bbr": None,
}
DIRECT = ("cubic", "bbr")

ZONE = ["--hit-zone", "ip+tcp"]
CELLS = {
    "clean": ["--damage", "none"],
    "random": ["--damage", "random:5%", "--header-hit", "place", *ZONE],
    "burst-0": ["--damage", "burst:5%:5", "--header-hit", "0%", *ZONE],
    "burst-40": ["--damage", "burst:5%:5", "--header-hit", "40%", *ZONE],
    "burst-95": ["--damage", "burst:5%:5", "--header-hit", "95%", *ZONE],
    "silent": ["--damage", "none", "--loss", "1%"],
}


def end_on_signals():
    """At SIGINT and SIGTERM too all is removed, at once: threads that wait for programs are not waited for."""

    def end(number, _):
        for link in list(Chain.open):
            link.close()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


class Chain:
    """Five namespaces and what runs in them. `close` ends and removes all of it."""

    open = []
    HOSTS = ("client", "near", "box", "far", "server")
    # The hosts at both ends of each wire, their interfaces and addresses.
    WIRES = (
        ("client", "eth0", "10.79.1.2/24", "near", "lan0", "10.79.1.1/24"),
        ("near", "wan0", "10.79.2.1/24", "box", "hwa", None),
        ("box", "hwb", None, "far", "wan0", "10.79.2.2/24"),
        ("far", "lan0", "10.79.3.1/24", "server", "eth0", SERVER + "/24"),
    )

    def __init__(self, way, damage, seed, delay=DELAY, told=None):
        self.way = way
        # The rate that both gateways are told, if any.
        self.told = told
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hw-"))
        self.prefix = f"hw-{os.getpid()}-{way}" + ("-told" if told else "")
        self.running = []
        Chain.open.append(self)
        atexit.register(self.close)
        for host in self.HOSTS:
            subprocess.run(["ip", "netns", "add", self.name(host)], check=True)
            self.run(host, "ip", "link", "set", "lo", "up")
        for a, a_name, a_address, b, b_name, b_address in self.WIRES:
            peer = ["peer", "name", b_name, "netns", self.name(b)]
            self.run(a, "ip", "link", "add", a_name, "type", "veth", *peer)
            for host, interface, address in ((a, a_name, a_address), (b, b_name, b_address)):
                if address:
                    self.run(host, "ip", "addr", "add", address, "dev", interface)
                self.run(host, "ip", "link", "set", interface, "up")
        control = ["congctl", "bbr" if way == "bbr" else "cubic"]
        for host, router in (("client", "10.79.1.1"), ("server", "10.79.3.1")):
            self.run(host, "ip", "route", "add", "default", "via", router, *control)
            # Windows are never the limit.
            for key in ("tcp_rmem", "tcp_wmem"):
                self.run(host, "sysctl", "-qw", f"net.ipv4.{key}=4096 131072 33554432")
        for host in ("near", "far"):
            self.run(host, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        link = ["--rate", RATE, "--delay", delay, "--queue", QUEUE, "--seed", str(seed)]
        # Lines of JSON, the last of which may be incomplete.
        self.box_log = self.folder / "box"
        box = ["--json", "--interval", "100ms", "hwb", "hwa", *link, *damage]
        self.box = self.start("box", HEADWAY, "box", *box, stdout=open(self.box_log, "wb"))
        if way in DIRECT:
            self.run("near", "ip", "route", "add", "10.79.3.0/24", "via", "10.79.2.2")
            self.run("far", "ip", "route", "add", "10.79.1.0/24", "via", "10.79.2.1")
        elif way in WAYS:
            self.start_gateways()

    def name(self, host):
        return f"{self.prefix}-{host}"

    def words(self, host, *words):
        return ["ip", "netns", "exec", self.name(host), "nice", "-n", "-20", *map(str, words)]

    def run(self, host, *words, **options):
        options.setdefault("check", True)
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(self.words(host, *words), **options)

    def start(self, host, *words, **options):
        log = open(self.folder / f"log-{len(self.running)}-{pathlib.Path(str(words[0])).name}", "wb")
        options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **options}
        self.running.append(subprocess.Popen(self.words(host, *words), **options))
        return self.running[-1]

    def keygen(self, end):
        words = [HEADWAY, "trunk", "keygen", str(self.folder / f"{end}.key")]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    def start_gateways(self):
        keys = {end: self.keygen(end) for end in ("near", "far")}
        tcp = WAYS[self.way]

        def text(end, other, address, gateway, endpoint, ours, theirs):
            lines = [
                f'gateway = {{ key-file = "{end}.key", status-socket = "{end}.sock"{gateway} }}',
                f'[[peer]]\nname = "{other}"\npublic-key = "{keys[other]}"\n{endpoint}',
                f'destinations = ["{ours}"]',
            ]
            if self.told:
                lines.append(f'link-rate = "{self.told}"')
            if tcp:
                lines += [f'allowed-ips = ["{theirs}"]', f'[tun]\naddress = "{address}"\ntcp = "{tcp}"']
            return "\n".join(lines) + "\n"

        clients, servers = "10.79.1.0/24", "10.79.3.0/24"
        far = text("far", "near", "10.77.0.6/30", ', listen = "0.0.0.0:4433"', "", servers, clients)
        endpoint = 'endpoint = "10.79.2.2:4433"'
        near = text("near", "far", "10.77.0.2/30", "", endpoint, clients, servers)
        if self.way == "socks":
            near += f'[[socks]]\nlisten = "{SOCKS}"\n'
        if self.way == "tproxy":
            near += f'[[transparent]]\nlisten = "127.0.0.1:4444"\ninterfaces = ["lan0"]\nto = ["{servers}"]\n'
            # What is not TCP is routed past the gateway.
            self.run("near", "ip", "route", "add", servers, "via", "10.79.2.2")
            self.run("far", "ip", "route", "add", clients, "via", "10.79.2.1")
        for end, config in (("far", far), ("near", near)):
            (self.folder / f"{end}.toml").write_text(config)
            self.start(end, HEADWAY, "trunk", "run", self.folder / f"{end}.toml")

    def counters(self, end=False):
        """What the box has counted by each tenth of a second so far; at its end, which this makes, its lateness overall."""
        if end:
            self.box.terminate()
            self.box.wait()
        lines = self.box_log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines[1:] if line.endswith("\n")]

    def cpu(self):
        """CPU seconds of the programs at near and far."""
        ticks = 0
        for host in ("near", "far"):
            pids = ["ip", "netns", "pids", self.name(host)]
            for pid in subprocess.run(pids, check=True, capture_output=True, text=True).stdout.split():
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def status(self):
        words = [HEADWAY, "trunk", "status", str(self.folder / "near.toml"), "--json"]
        output = subprocess.run(words, capture_output=True, check=False).stdout
        return json.loads(output)["peers"][0] if output else {}

    def wait_for_session(self):
        """Until the gateways are connected, and know whether datagrams without checksum pass."""
        if self.way in DIRECT or self.way not in WAYS:
            return
        end = time.monotonic() + 30
        while not self.status().get("connected"):
            if time.monotonic() > end:
                logs = [path.read_text() for path in sorted(self.folder.glob("log-*-headway"))[1:]]
                raise RuntimeError(f"{self.way}: the gateways did not connect in 30 s:\n" + "".join(logs))
            time.sleep(0.2)
        time.sleep(6)

    def close(self):
        if self not in Chain.open:
            return
        Chain.open.remove(self)
        atexit.unregister(self.close)
        for host in reversed(self.HOSTS):
            words = ["ip", "netns", "pids", self.name(host)]
            pids = subprocess.run(words, check=False, capture_output=True, text=True).stdout
            for pid in pids.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self.running:
            process.wait()
        for host in self.HOSTS:
            subprocess.run(["ip", "netns", "delete", self.name(host)], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


def row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
