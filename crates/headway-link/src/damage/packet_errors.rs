//! Which packets are hit, for the models that count in packets.

use crate::{
    BurstClock, Damage,
    random::{Chance, Stream},
};
use headway_units::{Duration, Instant, Rate, Share};

/// Bytes of the packet whose transmission time is the unit of a burst counted in time.
const PACKET_TIME_BYTES: u64 = 1_500;

/// Decides packet after packet, in order of transmission, whether it is hit.
#[derive(Clone, Debug)]
pub(crate) enum PacketErrors {
    Random { hit: Chance },
    Burst { start: Chance, length: u32, left: u32 },
    TimedBurst { start: Chance, lasts: Duration, until: Instant },
    Gilbert { leave: [Chance; 2], hit: [Chance; 2], bad: bool },
}

impl PacketErrors {
    /// The model of `damage`, or `None` if it does not count in packets. `rate` and `overhead` are
    /// the link's.
    pub(crate) fn new(
        damage: &Damage,
        rate: Option<Rate>,
        overhead: u32,
        stream: &mut Stream,
    ) -> Option<Self> {
        Some(match *damage {
            Damage::Random { p } | Damage::Modem { p, .. } => Self::Random { hit: Chance::new(p) },
            Damage::Burst { p, length, clock } => {
                let (start, length) = (Chance::new(p), length.max(1));
                match clock {
                    BurstClock::Packets => Self::Burst { start, length, left: 0 },
                    BurstClock::Time => {
                        let packet_time = rate.map_or(Duration::ZERO, |rate| {
                            rate.transmit_time(PACKET_TIME_BYTES + u64::from(overhead))
                        });
                        Self::TimedBurst { start, lasts: packet_time * length, until: Instant::ZERO }
                    }
                }
            }
            Damage::Gilbert { p, r, good, bad } => Self::Gilbert {
                leave: [p, r].map(Chance::new),
                hit: [good, bad].map(Chance::new),
                bad: starts_bad(p, r, stream),
            },
            Damage::None | Damage::BitErrors { .. } | Damage::GilbertBit { .. } | Damage::Trace(_) => {
                return None;
            }
        })
    }

    /// Whether the next packet is hit, whose transmission begins `now`.
    #[inline]
    pub(crate) fn hits(&mut self, now: Instant, stream: &mut Stream) -> bool {
        match self {
            Self::Random { hit } => hit.happens(stream),
            _ => self.hits_in_bursts(now, stream),
        }
    }

    #[inline(never)]
    fn hits_in_bursts(&mut self, now: Instant, stream: &mut Stream) -> bool {
        match self {
            Self::Random { hit } => hit.happens(stream),
            // "outside a burst a packet starts one with probability p; the burst hits it and the next
            // L-1 packets"
            Self::Burst { start, length, left } => {
                if *left > 0 {
                    *left -= 1;
                    return true;
                }
                let hit = start.happens(stream);
                if hit {
                    *left = *length - 1;
                }
                hit
            }
            Self::TimedBurst { start, lasts, until } => {
                if now < *until {
                    return true;
                }
                let hit = start.happens(stream);
                if hit {
                    *until = now + *lasts;
                }
                hit
            }
            Self::Gilbert { leave, hit, bad } => {
                let state = usize::from(*bad);
                let is_hit = hit[state].happens(stream);
                *bad ^= leave[state].happens(stream);
                is_hit
            }
        }
    }
}

/// Whether a Gilbert-Elliott chain with these probabilities of going bad and good starts in the bad
/// state, drawn from its stationary distribution. One that never changes is good.
pub(crate) fn starts_bad(p: Share, r: Share, stream: &mut Stream) -> bool {
    Share::new(share_bad(p, r)).is_some_and(|share| Chance::new(share).happens(stream))
}

/// The share of time that a Gilbert-Elliott chain is bad in the long run.
pub(crate) fn share_bad(p: Share, r: Share) -> f64 {
    if p.is_zero() { 0.0 } else { p.value() / (p.value() + r.value()) }
}
