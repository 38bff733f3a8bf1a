//! Links that were measured: when each could deliver a packet.

use crate::Named;
use headway_units::{Instant, Rate};
use std::{fmt, str::FromStr};

/// Bytes that an opportunity carries.
const OPPORTUNITY: u64 = 1_500;
/// The most opportunities of a trace: 47 minutes at 18 Mbit/s.
const MOST: usize = 1 << 22;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// When a link can deliver: a trace of mahimahi (Netravali and others, "Mahimahi: Accurate Record-and-Replay for
/// HTTP", USENIX ATC 2015, and the manual page of `mm-link`). Cheap to clone.
///
/// A line is an opportunity to deliver 1500 bytes, at a time in milliseconds from the start; several lines may have
/// the same time. After the last line the trace begins again, at the time of that line. An opportunity carries what
/// waits: several packets, or a part of one, the rest of which goes with the next. If nothing waits, it is wasted.
///
/// Empty lines are ignored, and so is what follows a `#`.
///
/// This differs from mahimahi in one respect: the packet that waits for the next opportunity has left the queue, as
/// any packet that is being transmitted.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryTrace(
    /// In milliseconds, ascending; the last is above 0.
    Named<Vec<u32>>,
);

/// A text is not a delivery trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct ParseDeliveryTraceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what was expected.
    pub problem: String,
}

impl DeliveryTrace {
    /// Its name, such as the path of its file; empty if it has none.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The same trace under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self(self.0.named(name))
    }

    /// Its mean rate, for what needs one rate.
    pub fn nominal(&self) -> Rate {
        let bits = self.0.len() as u64 * OPPORTUNITY * 8;
        Rate::from_bits_per_second((bits * 1_000 / self.period()).max(1))
    }

    /// In milliseconds.
    fn period(&self) -> u64 {
        self.0.last().copied().unwrap_or(1).into()
    }
}

impl FromStr for DeliveryTrace {
    type Err = ParseDeliveryTraceError;

    fn from_str(input: &str) -> Result<Self, ParseDeliveryTraceError> {
        let mut times: Vec<u32> = Vec::new();
        let mut last_line = 1;
        for (line, text) in (1..).zip(input.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            last_line = line;
            if text.is_empty() {
                continue;
            }
            let fail = |problem: String| Err(ParseDeliveryTraceError { line, problem });
            // `u32` would read a leading plus sign too.
            let time = match text.parse::<u32>() {
                Ok(time) if !text.starts_with('+') => time,
                _ => return fail(format!("{text:?}: expected a time in whole milliseconds below 2^32")),
            };
            match times.last() {
                Some(last) if time < *last => {
                    return fail(format!(
                        "{time} ms: expected a time of at least {last} ms, that of the line before"
                    ));
                }
                _ if times.len() == MOST => {
                    return fail(format!("expected at most {MOST} opportunities"));
                }
                _ => times.push(time),
            }
        }
        if times.last().is_none_or(|last| *last == 0) {
            let problem = "expected at least one opportunity later than at 0 ms".into();
            return Err(ParseDeliveryTraceError { line: last_line, problem });
        }
        Ok(Self(Named::new("", times)))
    }
}

/// The lines of its file.
impl fmt::Display for DeliveryTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|time| writeln!(f, "{time}"))
    }
}

/// The position of a link in a trace.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    trace: DeliveryTrace,
    /// How often the trace has begun again, and which opportunity comes next.
    next: (u64, usize),
    /// The last one that was used, and the bytes that it has left.
    at: Instant,
    left: u64,
}

impl Opportunities {
    pub(crate) fn new(trace: DeliveryTrace) -> Self {
        Self { trace, next: (0, 0), at: Instant::ZERO, left: 0 }
    }

    /// The end of a transmission of `bytes` bytes that begins at `start`.
    #[inline(never)]
    pub(crate) fn transmit(&mut self, bytes: u64, start: Instant) -> Instant {
        if start > self.at || self.left == 0 {
            self.left = 0;
            self.skip_until(start);
        }
        let mut needed = bytes.max(1);
        loop {
            if self.left == 0 {
                self.begin_next();
            }
            let taken = needed.min(self.left);
            self.left -= taken;
            needed -= taken;
            if needed == 0 {
                return self.at;
            }
        }
    }

    /// Opportunities up to `start` were wasted, except what a packet that waited had used of them.
    fn skip_until(&mut self, start: Instant) {
        if start <= self.at && self.next != (0, 0) {
            return;
        }
        let period = self.trace.period();
        // At least this many milliseconds.
        let first = start.as_nanos() / NANOS_PER_MILLI + 1;
        let cycle = (first - 1) / period;
        let within = first - cycle * period;
        let place = self.trace.0.partition_point(|time| u64::from(*time) < within);
        self.next = self.next.max((cycle, place));
    }

