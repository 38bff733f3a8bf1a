"""Client - near gateway - error/delay box - far gateway - server, a network namespace each, for `reference/trunk/faults`."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HEADWAY = os.environ.get("HEADWAY", os.path.join(os.getcwd(), "target/release/headway"))
RATE = os.environ.get("RATE", "20mbit")
# One-way delay in ms. All is in RTTs, which are twice that.
DELAY = float(os.environ.get("DELAY", "50"))
RTT = 2 * DELAY / 1000
MB = 1_000_000
DATA = os.urandom(64 * MB)
# A trace of one transfer, or of a gateway, that takes longer than this has failed.
PATIENCE = 300
# Interface and address of both ends of each veth.
LINKS = [
    (("client", "eth0", "10.79.1.2/24"), ("near", "lan0", "10.79.1.1/24")),
    (("near", "wan0", "10.79.2.1/24"), ("box", "hwa", None)),
    (("box", "hwb", None), ("far", "wan0", "10.79.2.2/24")),
    (("far", "lan0", "10.79.3.1/24"), ("server", "eth0", "10.79.3.2/24")),
]
SERVER, PORT, PROXY = "10.79.3.2", 8000, "10.79.1.1"


class Fetch:
    """A transfer through both gateways."""

    def __init__(self, chain, size, name):
        self.out = os.path.join(chain.folder, name)
        self.size = size
        self.process = chain.start("client", sys.executable, f"{HERE}/ends.py", "fetch", PROXY, SERVER, PORT, size, self.out)

    def seen(self):
        try:
            with open(self.out) as file:
                return json.load(file)
        except FileNotFoundError:
            return {"bytes": 0, "ended": "", "arrivals": [], "begun": 0}

    def wait_for(self, size):
        until(lambda: self.seen()["bytes"] >= size or self.process.poll() is not None, f"{size} bytes")
        return time.monotonic()

    def wait(self, seconds=PATIENCE):
        """What was seen, when the transfer has ended or the time is over."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            # The newest account is half a second old at most.
            time.sleep(1)
            self.process.kill()
        return self.seen()

    def verdict(self):
        """Whether what arrived is what was sent, and all of it. A wrong byte is never only a remark: the script fails."""
        seen = self.seen()
        length = seen["bytes"]
        if length and seen["sha256"] != hashlib.sha256(memoryview(DATA)[:length]).hexdigest():
            Chain.wrong = True
            return "WRONG"
        return "all right" if length == self.size else f"right, the first {length / MB:.1f} MB"

    def stall(self, since):
        """The longest time without data after `since`."""
        times = [since] + [at for at in self.seen()["arrivals"] if at > since]
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)

    def resumed(self, since):
        """Seconds until the first data after `since`; None if there was none."""
        return next((at - since for at in self.seen()["arrivals"] if at > since), None)

    def goodput(self):
        """In Mbit/s."""
        seen = self.seen()
        return seen["bytes"] * 8e-6 / (seen["at"] - seen["begun"])


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {seconds} s")
        time.sleep(0.02)


