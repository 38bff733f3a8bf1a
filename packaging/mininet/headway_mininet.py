"""Mininet links through ``headway box``.

    from headway_mininet import BoxLink

    net.addLink(h1, h2, cls=BoxLink, rate="10mbit", delay="150ms", damage="burst:5%:5")

The keyword arguments are the options of ``headway box`` (``headway box --help``), with ``_`` in place of ``-``: ``jitter_distribution="pareto"``,
``pcap="link.pcapng"``, ``realtime=True``. As there, the forward path is from the first node to the second, and what is not given
has the box's default, which damages packets: ``damage="none"`` for a link that does not. It works between any two nodes,
hosts, switches and routers, and needs nothing but Mininet, root and the command ``headway``.

Licence: MIT OR Apache-2.0.
"""

import json
import os
import signal
import subprocess
import threading
from itertools import count

from mininet.link import Intf, Link
from mininet.node import Node

__all__ = ["BoxError", "BoxLink"]

_numbers = count(1)


class BoxError(RuntimeError):
    """The box does not start, or ended by itself."""


def box_arguments(options):
    """The options of ``headway box`` as words of its command line.

    ``True`` gives an option without a value; ``None`` and ``False`` leave one out.
    """
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        # With `=` a value may begin with a dash.
        words.append(option if value is True else "%s=%s" % (option, value))
    return words


class BoxLink(Link):
    """Two nodes with ``headway box`` between them, in a network namespace of its own.

    ``headway`` is the command (default: the environment variable ``HEADWAY``, or ``headway`` in the path); ``ready_timeout`` is in
    seconds. ``addr1``, ``addr2``, ``intfName1`` and so on are those of Mininet's ``Link``; all others are options of the box.

    ``counters`` is the newest line of the box (see "Output" in docs/box.md) as a dictionary, from ``stop`` on its last one,
    with the totals. ``messages`` is what it said on standard error.
    """

    def __init__(self, node1, node2, port1=None, port2=None, intfName1=None, intfName2=None,
                 addr1=None, addr2=None, intf=Intf, cls1=None, cls2=None, params1=None,
                 params2=None, headway=None, ready_timeout=10.0, **options):
        # pylint: disable=super-init-not-called
        self.counters = {}
        self.messages = ""
        self._process = None
        self._links = []
        self._node = Node("hwbox%d" % next(_numbers))
        try:
            self._connect(node1, 0, port1, intfName1, addr1, cls1 or intf, params1)
            self._connect(node2, 1, port2, intfName2, addr2, cls2 or intf, params2)
            self.intf1, self.intf2 = (link.intf1 for link in self._links)
            self.intf1.link = self.intf2.link = self
            self._start(headway or os.environ.get("HEADWAY", "headway"), ready_timeout, options)
        except BaseException:
            self._end()
            for link in self._links:
                link.delete()
            self._node.terminate()
            raise

    def _connect(self, node, end, port, name, address, intf, params):
        """A plain link from a node to the box, whose own end has no address."""
        # Mininet wants addresses of both ends or of none; the box takes frames for every address.
        own = address and "02:" + ":".join("%02x" % byte for byte in os.urandom(5))
        inner = Link(node, self._node, port1=port, port2=end, intfName1=name, addr1=address, addr2=own,
                     intfName2="%s-%d" % (self._node.name, end), cls1=intf, params1=params)
        self._links.append(inner)
        self._node.cmd("ip link set", inner.intf2.name, "addrgenmode none up")

    def _start(self, headway, ready_timeout, options):
        ends = [link.intf2.name for link in self._links]
        words = [headway, "box", *ends, "--json", *box_arguments(options)]
        try:
            # `mnexec` gives it a session of its own; with one from here it would fork and leave.
            self._process = self._node.popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                universal_newlines=True)
        except OSError as error:
            raise BoxError("%s: %s; expected the command headway" % (headway, error)) from error
        self._ready = threading.Event()
        self._readers = [threading.Thread(target=read, daemon=True)
                         for read in (self._read_counters, self._read_messages)]
        for reader in self._readers:
            reader.start()
        self._ready.wait(ready_timeout)
        if not self.counters.get("ready"):
            self._end()
            what = self.messages.strip() or "not ready after %s s" % ready_timeout
            raise BoxError("%s: %s" % (" ".join(words), what))

    def _read_counters(self):
        for line in self._process.stdout:
            try:
                self.counters = json.loads(line)
            except ValueError:
                continue
            self._ready.set()
        # It ended, perhaps before it was ready.
        self._ready.set()

    def _read_messages(self):
        for line in self._process.stderr:
            self.messages += line

    def _end(self):
        """Ends the box, which then writes its totals."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()
        self._process.stdout.close()
        self._process.stderr.close()

    def is_running(self):
        """Whether packets pass."""
        return self._process is not None and self._process.poll() is None

    def delete(self):
        """Ends the box and deletes the interfaces."""
        self._end()
        for link in self._links:
            link.delete()
        self._links = []
        self.intf1 = self.intf2 = None
        self._node.terminate()

    def stop(self):
        """What Mininet calls at its end."""
        if self._links:
            self.delete()

    def status(self):
        """As Mininet's: ``(OK OK)``, or why not."""
        return super().status() if self.is_running() else "(the box ended: %s)" % self.messages.strip()
