//! Hosts whose checksums the network card computes, behind the place of capture.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::packet::{Seen, SumState, examine};
use crate::reader::Packet;

/// So many wrong sums in a row, and no right one, are no damage.
const MOST_IN_A_ROW: u64 = 8;
/// The most hosts that are told apart; the sums of further ones are taken as they are.
const MAX_HOSTS: usize = 1 << 16;

/// A first look at a capture: which hosts' checksums were not yet computed when their packets were
/// captured. Without it, all that such a host sent would pass for damaged.
///
/// Most systems leave a mark in the checksum field that is recognised packet by packet. This is for
/// the others: a host none of whose sums is right, of eight or more, on an interface, and none of
/// whose damaged packets has a header that its own checksum (TCP HACK) vouches for.
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
    /// Has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the next packet.
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

    /// Whether wrong sums of packets from `host`, captured on `interface`, say nothing.
    pub(super) fn covers(&self, interface: usize, host: IpAddr) -> bool {
        self.hosts.get(&(interface, host)).is_some_and(|sums| !sums.is_judged && sums.wrong >= MOST_IN_A_ROW)
    }
}
