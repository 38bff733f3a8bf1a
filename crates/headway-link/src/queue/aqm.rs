//! Which discipline a queue has, and how people write it.

use std::fmt;
use std::str::FromStr;

use headway_units::{Duration, Share};

use crate::ParseLinkError;

/// What manages a queue beside its limit.
///
/// Written as `none`, `codel`, `codel:5ms:100ms`, `fq-codel`, `fq-codel:5ms:100ms`, `pie`, `pie:15ms`, `red` or
/// `red:5:15:2%`. What is left out has the value of the RFC or of the paper, which these examples show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Aqm {
    /// Nothing: [`DropTail`](crate::DropTail).
    #[default]
    None,
    /// [`Codel`](crate::Codel).
    Codel {
        /// Acceptable standing delay.
        target: Duration,
        /// How long it may be exceeded.
        interval: Duration,
    },
    /// [`FqCodel`](crate::FqCodel).
    FqCodel {
        /// Acceptable standing delay of a flow.
        target: Duration,
        /// How long it may be exceeded.
        interval: Duration,
    },
    /// [`Pie`](crate::Pie).
    Pie {
        /// The delay that it aims at.
        target: Duration,
    },
    /// [`Red`](crate::Red).
    Red {
        /// Average length in packets below which nothing is dropped.
        min: u32,
        /// Average length from which drops are certain or, as it is gentle, ever more probable.
        max: u32,
        /// Probability at `max`.
        max_p: Share,
    },
}

/// RFC 8289, sections 4.2 and 4.3; RFC 8290, sections 5.2.1 and 5.2.2.
const CODEL: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// RFC 8033, section 4.2.
const PIE_TARGET: Duration = Duration::from_millis(15);
/// Floyd and Jacobson 1993, section 8.
const RED: (u32, u32, f64) = (5, 15, 0.02);
/// An interval of CoDel or target of PIE beyond this is a typing mistake, and would overflow the arithmetic.
const LONGEST: Duration = Duration::from_secs(3600);

const EXPECTED: &str = "none, codel[:TARGET[:INTERVAL]], fq-codel[:TARGET[:INTERVAL]], pie[:TARGET] or \
                        red[:MIN:MAX[:P]] with times up to 1h and lengths in packets, such as codel:5ms:100ms \
                        or red:5:15:2%";

impl Aqm {
    /// Whether it asks which flow a packet is of.
    pub fn separates_flows(&self) -> bool {
        matches!(self, Self::FqCodel { .. })
    }
}

impl FromStr for Aqm {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let mut parts = input.trim().split(':');
        let name = parts.next().unwrap_or_default();
        let parameters: Vec<&str> = parts.collect();
        let aqm = match name {
            "none" => parameters.is_empty().then_some(Self::None),
            "codel" => codel(&parameters).map(|(target, interval)| Self::Codel { target, interval }),
            "fq-codel" => codel(&parameters).map(|(target, interval)| Self::FqCodel { target, interval }),
            "pie" => match parameters[..] {
                [] => Some(Self::Pie { target: PIE_TARGET }),
                [target] => time(target).map(|target| Self::Pie { target }),
                _ => None,
            },
            "red" => red(&parameters),
            _ => None,
        };
        aqm.ok_or_else(|| ParseLinkError::new(input, EXPECTED))
    }
}

fn time(text: &str) -> Option<Duration> {
    text.parse().ok().filter(|time: &Duration| !time.is_zero() && *time <= LONGEST)
}

fn codel(parameters: &[&str]) -> Option<(Duration, Duration)> {
    match *parameters {
        [] => Some(CODEL),
        [target] => Some((time(target)?, CODEL.1)),
        [target, interval] => Some((time(target)?, time(interval)?)),
        _ => None,
    }
}

fn red(parameters: &[&str]) -> Option<Aqm> {
    let (min, max, max_p) = match *parameters {
        [] => (RED.0, RED.1, Share::new(RED.2)?),
        [min, max] => (min.parse().ok()?, max.parse().ok()?, Share::new(RED.2)?),
        [min, max, max_p] => (min.parse().ok()?, max.parse().ok()?, max_p.parse().ok()?),
        _ => return None,
    };
    // Twice the upper threshold has to fit the arithmetic of the average.
    (min < max && max <= 1 << 20).then_some(Aqm::Red { min, max, max_p })
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Codel { target, interval } => f.pad(&format!("codel:{target}:{interval}")),
            Self::FqCodel { target, interval } => f.pad(&format!("fq-codel:{target}:{interval}")),
            Self::Pie { target } => f.pad(&format!("pie:{target}")),
            Self::Red { min, max, max_p } => f.pad(&format!("red:{min}:{max}:{max_p}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_fills_in_the_defaults() {
        for (text, full) in [
            ("none", "none"),
            ("codel", "codel:5ms:100ms"),
            ("codel:1ms", "codel:1ms:100ms"),
            ("codel:1ms:20ms", "codel:1ms:20ms"),
            ("fq-codel", "fq-codel:5ms:100ms"),
            ("pie", "pie:15ms"),
            ("pie:30ms", "pie:30ms"),
            ("red", "red:5:15:2%"),
            ("red:20:60", "red:20:60:2%"),
            ("red:20:60:10%", "red:20:60:10%"),
        ] {
            let aqm: Aqm = text.parse().unwrap();
            assert_eq!(aqm.to_string(), full);
            assert_eq!(full.parse(), Ok(aqm));
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "tail",
            "none:1",
            "codel:",
            "codel:0s",
            "codel:5ms:100ms:1",
            "codel:2h",
            "pie:1:2",
            "pie:fast",
            "red:5",
            "red:15:5",
            "red:5:5",
            "red:5:15:200%",
            "red:5:9999999",
        ] {
            assert!(text.parse::<Aqm>().unwrap_err().to_string().contains("codel:5ms:100ms"), "{text}");
        }
    }

    #[test]
    fn one_of_them_separates_flows() {
        for (text, separates) in
            [("none", false), ("codel", false), ("fq-codel", true), ("pie", false), ("red", false)]
        {
            assert_eq!(text.parse::<Aqm>().unwrap().separates_flows(), separates, "{text}");
        }
    }
}