class Chain:
    wrong = False

    def __init__(self, case, **link):
        self.folder = tempfile.mkdtemp(prefix="hw-faults-")
        self.prefix = f"hw-{os.getpid()}-{case}"
        self.processes, self.gateways, self.fetches, self.mounts = [], {}, 0, []
        # Of each gateway: environment, file of the log, additions to `[gateway]`.
        self.environment = {"near": {}, "far": {}}
        self.log_path = {end: f"{self.folder}/{end}.log" for end in ("near", "far")}
        self.more = {"near": "", "far": ""}
        try:
            self.lay(link)
        except BaseException:
            self.close()
            raise

    def lay(self, link):
        for host in ("client", "near", "box", "far", "server"):
            subprocess.run(["ip", "netns", "add", f"{self.prefix}-{host}"], check=True)
            self.run(host, "ip", "link", "set", "lo", "up")
            # Forged sources are the attacks' subject.
            self.run(host, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        for a, b in LINKS:
            self.run(a[0], "ip", "link", "add", a[1], "type", "veth", "peer", "name", b[1], "netns", f"{self.prefix}-{b[0]}")
            for host, name, address in (a, b):
                self.run(host, "sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1", check=False)
                self.run(host, "ip", "link", "set", name, "up")
                if address:
                    self.run(host, "ip", "addr", "add", address, "dev", name)
        self.link = {"rate": RATE, "delay": f"{DELAY}ms", "queue": "1bdp"} | link
        self.write_link()
        self.box = self.start("box", HEADWAY, "box", "hwa", "hwb", "--config", f"{self.folder}/link.toml")
        with open(f"{self.folder}/data", "wb") as file:
            file.write(DATA)
        self.start("server", sys.executable, f"{HERE}/ends.py", "serve", f"{self.folder}/data", PORT, f"{self.folder}/events")
        for end in ("near", "far"):
            public = self.run("near", HEADWAY, "trunk", "keygen", f"{self.folder}/{end}.key").strip()
            with open(f"{self.folder}/{end}.pub", "w") as file:
                file.write(public)

    def public(self, end):
        with open(f"{self.folder}/{end}.pub") as file:
            return file.read()

    def write_link(self):
        with open(f"{self.folder}/link.toml", "w") as file:
            file.writelines(f'{key} = "{value}"\n' for key, value in self.link.items())

    def change_link(self, **keys):
        """From now on the link is this; returns when."""
        self.link |= {key.replace("_", "-"): value for key, value in keys.items()}
        self.write_link()
        self.box.send_signal(signal.SIGHUP)
        return time.monotonic()

    def command(self, host, *words):
        return ["ip", "netns", "exec", f"{self.prefix}-{host}", *map(str, words)]

    def run(self, host, *words, check=True):
        return subprocess.run(self.command(host, *words), check=check, capture_output=True, text=True).stdout

    def start(self, host, *words, out=subprocess.DEVNULL, err=subprocess.DEVNULL, **environment):
        process = subprocess.Popen(
            self.command(host, *words), stdout=out, stderr=err, text=True, env=os.environ | environment
        )
        self.processes.append(process)
        return process

    def gateway(self, end):
        """Starts one; `ip netns exec` becomes the program, so its process id is the gateway's."""
        common = f"key-file = '{end}.key'\nstatus-socket = '{end}.sock'\n{self.more[end]}"
        if end == "near":
            text = (
                f"[gateway]\n{common}\n[[peer]]\nname = 'far'\npublic-key = '{self.public('far')}'\n"
                f"endpoint = '10.79.2.2:4433'\n[[socks]]\nlisten = '{PROXY}:1080'\n"
            )
        else:
            text = (
                f"[gateway]\n{common}listen = '0.0.0.0:4433'\n[[peer]]\nname = 'near'\n"
                f"public-key = '{self.public('near')}'\ndestinations = ['10.79.3.0/24']\n"
            )
        with open(f"{self.folder}/{end}.toml", "w") as file:
            file.write(text)
        with open(self.log_path[end], "a") as log:
            words = [HEADWAY, "trunk", "run", f"{self.folder}/{end}.toml"]
            self.gateways[end] = self.start(end, *words, err=log, **self.environment[end])
        return self.gateways[end]

    def open(self):
        """Both gateways, connected, the probes for checksums done."""
        self.gateway("far")
        self.gateway("near")
        until(lambda: self.peer("near").get("connected"), "a session")
        until(lambda: None not in [self.peer(end).get("passes_unchecked") for end in ("near", "far")], "an answer to the probes")
        return self

    def status(self, end):
        output = self.run(end, HEADWAY, "trunk", "status", f"{self.folder}/{end}.toml", "--json", check=False)
        return json.loads(output) if output.strip() else {}

    def peer(self, end):
        return (self.status(end).get("peers") or [{}])[0]

    def rss(self, end):
        """In KiB."""
        with open(f"/proc/{self.gateways[end].pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))

    def fetch(self, size):
        self.fetches += 1
        return Fetch(self, size, f"fetch{self.fetches}")

    def events(self):
        """How the server saw its connections end."""
        try:
            with open(f"{self.folder}/events") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def log(self, end):
        with open(self.log_path[end]) as file:
            return file.read().splitlines()

    def logged(self, marks):
        """What both gateways logged after the marks, once each and without times."""
        said = []
        for end in ("near", "far"):
            for line in self.log(end)[marks[end] :]:
                line = f"{end}: " + re.sub(r"^\S*Z\s+(\w+\s+)?([\w:]+: )?", "", line)
                if line not in said and not re.search("at UDP|are taken at|ends", line):
                    said.append(line)
        return "; ".join(said[:6]) + (f"; and {len(said) - 6} more" if len(said) > 6 else "") or "nothing"

    def marks(self):
        return {end: len(self.log(end)) for end in ("near", "far")}

    def drop(self, rule):
        """Both gateways' hosts drop what matches on arrival, before any socket, as if the link had; returns when."""
        for end in ("near", "far"):
            self.run(end, "nft", "add table inet faults; add chain inet faults in "
                     "{ type filter hook prerouting priority raw; }; add rule inet faults in iifname wan0 " + rule + " drop")
        return time.monotonic()

    def pass_all(self):
        for end in ("near", "far"):
            self.run(end, "nft", "delete table inet faults")
        return time.monotonic()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for path in self.mounts:
            subprocess.run(["umount", path], check=False)
        for host in ("client", "near", "box", "far", "server"):
            subprocess.run(["ip", "netns", "delete", f"{self.prefix}-{host}"], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
