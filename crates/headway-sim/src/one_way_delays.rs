//! How long packets took from host to host.

use std::collections::HashMap;

use headway_units::{Duration, Instant};

use crate::network::{Passing, Tap};

/// A tap that matches packets that arrive with those that were sent: what queues do to them shows in the
/// delay. Packets that arrive damaged are left out.
///
/// A packet is known by its bytes, except those that links change: the traffic class and, of IPv4, the header
/// checksum. Of packets that are alike the one sent last counts.
#[derive(Clone, Debug, Default)]
pub struct OneWayDelays {
    sent: HashMap<u64, Instant>,
    arrived: Vec<PacketDelay>,
}

/// What a packet took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDelay {
    /// When it was sent.
    pub sent: Instant,
    /// From then to its arrival.
    pub delay: Duration,
    /// Its length in bytes.
    pub len: usize,
    /// The last byte of its source address, by which the hosts of a race differ.
    pub source: u8,
}

impl OneWayDelays {
    /// Packets in the order of their arrival.
    pub fn arrived(&self) -> &[PacketDelay] {
        &self.arrived
    }
}

impl Tap for OneWayDelays {
    fn pass(&mut self, passing: &Passing<'_>) {
        let key = key(passing.packet);
        if passing.outbound {
            self.sent.insert(key, passing.at);
        } else if passing.damage.is_none()
            && let Some(sent) = self.sent.remove(&key)
        {
            let delay = passing.at.saturating_since(sent);
            let source = passing.packet.get(15).copied().unwrap_or_default();
            self.arrived.push(PacketDelay { sent, delay, len: passing.packet.len(), source });
        }
    }
}

/// FNV-1a, 64 bits.
fn key(packet: &[u8]) -> u64 {
    let is_v4 = packet.first().is_some_and(|first| first >> 4 == 4);
    let changes = |place: usize| place == 1 || (is_v4 && (10..12).contains(&place));
    packet
        .iter()
        .enumerate()
        .filter(|(place, _)| !changes(*place))
        .fold(0xcbf2_9ce4_8422_2325, |hash, (_, byte)| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}
