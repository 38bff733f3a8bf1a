//! Traffic that was recorded: when packets came, and how long they were.

use std::fmt;
use std::str::FromStr;

use headway_link::Named;
use headway_units::{Duration, Instant, Rate};

/// The most packets of a trace, which need 16 MiB of memory.
const MOST: usize = 1 << 20;

/// The times and lengths of packets, to be sent again and again. Cheap to clone.
///
/// The first packet is at time zero. A round lasts from the first packet to the last and the mean gap between two
/// packets longer, so that the rounds follow each other at the mean rate of the recording.
///
/// As text each packet is a line: the nanoseconds since the packet before it, and its length in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketTrace(
    /// In the order of time, the first at zero, not all at zero.
    Named<Vec<TimedPacket>>,
);

/// A packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedPacket {
    /// When it comes, after the first packet.
    pub at: Duration,
    /// Its length from the IP header on, in bytes.
    pub len: u32,
}

/// Packets are no trace that can be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketTraceError {
    /// A line of a text is not a packet.
    #[error(
        "line {line}: {text:?}: expected the nanoseconds since the packet before and a length in bytes, such as 1200000 1500"
    )]
    Line {
        /// The line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// There are too many.
    #[error("expected at most {MOST} packets")]
    TooMany,
    /// There is none, or no time passes between them.
    #[error("expected packets at different times, which can be repeated, and found {packets} at one time")]
    OneTime {
        /// How many there are.
        packets: usize,
    },
    /// One is longer than the MTU.
    #[error(
        "a packet of {len} bytes: expected packets of at most {mtu} bytes, the MTU; longer ones are often made by \
         the offload of a network card (`ethtool -K DEVICE gro off gso off tso off` before the capture)"
    )]
    AboveMtu {
        /// Its length in bytes.
        len: u32,
        /// The MTU in bytes.
        mtu: u16,
    },
}

/// Collects the packets of a trace, in any order.
#[derive(Debug, Default)]
pub struct PacketTraceBuilder {
    packets: Vec<(Instant, u32)>,
}

impl PacketTraceBuilder {
    /// Adds a packet of `len` bytes that came at `at`, on any clock.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub fn push(&mut self, at: Instant, len: u32) -> Result<(), PacketTraceError> {
        if self.packets.len() == MOST {
            return Err(PacketTraceError::TooMany);
        }
        self.packets.push((at, len));
        Ok(())
    }

    /// How many there are so far.
    pub fn count(&self) -> usize {
        self.packets.len()
    }

    /// The trace, with this name. Packets of the same time stay in the order in which they were added.
    ///
    /// # Errors
    ///
    /// There are no packets at two different times.
    pub fn finish(mut self, name: &str) -> Result<PacketTrace, PacketTraceError> {
        // Captures of several interfaces or processors are not always in the order of time.
        self.packets.sort_by_key(|&(at, _)| at);
        let first = self.packets.first().map_or(Instant::ZERO, |&(at, _)| at);
        let timed = |&(at, len): &(Instant, u32)| TimedPacket { at: at.saturating_since(first), len };
        let packets: Vec<TimedPacket> = self.packets.iter().map(timed).collect();
        if packets.last().is_none_or(|last| last.at.is_zero()) {
            return Err(PacketTraceError::OneTime { packets: packets.len() });
        }
        Ok(PacketTrace(Named::new(name, packets)))
    }
}

impl PacketTrace {
    /// Its name, such as the path of its file; empty if it has none.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The same trace under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self(self.0.named(name))
    }

    /// Its packets, in the order of time.
    pub fn packets(&self) -> &[TimedPacket] {
        &self.0
    }

    /// How long a round lasts.
    pub fn period(&self) -> Duration {
        let (last, count) = (self.last(), self.0.len() as u64);
        // There are two at least.
        last + Duration::from_nanos((last.as_nanos() / (count - 1)).max(1))
    }

    /// The mean rate of the packets, from their IP headers on.
    pub fn mean_rate(&self) -> Rate {
        let bytes: u128 = self.0.iter().map(|packet| u128::from(packet.len)).sum();
        let bits = bytes * 8 * 1_000_000_000 / u128::from(self.period().as_nanos());
        Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX).max(1))
    }

    /// Whether every packet fits the MTU.
    ///
    /// # Errors
    ///
    /// One does not.
    pub fn check(&self, mtu: u16) -> Result<(), PacketTraceError> {
        match self.0.iter().find(|packet| packet.len > u32::from(mtu)) {
            Some(&TimedPacket { len, .. }) => Err(PacketTraceError::AboveMtu { len, mtu }),
            None => Ok(()),
        }
    }

    fn last(&self) -> Duration {
        self.0.last().map_or(Duration::ZERO, |last| last.at)
    }
}

