//! Whether datagrams have a UDP checksum. Without one damaged ones arrive; with one the kernel passes on many at once.

use headway_units::{Duration, Instant};
use headway_wire::{Segment, V2};

/// Probes for datagrams without checksum, and the time between two.
const PROBES: u32 = 20;
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// Where such datagrams arrive, this many have none at first and after damage, and this many after a loss, which may have been damage
/// (round numbers: at 10 Mbit/s five minutes, and five seconds).
const AFTER_DAMAGE: u32 = 1 << 18;
const AFTER_LOSS: u32 = 1 << 12;

/// Whether datagrams without a UDP checksum reach the peer, and how many are to be sent so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UdpChecksum {
    /// Probes are under way: how many were sent, and when the next is due.
    Probing { sent: u32, next: Instant },
    /// One arrived. This many datagrams are to be sent without.
    Passes { left: u32 },
    /// None did.
    Blocked,
}

impl UdpChecksum {
    /// It is not known, and found out from `now` on.
    pub(crate) fn probing(now: Instant) -> Self {
        Self::Probing { sent: 0, next: now }
    }

    /// Whether datagrams without reach the peer; `None`: not known yet.
    pub(crate) fn passes(self) -> Option<bool> {
        match self {
            Self::Probing { .. } => None,
            Self::Passes { .. } => Some(true),
            Self::Blocked => Some(false),
        }
    }

    /// When a probe is due.
    pub(crate) fn probe_at(self) -> Option<Instant> {
        if let Self::Probing { next, .. } = self { Some(next) } else { None }
    }

    /// A probe is due. Returns whether one is sent: no more than a number of them.
    pub(crate) fn probe(&mut self, now: Instant) -> bool {
        let Self::Probing { sent, .. } = *self else { return false };
        *self = if sent < PROBES {
            Self::Probing { sent: sent + 1, next: now + PROBE_EVERY }
        } else {
            Self::Blocked
        };
        sent < PROBES
    }

    /// The peer has got one without. Returns whether that is new.
    pub(crate) fn on_probe_seen(&mut self) -> bool {
        let is_new = self.passes() != Some(true);
        if is_new {
            *self = Self::Passes { left: AFTER_DAMAGE };
        }
        is_new
    }

    /// Something arrived damaged, at either end.
    pub(crate) fn on_damage(&mut self) {
        self.leave_out(AFTER_DAMAGE);
    }

    /// A TCP segment of the peer's has arrived, in an IPv6 packet: it may say what the peer misses.
    pub(crate) fn on_segment(&mut self, packet: &[u8]) {
        let Ok(Segment { tcp, options, .. }) = Segment::parse(packet) else { return };
        let v2 = options.v2.as_ref().and_then(V2::as_ack);
        if v2.is_some_and(|ack| !ack.reported.is_empty()) {
            self.on_damage();
        }
        // One before the ACK number is of what arrived twice (RFC 2883).
        if options.sack.iter().any(|(start, _)| start.ge(tcp.ack)) {
            self.leave_out(AFTER_LOSS);
        }
    }

    fn leave_out(&mut self, least: u32) {
        if let Self::Passes { left } = self {
            *left = least.max(*left);
        }
    }

    /// Whether the next datagram is to have one.
    pub(crate) fn is_needed(self) -> bool {
        !matches!(self, Self::Passes { left: 1.. })
    }

    /// The same of a datagram with a segment, which is sent.
    pub(crate) fn on_sealed(&mut self) -> bool {
        let is_needed = self.is_needed();
        if let Self::Passes { left } = self {
            *left = left.saturating_sub(1);
        }
        is_needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_end_after_twenty() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut checksum = UdpChecksum::probing(Instant::ZERO);
        for sent in 0..u64::from(PROBES) {
            assert_eq!(checksum.probe_at(), Some(at(500 * sent)));
            assert!(checksum.probe(at(500 * sent)));
        }
        assert!(checksum.passes().is_none() && !checksum.probe(at(10_000)));
        assert_eq!((checksum.passes(), checksum.probe_at()), (Some(false), None));
        assert!(!checksum.probe(at(11_000)));
    }
}
