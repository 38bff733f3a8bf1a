//! Links that were recorded: the fate of each packet.

mod builder;
mod edit;
mod fate;
mod replay;
mod text;

pub use builder::{TraceBuilder, TraceTooLong};
pub use edit::Edit;
pub use fate::{BitOrigin, Fate, HitPlace};
pub(crate) use replay::Replay;
pub use text::ParseTraceError;

use crate::Named;
use std::{collections::BTreeSet, fmt, str::FromStr};

/// The fates of the packets of a link, in order of transmission. Cheap to clone.
///
/// A link replays it from the first fate on, one for each packet that is open to damage, and begins
/// again after the last. Where chance is left to it (which bits, for [`Fate::Hit`]), the link's seed
/// decides.
///
/// A packet whose fate is [`Fate::Lost`] is lost like one of [`LinkConfig::loss`], which may lose
/// others. Where a [link ARQ](crate::FrameCheck::Arq) is to make good what the trace does, each
/// transmission takes a fate, and a retransmission that is lost counts as a damaged one.
///
/// # Text
///
/// One line for each fate; a `#` starts a remark, empty lines say nothing. Written and read by
/// [`Display`](fmt::Display) and [`FromStr`] (which gives no name: see [`Trace::named`]):
///
/// | line | the next packet or packets |
/// |---|---|
/// | `ok`, `ok 37` | arrive as they were sent |
/// | `lost`, `lost 2` | are lost |
/// | `hit payload 3` | 3 bits of the payload are flipped, by chance |
/// | `hit header 1` | 1 bit of the header |
/// | `hit both 64` | 64 bits of both |
/// | `hit 1` | 1 bit, where [`LinkConfig::header_hit`] says |
/// | `bits` | none: the check of a modem failed, and every bit is right |
/// | `bits 161 980` | these two bits, counted from the start of the IP packet |
/// | `bits tcp 1`, `bits payload 0 7` | the same, from the start of the TCP header or the payload |
/// | `bits 161 -980 +1200*8`, `bits -8000..`, `bits /4000`, `bits &`, `bits ~0..@15%` | other [edits](Edit): bits are missing or were added, the frame ends early, is split, has no end, has dense errors |
///
/// ```
/// use headway_link::{Damage, LinkConfig, Trace};
///
/// let trace: Trace = "ok 2\nhit payload 3 # a spark\nlost\n".parse()?;
/// assert_eq!((trace.packets(), trace.share_hit(), trace.share_lost()), (4, 0.25, 0.25));
/// let config = LinkConfig { damage: Damage::Trace(trace.named("sparks")), ..LinkConfig::default() };
/// assert_eq!(config.damage.to_string(), "trace:sparks");
/// # Ok::<(), headway_link::ParseTraceError>(())
/// ```
///
/// [`LinkConfig::loss`]: crate::LinkConfig::loss
/// [`LinkConfig::header_hit`]: crate::LinkConfig::header_hit
#[derive(Clone, Debug, PartialEq)]
pub struct Trace(Named<Fates>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fates {
    /// At least one; neighbours differ.
    runs: Vec<Run>,
    packets: u64,
    hit: u64,
    lost: u64,
}

/// Packets in a row with the same fate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    fate: Fate,
    /// At least 1.
    packets: u64,
}

impl Trace {
    /// What people call it, such as the path of its file; empty if it has no name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The same trace under another name.
    pub fn named(self, name: &str) -> Self {
        Self(self.0.named(name))
    }

    /// Packets until it begins again; at least 1.
    pub fn packets(&self) -> u64 {
        self.0.packets
    }

    /// The share of the packets that arrive damaged, 0 to 1. One that is joined to the packet before it is damaged too.
    pub fn share_hit(&self) -> f64 {
        self.0.hit as f64 / self.0.packets as f64
    }

    /// The share of the packets that are lost, 0 to 1.
    pub fn share_lost(&self) -> f64 {
        self.0.lost as f64 / self.0.packets as f64
    }

    /// The share of the blocks of `block` bytes that arrive intact, 0 to 1, if each packet has `packet` bytes; the last block of
    /// a packet may be shorter. `None` where the trace does not say which bits of the whole packet are flipped.
    ///
    /// # Panics
    ///
    /// If `block` or `packet` is 0.
    pub fn share_of_intact_blocks(&self, block: usize, packet: usize) -> Option<f64> {
        let blocks = packet.div_ceil(block);
        let mut intact = 0;
        let mut is_joined = false;
        for Run { fate, packets } in &self.0.runs {
            // The next packet has no frame of its own.
            let joined = std::mem::replace(&mut is_joined, fate.has_no_end());
            let hit = match fate {
                Fate::Ok => 0,
                Fate::Lost => blocks,
                Fate::Bits { from: BitOrigin::Ip, bits } => {
                    let bytes = bits.iter().map(|bit| *bit as usize / 8).filter(|byte| *byte < packet);
                    bytes.map(|byte| byte / block).collect::<BTreeSet<_>>().len()
                }
                Fate::Edits { from: BitOrigin::Ip, edits } => edit::blocks_hit(edits, block, packet)?,
                Fate::Bits { .. } | Fate::Edits { .. } | Fate::Hit { .. } => return None,
            };
            let alone = if !joined {
                *packets
            } else if is_joined {
                0
            } else {
                packets - 1
            };
            intact += alone * (blocks - hit) as u64;
        }
        Some(intact as f64 / (self.0.packets as f64 * blocks as f64))
    }

    /// The fate of each packet, once through.
    pub fn fates(&self) -> impl Iterator<Item = &Fate> {
        let each = |run: &Run| usize::try_from(run.packets).unwrap_or(usize::MAX);
        self.0.runs.iter().flat_map(move |run| std::iter::repeat_n(&run.fate, each(run)))
    }
}

impl FromStr for Trace {
    type Err = ParseTraceError;

    fn from_str(input: &str) -> Result<Self, ParseTraceError> {
        text::parse(input)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Run { fate, packets } in &self.0.runs {
            match fate {
                Fate::Ok | Fate::Lost if *packets > 1 => writeln!(f, "{fate} {packets}")?,
                _ => (0..*packets).try_for_each(|_| writeln!(f, "{fate}"))?,
            }
        }
        Ok(())
    }
}
