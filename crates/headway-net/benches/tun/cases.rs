//! The measured cases.

use std::path::Path;
use std::process::Command;

use headway_test_fixture::namespace::Namespace;

use crate::Error;
use crate::namespace::{self, Running, join_by_veth, start, start_self};
use crate::sample::Sample;

/// One line of the table.
pub(crate) struct Case {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    kind: Kind,
}

enum Kind {
    /// A stack on a TUN with the kernel as its peer; the arguments of the subject.
    Tun(&'static [&'static str]),
    /// Two stacks, each on a TUN, with the kernel forwarding between them.
    Pair(&'static str),
    /// The kernel at both ends of a veth pair, one packet for each segment.
    Veth,
    /// smoltcp on a TAP, the kernel at the other end.
    Smoltcp(&'static str),
}

pub(crate) const ALL: [Case; 9] = [
    Case { key: "send", title: "headway sends, TUN", kind: Kind::Tun(&["tun", "send"]) },
    Case { key: "receive", title: "headway receives, TUN", kind: Kind::Tun(&["tun", "receive"]) },
    Case {
        key: "send-offload",
        title: "headway sends, TUN with offload",
        kind: Kind::Tun(&["tun-offload", "send"]),
    },
    Case {
        key: "receive-offload",
        title: "headway receives, TUN with offload",
        kind: Kind::Tun(&["tun-offload", "receive"]),
    },
    Case { key: "pair", title: "headway to headway, two TUNs, without HACK", kind: Kind::Pair("modern") },
    Case { key: "pair-hack", title: "headway to headway, two TUNs, HACK v2", kind: Kind::Pair("headway") },
    Case { key: "kernel", title: "the kernel over veth, one packet per segment", kind: Kind::Veth },
    Case { key: "smoltcp-send", title: "smoltcp sends, TAP", kind: Kind::Smoltcp("send") },
    Case { key: "smoltcp-receive", title: "smoltcp receives, TAP", kind: Kind::Smoltcp("receive") },
];

/// The kernel's address, and its port.
const TUN_PEER: &str = "10.77.2.1:9000";
const VETH_PEER: &str = "10.77.4.2:9000";

impl Case {
    pub(crate) fn is_smoltcp(&self) -> bool {
        matches!(self.kind, Kind::Smoltcp(_))
    }

    /// Runs one measurement.
    pub(crate) fn run(&self, seconds: f64) -> Result<Sample, Error> {
        let (_places, subject) = self.start(seconds)?;
        subject.sample()
    }

    /// Starts the subject and its environment.
    pub(crate) fn start(&self, seconds: f64) -> Result<(Vec<Place>, Running), Error> {
        let time = seconds.to_string();
        let here = namespace::new()?;
        match self.kind {
            Kind::Tun(words) => {
                let peer = start_self(&here, &["peer", TUN_PEER])?;
                let words = [&["subject"], words, &[TUN_PEER, &time]].concat();
                let subject = start_self(&here, &words)?;
                Ok((vec![Place::Peer(peer), Place::Namespace(here)], subject))
            }
            Kind::Pair(variant) => {
                here.run("sysctl", &["-qw", "net.ipv4.ip_forward=1"]);
                let subject = start_self(&here, &["subject", "pair", variant, "-", &time])?;
                Ok((vec![Place::Namespace(here)], subject))
            }
            Kind::Veth => {
                let there = namespace::new()?;
                join_by_veth([(&here, "10.77.4.1/24"), (&there, "10.77.4.2/24")]);
                let peer = start_self(&there, &["peer", VETH_PEER])?;
                let subject = start_self(&here, &["subject", "kernel", "send", VETH_PEER, &time])?;
                Ok((vec![Place::Peer(peer), Place::Namespace(here), Place::Namespace(there)], subject))
            }
            Kind::Smoltcp(direction) => {
                let program = build_smoltcp()?;
                let peer = start_self(&here, &["peer", TUN_PEER])?;
                let subject = start(&here, &program, &[direction, TUN_PEER, &time])?;
                Ok((vec![Place::Peer(peer), Place::Namespace(here)], subject))
            }
        }
    }
}

/// The environment of a running subject.
#[expect(dead_code, reason = "held until they are dropped")]
pub(crate) enum Place {
    Peer(Running),
    Namespace(Namespace),
}

/// Builds the driver around smoltcp, which is outside of this workspace, and returns its path.
fn build_smoltcp() -> Result<String, Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/smoltcp");
    let target = folder.join("target");
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    if !status.success() {
        return Err(format!("{}: cargo could not build it", folder.display()).into());
    }
    Ok(target.join("release/headway-smoltcp").to_string_lossy().into_owned())
}
