//! Hosts whose checksums are computed by the network card, after the packets are captured.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::packet::{Seen, SumState, examine};
use crate::reader::Packet;

/// This many wrong checksums without a valid one indicate offload, not damage.
const MOST_IN_A_ROW: u64 = 8;
/// The maximum number of hosts tracked; wrong checksums of further hosts count as damage.
const MAX_HOSTS: usize = 1 << 16;

/// A first pass over a capture: finds the hosts whose checksums were not yet computed when their packets
/// were captured. Without it, all packets of such a host would count as damaged.
///
/// Most systems leave a recognisable value in the checksum field. This detects the others: hosts with at
/// least eight wrong checksums and no valid one on an interface, and without a packet whose header
/// checksum (TCP HACK) is valid.
#[derive(Clone, Debug, Default)]
pub struct Offload {
    hosts: BTreeMap<(usize, IpAddr), Sums>,
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    wrong: u64,
    is_judged: bool,
}

impl Offload {
    /// A detector without packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the next packet.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        let Seen::Tcp(tcp) = examine(packet, &mut self.scratch) else { return };
        let host = (packet.interface, tcp.segment.ip.src);
        if self.hosts.len() == MAX_HOSTS && !self.hosts.contains_key(&host) {
            return;
        }
        let sums = self.hosts.entry(host).or_default();
        match tcp.sum {
            SumState::Wrong => sums.wrong += 1,
            SumState::Sound | SumState::Corrupted => sums.is_judged = true,
            SumState::NotComputed | SumState::Unknown => {}
        }
    }

    /// Whether wrong checksums of `host` on `interface` are due to offload.
    pub(super) fn covers(&self, interface: usize, host: IpAddr) -> bool {
        self.hosts.get(&(interface, host)).is_some_and(|sums| !sums.is_judged && sums.wrong >= MOST_IN_A_ROW)
    }
}
