//! What is known of the path between a pair of addresses, shared by its connections.
//!
//! - `ledger`: the cause of each loss, as loss recovery asks for it. What is lost in silence is damage as far as
//!   `silent` says that the path loses as much at any rate, while `queue` sees a short queue and `rate_test` no dependence on
//!   the rate.
//! - `evidence`, `experiment`: what shows that a path damages packets.
//! - `memory`: what a later connection starts from.
//! - `mtu`, `mtu_search`: how long packets may be.
//! - `table`: the paths of a host.

pub(crate) mod delay;
mod evidence;
mod experiment;
pub mod ledger;
pub(crate) mod memory;
mod mtu;
pub(crate) mod mtu_search;
mod queue;
mod rate_test;
mod receivers;
mod silent;
pub(crate) mod table;

use alloc::boxed::Box;

use headway_units::Instant;

use ledger::CauseLedger;
use memory::PathMemory;
use mtu_search::{Lengths, MtuSearch};

/// Facts about one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Path {
    /// Largest IP packet that passes, if an ICMP message or the operator gave it.
    pub mtu: Option<u16>,
    /// Damaged packets whose header could not be read, so that no connection is known.
    pub unreadable: u64,
    /// Damaged packets that carried data, readable or not: what HACK v2 reports to the peer.
    pub damaged_data: u64,
    /// Damaged packets whose header was repaired.
    pub repaired: u64,
    /// Corrupted segments: header valid, payload damaged.
    pub corrupted: u64,
    /// Intact packets.
    pub intact: u64,
    /// The causes of losses on the forward path.
    pub ledger: CauseLedger,
    /// The largest window that a connection has had reason to offer, bytes: see [`Path::memory`].
    pub receive_window: u32,
    /// Connections whose data may be in the network.
    senders: u32,
    /// Of the transmissions, how many were before the path was last unused; wraps.
    before_begin: u32,
    /// Transmissions of all connections: each gets the next number, so that the ledger sees what was sent in
    /// succession.
    transmissions: u64,
    /// What connections learnt that later ones start from (RFC 9040).
    pub memory: Option<PathMemory>,
    /// From the time on when packets of the length used did not seem to pass; on few paths.
    mtu_search: Option<Box<MtuSearch>>,
}

impl Path {
    /// Connections whose data may be in the network.
    pub(crate) fn senders(&self) -> u32 {
        self.senders
    }

    /// How many segments with data all connections have sent, retransmissions included.
    #[inline]
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// The same since the path was last unused.
    pub(crate) fn transmissions_since_begin(&self) -> u32 {
        (self.transmissions as u32).wrapping_sub(self.before_begin)
    }

    // --- the length of packets ----------------------------------------------------------------------

    /// The longest packet to be sent, if an ICMP message, the operator or the search for it gave one.
    #[inline]
    pub fn largest_packet(&self) -> Option<u16> {
        self.mtu.into_iter().chain(self.mtu_search.as_ref().map(|search| search.used())).min()
    }

    /// A black hole is suspected: packets are short from now on, and longer ones probed.
    pub(crate) fn search_mtu(&mut self, lengths: Lengths, now: Instant) {
        self.mtu_search = Some(Box::new(MtuSearch::begin(self.mtu_search.as_deref(), lengths, now)));
    }

    /// The search, if there is one.
    #[inline]
    pub(crate) fn mtu_search(&mut self) -> Option<&mut MtuSearch> {
        self.mtu_search.as_deref_mut()
    }

    /// A packet of `size` bytes has arrived.
    pub(crate) fn on_passed(&mut self, size: u16, now: Instant) {
        if let Some(search) = &mut self.mtu_search {
            search.on_passed(size, now);
        }
        self.mtu_search.take_if(|search| search.is_over());
    }

    /// Connections that cannot probe try all again, as RFC 1191 does, where what was found is old.
    pub(crate) fn forget_expired_search(&mut self, now: Instant) {
        self.mtu_search.take_if(|search| search.is_expired(now));
    }

    /// What is left of a path whose connections share nothing: the length of packets.
    pub(crate) fn only_mtu(&mut self) -> Option<Self> {
        let (mtu, mtu_search) = (self.mtu, self.mtu_search.take());
        (mtu.is_some() || mtu_search.is_some()).then(|| Self { mtu, mtu_search, ..Self::default() })
    }

    // --- connections --------------------------------------------------------------------------------

    /// A connection begins on the path, which was unused for a while.
    pub(crate) fn begin(&mut self) {
        self.before_begin = self.transmissions as u32;
        self.ledger.begin();
    }

    /// A connection has sent: the number of its latest transmission.
    #[inline]
    pub(crate) fn set_transmissions(&mut self, latest: u64) {
        self.transmissions = latest;
    }

    /// A connection changes its state: whether its data may have been in the network, and may be now.
    /// Each state is left once, so the count returns to zero.
    pub(crate) fn update_senders(&mut self, before: bool, now: bool) {
        self.senders -= u32::from(before);
        self.senders += u32::from(now);
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Instant;

    use super::*;

    /// However much was sent over the path before.
    #[test]
    fn a_receiver_that_forgot_is_noticed_on_a_busy_path() {
        let mut path = Path::default();
        let count = |path: &mut Path, count| {
            let sent = path.transmissions_since_begin();
            path.ledger.on_count(Instant::ZERO, count, sent.try_into().unwrap_or(u16::MAX));
            path.ledger.attributed().counted
        };
        path.set_transmissions(100_000);
        assert_eq!(count(&mut path, 700), 700);
        path.begin();
        path.set_transmissions(100_010);
        assert_eq!(count(&mut path, 0), 700);
        assert_eq!(count(&mut path, 2), 702);
    }
}
