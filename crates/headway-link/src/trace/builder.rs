//! Fates to traces, within bounds.

use super::{Edit, Fate, Fates, Run, Trace};
use crate::Named;

/// The most runs of equal fates that a trace may have.
const MAX_RUNS: usize = 1 << 20;
/// The most places of bits, over all fates.
const MAX_BITS: usize = 1 << 24;
/// The most packets: a number that no link will have carried.
const MAX_PACKETS: u64 = 1 << 48;

/// A trace in the making: takes the fates of packets in order of transmission.
#[derive(Clone, Debug, Default)]
pub struct TraceBuilder {
    runs: Vec<Run>,
    bits: usize,
    packets: u64,
    hit: u64,
    lost: u64,
    /// The last packet is followed by the next in one frame.
    has_no_end: bool,
}

/// A trace may have 1,048,576 changes of fate, 16,777,216 places of bits and 2^48 packets; this one
/// has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected at most 1048576 changes of fate, 16777216 places of bits and 2^48 packets")]
pub struct TraceTooLong;

impl TraceBuilder {
    /// No packet yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The next packet has this fate.
    ///
    /// # Errors
    ///
    /// The trace would grow beyond its bounds; it stays as it was.
    pub fn push(&mut self, fate: Fate) -> Result<(), TraceTooLong> {
        self.push_run(fate, 1)
    }

    /// The next `packets` packets have this fate.
    ///
    /// # Errors
    ///
    /// The trace would grow beyond its bounds; it stays as it was.
    pub fn push_run(&mut self, fate: Fate, packets: u64) -> Result<(), TraceTooLong> {
        if packets == 0 {
            return Ok(());
        }
        let fate = canonical(fate);
        let total =
            self.packets.checked_add(packets).filter(|total| *total <= MAX_PACKETS).ok_or(TraceTooLong)?;
        let (is_hit, is_lost, has_no_end) = (fate.is_hit(), fate == Fate::Lost, fate.has_no_end());
        let joins = self.has_no_end && fate == Fate::Ok;
        match self.runs.last_mut() {
            Some(last) if last.fate == fate => last.packets += packets,
            _ => {
                let bits = match &fate {
                    Fate::Bits { bits, .. } => bits.len(),
                    Fate::Edits { edits, .. } => edits.len(),
                    Fate::Ok | Fate::Lost | Fate::Hit { .. } => 0,
                };
                if self.runs.len() == MAX_RUNS || bits > MAX_BITS - self.bits {
                    return Err(TraceTooLong);
                }
                self.bits += bits;
                self.runs.push(Run { fate, packets });
            }
        }
        self.packets = total;
        self.has_no_end = has_no_end;
        self.hit += if is_hit { packets } else { u64::from(joins) };
        self.lost += if is_lost { packets } else { 0 };
        Ok(())
    }

    /// The trace, or `None` without a packet: there is nothing to replay. `name` is what people call
    /// it, such as the path of its file.
    pub fn finish(self, name: &str) -> Option<Trace> {
        let Self { runs, packets, hit, lost, .. } = self;
        (packets > 0).then(|| Trace(Named::new(name, Fates { runs, packets, hit, lost })))
    }
}

/// In the order of places, each once.
pub(super) fn sort(edits: &mut Vec<Edit>) {
    edits.sort_by_key(|edit| edit.order());
    edits.dedup();
}

/// The one form of a fate: places of bits ascend and differ; without any, nothing happens.
fn canonical(fate: Fate) -> Fate {
    match fate {
        Fate::Edits { from, edits } => {
            let mut edits = edits.into_vec();
            sort(&mut edits);
            let flips = edits.iter().map(|edit| if let Edit::Flip(bit) = edit { Some(*bit) } else { None });
            match flips.collect::<Option<_>>() {
                Some(bits) => canonical(Fate::Bits { from, bits }),
                None => Fate::Edits { from, edits: edits.into() },
            }
        }
        Fate::Bits { bits, .. } if bits.is_empty() => Fate::Ok,
        Fate::Bits { from, bits } => {
            let mut bits = bits.into_vec();
            bits.sort_unstable();
            bits.dedup();
            Fate::Bits { from, bits: bits.into() }
        }
        Fate::Hit { flips, place } => Fate::Hit { flips: flips.max(1), place },
        Fate::Ok | Fate::Lost => fate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitOrigin;

    #[test]
    fn a_trace_has_bounds_and_stays_as_it_was() {
        let mut packets = TraceBuilder::new();
        assert_eq!(packets.push_run(Fate::Ok, MAX_PACKETS), Ok(()));
        assert_eq!(
            (packets.push(Fate::Ok), packets.push(Fate::Lost)),
            (Err(TraceTooLong), Err(TraceTooLong))
        );
        assert_eq!((packets.push_run(Fate::Ok, 0), packets.packets()), (Ok(()), MAX_PACKETS));

        let mut runs = TraceBuilder::new();
        for _ in 0..MAX_RUNS / 2 {
            assert_eq!((runs.push(Fate::Ok), runs.push(Fate::Lost)), (Ok(()), Ok(())));
        }
        assert_eq!((runs.push(Fate::Ok), runs.push(Fate::Lost)), (Err(TraceTooLong), Ok(())));
        assert_eq!(runs.packets(), MAX_RUNS as u64 + 1);

        let mut bits = TraceBuilder::new();
        let fate = |from, count| Fate::Bits { from: BitOrigin::Ip, bits: (from..from + count).collect() };
        const PART: u32 = MAX_BITS as u32 / 16;
        for number in 0..15 {
            assert_eq!(bits.push(fate(number, PART)), Ok(()));
        }
        assert_eq!(bits.push(fate(0, PART + 1)), Err(TraceTooLong));
        assert_eq!((bits.push(fate(0, PART)), bits.push(fate(1, 1))), (Ok(()), Err(TraceTooLong)));
        assert_eq!((bits.push(Fate::Ok), bits.packets()), (Ok(()), 17));
    }
}
