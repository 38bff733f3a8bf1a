//! Delay variation by a distribution, as of tc-netem.

use crate::{LinkConfig, Named, random::Stream};
use headway_units::{Duration, Share};
use std::{fmt, str::FromStr};

/// The values of a table are multiples of the jitter over this (tc-netem(8), "distribution"; the tables of iproute2).
const SCALE: i64 = 8192;
/// The most values of a table: the kernel takes no more.
const MOST: usize = 16_384;

/// A distribution of delays: a table of netem (Hemminger, "Network Emulation with NetEm", linux.conf.au 2005; the
/// `.dist` files of iproute2). Cheap to clone.
///
/// A table holds the inverse of the distribution's cumulative function at equal steps: whole numbers separated by
/// white space, in units of 1/8192 of the jitter. What follows a `#` is ignored. At most 16,384 numbers from -32768 to
/// 32767.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTable(Named<Vec<i16>>);

/// A text is no table of delays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct ParseDelayTableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what was expected.
    pub problem: String,
}

impl DelayTable {
    /// Its name, such as the path of its file; empty if it has none.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The same table under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self(self.0.named(name))
    }

    /// The values.
    pub fn values(&self) -> &[i16] {
        &self.0
    }

    /// The least and the greatest value.
    fn range(&self) -> (i64, i64) {
        let values = || self.0.iter().copied().map(i64::from);
        (values().min().unwrap_or(0), values().max().unwrap_or(0))
    }
}

impl FromStr for DelayTable {
    type Err = ParseDelayTableError;

    fn from_str(input: &str) -> Result<Self, ParseDelayTableError> {
        let mut values = Vec::new();
        let mut last_line = 1;
        for (line, text) in (1..).zip(input.lines()) {
            last_line = line;
            for word in text.split('#').next().unwrap_or_default().split_whitespace() {
                let fail = |problem: String| ParseDelayTableError { line, problem };
                let value = word.parse::<i16>().map_err(|_| {
                    let shown: String = word.chars().take(40).collect();
                    fail(format!("{shown:?}: expected a whole number from -32768 to 32767"))
                })?;
                if values.len() == MOST {
                    return Err(fail(format!("expected at most {MOST} numbers")));
                }
                values.push(value);
            }
        }
        if values.is_empty() {
            let problem = "no numbers: expected a table of delays, as of tc-netem".to_owned();
            return Err(ParseDelayTableError { line: last_line, problem });
        }
        Ok(Self(Named::new("", values)))
    }
}

impl fmt::Display for DelayTable {
    /// The table as it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chunks(8).try_for_each(|line| {
            line.iter().try_for_each(|value| write!(f, " {value}"))?;
            writeln!(f)
        })
    }
}

/// How the delay varies about [`LinkConfig::delay`](crate::LinkConfig::delay), by
/// [`LinkConfig::jitter`](crate::LinkConfig::jitter): netem's `delay TIME JITTER CORRELATION distribution TABLE`.
///
/// A delay below 0 counts as 0. Packets arrive when they are due, and so overtake each other, unless `ordered`.
#[derive(Clone, Debug, PartialEq)]
pub struct JitterModel {
    /// The distribution; `None`: uniform, from the jitter below the delay to the jitter above it.
    pub table: Option<DelayTable>,
    /// How much of the random number of one packet is that of the packet before it.
    pub correlation: Share,
    /// Packets keep their order: one that would overtake arrives together with the one before it.
    pub ordered: bool,
}

impl fmt::Display for JitterModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.as_ref().map_or("uniform", DelayTable::name))?;
        if !self.correlation.is_zero() {
            write!(f, ":{}", self.correlation)?;
        }
        f.write_str(if self.ordered { ":ordered" } else { "" })
    }
}

/// Varies delays.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    size: Duration,
    model: Option<JitterModel>,
    /// The weight of the last number, out of 2^32.
    weight: u64,
    last: u32,
    stream: Stream,
    /// The least and the greatest deviation from the delay, in nanoseconds.
    range: (i128, i128),
}

impl Jitter {
    pub(crate) fn new(config: &LinkConfig, mut stream: Stream) -> Self {
        let (size, model) = (config.jitter, config.jitter_model.clone());
        let weight =
            model.as_ref().map_or(0, |model| (model.correlation.value() * (1_u64 << 32) as f64) as u64);
        // The first number has none before it.
        let last = if weight > 0 { stream.number() } else { 0 };
        let range = range(size, model.as_ref());
        Self { size, model, weight, last, stream, range }
    }

