"""Tests of headway_mininet: root, Mininet and the command of the environment variable HEADWAY."""

import os
import subprocess
import unittest

from mininet.net import Mininet

from headway_mininet import BoxError, BoxLink, box_arguments


def interfaces():
    """Names of the interfaces in the root namespace."""
    return sorted(os.listdir("/sys/class/net"))


class BoxLinkTest(unittest.TestCase):
    def setUp(self):
        self.before = interfaces()
        self.net = Mininet(controller=None, waitConnected=False)
        self.left, self.right = self.net.addHost("h1"), self.net.addHost("h2")

    def tearDown(self):
        self.net.stop()
        self.assertEqual(interfaces(), self.before)

    def link(self, **options):
        link = self.net.addLink(self.left, self.right, cls=BoxLink, **options)
        self.net.start()
        return link

    def ping(self, *words):
        return self.left.cmd("ping", *words, self.right.IP())

    def test_packets_take_the_delay(self):
        link = self.link(delay="30ms", damage="none", jitter="5ms", jitter_distribution="uniform:ordered")
        self.assertEqual(link.status(), "(OK OK)")
        says = self.ping("-c", 4, "-i", 0.2)
        self.assertIn(" 0% packet loss", says)
        least = float(says.split("min/avg/max/mdev = ")[1].split("/")[0])
        # 30 ms each way, less 5 ms of jitter at most; the clocks of ping and box may differ a little.
        self.assertGreater(least, 49.0, says)
        link.stop()
        self.assertFalse(link.is_running())
        self.assertIs(link.counters.get("end"), True, link.messages)
        for path in ("forward", "reverse"):
            self.assertGreaterEqual(link.counters[path]["delivered"], 4, link.counters)

    def test_the_box_loses_what_it_is_told_to(self):
        link = self.link(delay="1ms", damage="none", loss="100%", reverse_loss="0%")
        self.assertIn("100% packet loss", self.ping("-c", 2, "-W", 1))
        link.stop()
        self.assertGreaterEqual(link.counters["forward"]["lost"], 2, link.counters)

    def test_damaged_segments_are_retransmitted(self):
        link = self.link(rate="20mbit", delay="5ms", damage="random:3%", header_hit="0%", seed=7)
        headway = os.environ["HEADWAY"]
        server = self.right.popen([headway, "perf", "server", "--kernel", "--one-off"], stderr=subprocess.PIPE,
                                  universal_newlines=True)
        self.assertIn("waiting", server.stderr.readline())
        says = self.left.cmd(headway, "perf client", self.right.IP(), "--kernel -n 1M --json")
        self.assertIn('"bytes": 1048576', says)
        server.wait()
        server.stderr.close()
        link.stop()
        self.assertGreater(link.counters["forward"]["hit"], 0, link.counters)

    def test_wrong_options_say_what_was_expected(self):
        for options, part in [({"dealy": "1ms"}, "--dealy"), ({"rate": "fast"}, "--rate fast: expected"),
                              ({"headway": "/no/such/program"}, "/no/such/program")]:
            with self.assertRaises(BoxError) as raised:
                BoxLink(self.left, self.right, **options)
            self.assertIn(part, str(raised.exception))
        # What failed has left nothing behind.
        self.assertEqual([name for name in self.left.cmd("ls /sys/class/net").split() if name != "lo"], [])


class ArgumentsTest(unittest.TestCase):
    def test_options_become_words(self):
        options = {"jitter_distribution": "pareto:25%", "realtime": True, "seed": 3, "pcap": None, "mark": False}
        words = ["--jitter-distribution=pareto:25%", "--realtime", "--seed=3"]
        self.assertEqual(box_arguments(options), words)


if __name__ == "__main__":
    unittest.main()