    fn begin_next(&mut self) {
        let (cycle, place) = self.next;
        let times = &self.trace.0;
        let millis = (cycle.saturating_mul(self.trace.period())).saturating_add(times[place].into());
        self.at = Instant::from_nanos(millis.saturating_mul(NANOS_PER_MILLI));
        self.left = OPPORTUNITY;
        self.next = if place + 1 == times.len() { (cycle + 1, 0) } else { (cycle, place + 1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;
    use proptest::prelude::*;

    fn trace(text: &str) -> DeliveryTrace {
        text.parse().unwrap()
    }

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn packets_share_the_bytes_of_an_opportunity() {
        let mut link = Opportunities::new(trace("2\n2\n5\n7 # twice\n7\n10\n"));
        // Three packets that wait: the first two go with the first opportunity, and half of the third.
        assert_eq!(link.transmit(500, ms(0)), ms(2));
        assert_eq!(link.transmit(500, ms(2)), ms(2));
        assert_eq!(link.transmit(1000, ms(2)), ms(2));
        // 1000 bytes are left at 2 ms, and 500 more go at 5 ms.
        assert_eq!(link.transmit(1500, ms(2)), ms(5));
        // Later: what was left is wasted, and so is the opportunity at the time itself.
        assert_eq!(link.transmit(100, ms(6)), ms(7));
        assert_eq!(link.transmit(100, ms(10)), ms(12));
        // Round and round: 12, 12, 15 ms.
        assert_eq!(link.transmit(4400, ms(12)), ms(15));
        // In a year, in the middle of a cycle.
        let year = 365 * 86_400 * 1000;
        assert_eq!(link.transmit(1500, ms(year + 3)), ms(year + 5));
    }

    #[test]
    fn a_repeated_trace_may_begin_at_zero() {
        let mut link = Opportunities::new(trace("0\n10\n"));
        // Opportunities at 0, 10, 10, 20, 20 ms; that at 0 is over when the first packet comes.
        let ends: Vec<Instant> = (0..4).map(|_| link.transmit(1500, ms(3).max(link.at))).collect();
        assert_eq!(ends, [ms(10), ms(10), ms(20), ms(20)]);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, expected) in [
            ("", "line 1: expected at least one opportunity"),
            ("0\n0\n", "line 2: expected at least one opportunity later than at 0 ms"),
            ("1\n\nten\n", "line 3: \"ten\": expected a time in whole milliseconds"),
            ("1\n-5\n", "line 2: \"-5\": expected"),
            ("1\n+5\n", "line 2: \"+5\": expected"),
            ("1\n4294967296\n", "line 2: \"4294967296\": expected"),
            ("10\n7\n", "line 2: 7 ms: expected a time of at least 10 ms"),
        ] {
            let error = text.parse::<DeliveryTrace>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn reads_what_it_writes() {
        let trace = trace("# a remark\n1\n1\n\n3\n").named("cell");
        assert_eq!((trace.to_string().as_str(), trace.name()), ("1\n1\n3\n", "cell"));
        assert_eq!(trace.nominal().to_string(), "12mbit");
    }

    proptest! {
        /// A link that is never idle wastes nothing: it carries what its opportunities carry, in order.
        #[test]
        fn nothing_is_wasted_while_packets_wait(
            mut times in prop::collection::vec(0u32..200, 1..50),
            lens in prop::collection::vec(1u64..4000, 1..200),
        ) {
            times.sort_unstable();
            *times.last_mut().unwrap() += 1;
            let text: String = times.iter().map(|time| format!("{time}\n")).collect();
            let trace = trace(&text);
            let period = trace.period();
            let mut link = Opportunities::new(trace);
            let (mut now, mut sent) = (ms(0), 0);
            for len in lens {
                now = link.transmit(len, now);
                sent += len;
                // All later than 0 that came by now, the last perhaps in part.
                let all = (0..).flat_map(|cycle| times.iter().map(move |time| cycle * period + u64::from(*time)));
                let by_now = |at: &u64| *at * NANOS_PER_MILLI < now.as_nanos();
                let before = all.clone().skip_while(|at| *at == 0).take_while(by_now).count() as u64;
                let until = all.skip_while(|at| *at == 0).take_while(|at| *at * NANOS_PER_MILLI <= now.as_nanos()).count() as u64;
                prop_assert!(sent > before * OPPORTUNITY && sent <= until * OPPORTUNITY, "{} at {:?}", sent, now);
            }
        }
    }

    #[test]
    fn traces_of_the_same_times_and_name_are_equal() {
        assert_eq!(trace("1\n2\n"), trace("1\n2"));
        assert_ne!(trace("1\n2\n"), trace("1\n3\n"));
        assert_ne!(trace("1\n2\n"), trace("1\n2\n").named("x"));
        assert_eq!(trace("1\n2\n").named("x").name(), "x");
    }
}
