//! The measurements of one run.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The measurements of one run.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) bytes: u64,
    pub(crate) nanos: u64,
    /// CPU time of the stack's thread in nanoseconds, system calls included; of two stacks, the sender's
    /// first.
    pub(crate) cpu: Vec<u64>,
}

/// Payload of a full segment at an MTU of 1500 with timestamps.
const SEGMENT: f64 = 1448.0;

impl Sample {
    /// Payload, Gbit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.nanos as f64
    }

    /// CPU nanoseconds for 1448 bytes.
    pub(crate) fn costs(&self) -> Vec<f64> {
        let segments = self.bytes as f64 / SEGMENT;
        self.cpu.iter().map(|&nanos| nanos as f64 / segments).collect()
    }

    /// As [`Sample::from_str`] reads it.
    pub(crate) fn line(&self) -> String {
        let numbers = [self.bytes, self.nanos];
        let words: Vec<String> = numbers.iter().chain(&self.cpu).map(ToString::to_string).collect();
        words.join(" ")
    }
}

impl FromStr for Sample {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers?.split_first_chunk() {
            Some((&[bytes, nanos], cpu)) if nanos > 0 => Ok(Self { bytes, nanos, cpu: cpu.to_vec() }),
            _ => Err(format!("{line:?}: expected bytes, nanoseconds and times of threads").into()),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:6.2} Gbit/s, ns per segment: {}", self.rate(), join(&self.costs()))
    }
}

pub(crate) fn join(costs: &[f64]) -> String {
    costs.iter().map(|cost| format!("{cost:.0}")).collect::<Vec<_>>().join(" + ")
}
