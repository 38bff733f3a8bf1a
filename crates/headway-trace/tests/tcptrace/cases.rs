//! The captures that are compared.

use std::path::PathBuf;

/// A comparison of a capture with tcptrace.
#[derive(Debug)]
pub(crate) struct Case {
    /// The capture in `tests/data`.
    pub(crate) capture: &'static str,
    /// The interface, if there are several.
    pub(crate) interface: Option<&'static str>,
    /// tcptrace must ignore damaged packets.
    pub(crate) is_damaged: bool,
    /// Which of several connections between the same ends: tcptrace cannot separate them and gets one at
    /// a time.
    pub(crate) part: Option<usize>,
}

const fn linux(capture: &'static str) -> Case {
    Case { capture, interface: None, is_damaged: false, part: None }
}

const fn part(capture: &'static str, part: usize) -> Case {
    Case { part: Some(part), ..linux(capture) }
}

const fn simulated(capture: &'static str, interface: &'static str) -> Case {
    Case { capture, interface: Some(interface), is_damaged: true, part: None }
}

/// Every comparison.
pub(crate) const CASES: &[Case] = &[
    linux("linux-reno-loss.pcap"),
    linux("linux-reno-nosack-ipv6.pcap"),
    linux("linux-reno-veth.pcap"),
    linux("linux-cubic-reorder.pcap"),
    linux("linux-cubic-receiver.pcap"),
    linux("linux-cubic-zero-window.pcap"),
    linux("linux-cubic-sll.pcap"),
    linux("linux-cubic-sll2.pcap"),
    linux("linux-cubic-veth-gso.pcap"),
    linux("linux-cubic-veth-offload.pcap"),
    part("linux-cubic-reuse.pcap", 0),
    part("linux-cubic-reuse.pcap", 1),
    part("linux-cubic-reuse.pcap", 2),
    simulated("sim-sack.pcapng", "sender"),
    simulated("sim-sack.pcapng", "receiver"),
    simulated("sim-hack+sack.pcapng", "sender"),
    simulated("sim-hack+sack.pcapng", "receiver"),
    simulated("sim-xhack+sack.pcapng", "sender"),
    simulated("sim-xhack+sack.pcapng", "receiver"),
];

/// A number that tcptrace computes wrongly.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) capture: &'static str,
    pub(crate) part: Option<usize>,
    /// Of which direction, 0 or 1.
    pub(crate) side: usize,
    pub(crate) row: &'static str,
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
    /// Why.
    #[allow(dead_code, reason = "printed when a comparison fails")]
    pub(crate) why: &'static str,
}

/// Every number that tcptrace computes wrongly, except duplicate ACKs, whose difference follows a rule.
pub(crate) const ERRORS: &[Error] = &[
    // The last connection of linux-cubic-reuse.pcap ends with a RST.
    Error {
        capture: "linux-cubic-reuse.pcap",
        part: Some(2),
        side: 0,
        row: "ttl stream length",
        ours: 20_000.0,
        theirs: 20_001.0,
        why: "the RST is after the FIN, which is counted as data",
    },
    Error {
        capture: "linux-cubic-reuse.pcap",
        part: Some(2),
        side: 0,
        row: "missed data",
        ours: 0.0,
        theirs: 1.0,
        why: "the RST is after the FIN, which is counted as data",
    },
    Error {
        capture: "linux-cubic-reuse.pcap",
        part: Some(2),
        side: 0,
        row: "avg win adv",
        ours: 65_536.0,
        theirs: 58_254.0,
        why: "the sum leaves the RST out, the number of packets that it is divided by does not",
    },
];

impl Case {
    /// The capture.
    pub(crate) fn path(&self) -> PathBuf {
        data().join(self.capture)
    }

    /// The recorded output of tcptrace.
    pub(crate) fn expected(&self) -> PathBuf {
        let stem = self.capture.split('.').next().unwrap_or_default();
        let interface = self.interface.map(|name| format!("-{name}")).unwrap_or_default();
        let part = self.part.map(|part| format!("-{part}")).unwrap_or_default();
        data().join(format!("{stem}{interface}{part}.tcptrace"))
    }
}

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}