    /// Whether packets may overtake each other by it.
    #[inline]
    pub(crate) fn reorders(&self) -> bool {
        !self.size.is_zero() && self.model.as_ref().is_some_and(|model| !model.ordered)
    }

    /// The delay of the next packet, which is `delay` without jitter.
    #[inline]
    pub(crate) fn vary(&mut self, delay: Duration) -> Duration {
        if self.size.is_zero() { delay } else { self.varied(delay) }
    }

    #[inline(never)]
    fn varied(&mut self, delay: Duration) -> Duration {
        if self.model.is_none() {
            return delay + Duration::from_nanos(self.stream.below(self.size.as_nanos().saturating_add(1)));
        }
        let number = self.number();
        let jitter = i128::from(self.size.as_nanos());
        let deviation = match self.model.as_ref().and_then(|model| model.table.as_ref()) {
            None => ((i128::from(number) * 2 * jitter) >> 32) - jitter,
            Some(table) => {
                let values = table.values();
                scaled(jitter, values[number as usize % values.len()].into())
            }
        };
        moved(delay, deviation)
    }

    /// A number of 32 bits, which resembles the one before it as the correlation asks for: the weighted mean of both.
    fn number(&mut self) -> u32 {
        let new = self.stream.number();
        if self.weight == 0 {
            return new;
        }
        let (new, last) = (u128::from(new), u128::from(self.last));
        let (weight, whole) = (u128::from(self.weight), 1_u128 << 32);
        self.last = ((new * (whole - weight) + last * weight) >> 32) as u32;
        self.last
    }

    /// The least and the greatest that a delay may become.
    pub(crate) fn bounds(&self, delay: Duration) -> (Duration, Duration) {
        let (least, greatest) = self.range;
        (moved(delay, least), moved(delay, greatest))
    }
}

fn range(size: Duration, model: Option<&JitterModel>) -> (i128, i128) {
    let jitter = i128::from(size.as_nanos());
    match model {
        None => (0, jitter),
        Some(JitterModel { table: None, .. }) => (-jitter, jitter),
        Some(JitterModel { table: Some(table), .. }) => {
            let (least, greatest) = table.range();
            (scaled(jitter, least), scaled(jitter, greatest))
        }
    }
}

/// The multiple of the jitter that a value of a table says, rounded to the nearest nanosecond, half away from zero.
fn scaled(jitter: i128, value: i64) -> i128 {
    let product = jitter * i128::from(value);
    let half = i128::from(SCALE / 2);
    let rounded = if product < 0 { product - half } else { product + half };
    rounded / i128::from(SCALE)
}

fn moved(delay: Duration, by: i128) -> Duration {
    let nanos = (i128::from(delay.as_nanos()) + by).clamp(0, i128::from(u64::MAX));
    Duration::from_nanos(nanos as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_the_nearest() {
        for (jitter, value, expected) in [
            (8192, 1, 1),
            (4096, 1, 1),
            (4096, -1, -1),
            (4095, 1, 0),
            (4095, -1, 0),
            (10_000_000, 8192, 10_000_000),
            (10_000_000, -32_768, -40_000_000),
            // More than 2^63 in between.
            (i128::from(u64::MAX), 32_767, i128::from(u64::MAX) * 4 - 2_251_799_813_685_248),
        ] {
            let exact = scaled(jitter, value);
            assert!((exact - expected).abs() <= 1, "{jitter} * {value}: {exact}, not {expected}");
        }
        assert_eq!(moved(Duration::from_nanos(5), -6), Duration::ZERO);
        assert_eq!(moved(Duration::from_nanos(5), i128::MAX / 2), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        for (text, line, part) in [
            ("", 1, "no numbers"),
            ("# only\n# remarks\n", 2, "no numbers"),
            ("1 2\n3 x", 2, "\"x\": expected a whole number"),
            ("1 2\n\n40000 # too much", 3, "40000"),
            ("1.5", 1, "1.5"),
        ] {
            let error = text.parse::<DelayTable>().unwrap_err();
            assert_eq!(error.line, line, "{text:?}");
            assert!(error.problem.contains(part), "{text:?}: {error}");
        }
        let long = "1 ".repeat(MOST + 1);
        assert!(long.parse::<DelayTable>().unwrap_err().problem.contains("at most 16384"));
        let table: DelayTable = "# a\n -1 2\t3\n4 # b\n".parse().unwrap();
        assert_eq!(table.values(), [-1, 2, 3, 4]);
        assert_eq!(table.to_string().parse::<DelayTable>().unwrap(), table);
    }
}