/// The lines of its text.
impl fmt::Display for PacketTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = Duration::ZERO;
        self.0.iter().try_for_each(|packet| {
            let gap = packet.at - std::mem::replace(&mut before, packet.at);
            writeln!(f, "{} {}", gap.as_nanos(), packet.len)
        })
    }
}

impl FromStr for PacketTrace {
    type Err = PacketTraceError;

    fn from_str(input: &str) -> Result<Self, PacketTraceError> {
        let mut builder = PacketTraceBuilder::default();
        let mut now: u64 = 0;
        for (line, text) in (1..).zip(input.lines()) {
            let packet = || {
                let (gap, len) = text.split_once(' ')?;
                Some((now.checked_add(gap.parse().ok()?)?, len.parse().ok()?))
            };
            let Some((at, len)) = packet() else {
                return Err(PacketTraceError::Line { line, text: text.chars().take(40).collect() });
            };
            now = at;
            builder.push(Instant::from_nanos(at), len)?;
        }
        builder.finish("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(packets: &[(u64, u32)]) -> Result<PacketTrace, PacketTraceError> {
        let mut builder = PacketTraceBuilder::default();
        for &(at, len) in packets {
            builder.push(Instant::from_nanos(at), len)?;
        }
        builder.finish("x")
    }

    #[test]
    fn packets_are_sorted_and_count_from_the_first() {
        let trace = trace(&[(5_000, 100), (9_000, 40), (7_000, 1500), (7_000, 28)]).unwrap();
        assert_eq!(trace.to_string(), "0 100\n2000 1500\n0 28\n2000 40\n");
        // Four packets, three gaps of 4/3 us.
        assert_eq!(trace.period(), Duration::from_nanos(4_000 + 1_333));
        assert_eq!(trace.mean_rate().bits_per_second(), 1668 * 8 * 1_000_000_000 / 5_333);
        assert_eq!(trace.to_string().parse::<PacketTrace>().unwrap().named("x"), trace);
        assert_eq!(trace.check(1500), Ok(()));
        assert_eq!(trace.check(1499), Err(PacketTraceError::AboveMtu { len: 1500, mtu: 1499 }));
    }

    #[test]
    fn what_cannot_be_repeated_is_refused() {
        assert_eq!(trace(&[]), Err(PacketTraceError::OneTime { packets: 0 }));
        assert_eq!(trace(&[(7, 1), (7, 2)]), Err(PacketTraceError::OneTime { packets: 2 }));
        let many: Vec<(u64, u32)> = (0..=MOST as u64).map(|at| (at, 28)).collect();
        assert_eq!(trace(&many), Err(PacketTraceError::TooMany));
        assert_eq!(trace(&many[1..]).unwrap().packets().len(), MOST);
    }

    #[test]
    fn mistakes_in_texts_name_their_line() {
        for text in [
            "0 40\nx 40",
            "0 40\n1",
            "0 40\n1 -1",
            "0 40\n1 4294967296",
            "0 40\n1 40 1",
            "1 1\n18446744073709551615 1",
        ] {
            let error = text.parse::<PacketTrace>().unwrap_err().to_string();
            assert!(error.starts_with("line 2: "), "{error}");
        }
        // Times at the end of the clock are kept.
        let last = "0 40\n18446744073709551615 40\n".parse::<PacketTrace>().unwrap();
        assert_eq!((last.period().as_nanos(), last.mean_rate().bits_per_second()), (u64::MAX, 1));
    }
}
