//! SYN cookies (RFC 4987, section 3.6): connections that open without any state here, while the backlog is
//! full of others that are opening. `docs/syn-cookies.md` says what they cost.
//!
//! All that a SYN says goes out in the SYN-ACK and comes back with the ACK for it:
//!
//! ```text
//! sequence number  h1(ends) + SEG.SEQ + time << 24 + h2(ends, SEG.SEQ, time, MSS, options) % 2^24
//! timestamp        ... | partial 1 | HACK 2 | ECN 1 | SACK 1 | window scale 4
//! ```
//!
//! Both hashes are keyed with the host's secret. Of 2^24 values of the lower bits, eight stand
//! for some size, in each of the two periods that are accepted: an ACK that guesses hits with 2^-20. Size and
//! options are in the hash, so numbers and timestamps that were altered are no cookie.

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2};

use super::identity::Identity;
use crate::connection::{Endpoints, Negotiated};
use crate::hack::XHACK_PERMITTED;

/// Time is counted in periods of this length; a cookie is good in its own and in the next.
const PERIOD: Duration = Duration::from_secs(64);
const PERIODS: u32 = 2;

/// How long after the last cookie one may come back.
pub(super) const LIFE: Duration = Duration::from_secs(128);

/// Cookies that came back and are remembered by a listener, so that they do not come back twice.
pub(super) const REMEMBERED: usize = 1024;

/// The sizes that a cookie can express; one in between is rounded down. Those of IPv4 and IPv6 over
/// Ethernet, tunnels and PPPoE, the defaults of RFC 9293, and jumbo frames.
const SIZES: [u16; 8] = [48, 536, 1220, 1380, 1400, 1440, 1460, 8940];

const LOW: u32 = (1 << 24) - 1;
/// The bits of a timestamp that options take.
const STAMP_BITS: u32 = (1 << 9) - 1;
/// What a window scale of none looks like.
const UNSCALED: u32 = 15;

/// What a cookie keeps of a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    size: u8,
    /// The bits for the timestamp; `None` without timestamps, where there is room for nothing else.
    bits: Option<u32>,
}

impl Kept {
    /// What is kept of `syn`, of which `agreed` was agreed on.
    pub(super) fn of(syn: &Segment<'_>, agreed: &Negotiated) -> Self {
        let mss = syn.options.mss.unwrap_or(if syn.ip.src.is_ipv4() { SIZES[1] } else { SIZES[2] });
        let size = SIZES.iter().rposition(|&size| size <= mss).unwrap_or(0) as u8;
        let scale = syn.options.window_scale.filter(|_| agreed.window_scaling);
        let hack = match agreed {
            Negotiated { v2: true, .. } => 3,
            Negotiated { xhack: true, .. } => 2,
            Negotiated { hack: true, .. } => 1,
            _ => 0,
        };
        let bits = scale.map_or(UNSCALED, |scale| u32::from(scale.min(14)))
            | u32::from(agreed.sack) << 4
            | u32::from(agreed.ecn) << 5
            | hack << 6
            | u32::from(agreed.partial) << 8;
        Self { size, bits: agreed.timestamps.then_some(bits) }
    }

    /// What remains of `agreed`: without timestamps, nothing that needs room; and never compact headers, for which the bits
    /// have no place.
    pub(super) fn agreed(self, agreed: Negotiated) -> Negotiated {
        if self.bits.is_some() { Negotiated { compact: false, ..agreed } } else { Negotiated::default() }
    }

    /// The latest timestamp up to `stamp` that carries the options.
    pub(super) fn stamp(self, stamp: u32) -> u32 {
        let Some(bits) = self.bits else { return stamp };
        let marked = stamp & !STAMP_BITS | bits;
        if bits > stamp & STAMP_BITS { marked.wrapping_sub(STAMP_BITS + 1) } else { marked }
    }

    /// The SYN that this was kept of, as far as it matters, from the ACK that came back.
    pub(super) fn syn<'a>(self, ack: &Segment<'a>) -> Segment<'a> {
        let bits = self.bits.unwrap_or(UNSCALED);
        let has = |bit: u32| bits >> bit & 1 == 1;
        let hack = bits >> 6 & 3;
        let scale = bits & 15;
        let mut flags = TcpFlags::SYN;
        if has(5) {
            flags |= TcpFlags::ECE | TcpFlags::CWR;
        }
        Segment {
            tcp: TcpHeader { seq: ack.tcp.seq - 1, ack: SeqNumber::default(), flags, urgent: 0, ..ack.tcp },
            options: TcpOptions {
                mss: Some(SIZES[usize::from(self.size)]),
                window_scale: (scale != UNSCALED).then_some(scale as u8),
                sack_permitted: has(4),
                timestamps: ack.options.timestamps.map(|timestamps| Timestamps { tsecr: 0, ..timestamps }),
                hack: (hack == 1 || hack == 2).then_some(if hack == 2 { XHACK_PERMITTED } else { 0 }),
                v2: (hack == 3).then(|| V2::syn(has(8))),
                ..TcpOptions::default()
            },
            payload: &[],
            blocks: &[],
            ..*ack
        }
    }
}

/// The initial sequence number that answers a SYN with number `irs`.
pub(super) fn cookie(
    identity: &Identity,
    ends: &Endpoints,
    irs: SeqNumber,
    kept: Kept,
    now: Instant,
) -> SeqNumber {
    let time = period(now);
    let low = inner(identity, ends, irs, time, kept);
    SeqNumber(outer(identity, ends, irs).wrapping_add(time << 24).wrapping_add(low))
}

/// What was kept in the cookie that `ack` acknowledges, if it does and the cookie is not too old.
pub(super) fn check(identity: &Identity, ends: &Endpoints, ack: &Segment<'_>, now: Instant) -> Option<Kept> {
    let irs = ack.tcp.seq - 1;
    let inside = (ack.tcp.ack - 1).0.wrapping_sub(outer(identity, ends, irs));
    let age = period(now).wrapping_sub(inside >> 24) & 0xff;
    if age >= PERIODS {
        return None;
    }
    let bits = ack.options.timestamps.map(|timestamps| timestamps.tsecr & STAMP_BITS);
    let time = period(now).wrapping_sub(age);
    let mut sizes = (0..SIZES.len() as u8).map(|size| Kept { size, bits });
    sizes.find(|&kept| inner(identity, ends, irs, time, kept) == inside & LOW)
}

fn period(now: Instant) -> u32 {
    (now.as_nanos() / PERIOD.as_nanos()) as u32
}

fn outer(identity: &Identity, ends: &Endpoints, irs: SeqNumber) -> u32 {
    identity.cookie(ends, &[]).wrapping_add(irs.0)
}

fn inner(identity: &Identity, ends: &Endpoints, irs: SeqNumber, time: u32, kept: Kept) -> u32 {
    identity.cookie(ends, &[irs.0, time, kept.size.into(), kept.bits.unwrap_or(u32::MAX)]) & LOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_with_options_is_the_latest_that_is_not_ahead_of_the_clock() {
        for bits in [0, 1, 0x0f0, STAMP_BITS] {
            let kept = Kept { size: 0, bits: Some(bits) };
            for clock in (0..=2 * (STAMP_BITS + 1)).chain([1 << 31, u32::MAX]) {
                let stamp = kept.stamp(clock);
                assert_eq!(stamp & STAMP_BITS, bits);
                assert!(clock.wrapping_sub(stamp) <= STAMP_BITS, "{clock}: {stamp}");
            }
        }
        assert_eq!(Kept { size: 0, bits: None }.stamp(77), 77);
    }
}
