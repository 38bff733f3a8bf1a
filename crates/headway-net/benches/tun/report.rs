//! What was measured, and the table of it.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::cases::Case;

/// What one run measured.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) octets: u64,
    pub(crate) nanos: u64,
    /// Nanoseconds that the stack's thread ran, the kernel's work in its system calls included; of two
    /// stacks, the sender's first.
    pub(crate) cpu: Vec<u64>,
}

/// Payload of a full segment at an MTU of 1500 with timestamps.
const SEGMENT: f64 = 1448.0;

impl Sample {
    /// Payload, Gbit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.octets as f64 * 8.0 / self.nanos as f64
    }

    /// Nanoseconds of processor for 1448 octets.
    pub(crate) fn costs(&self) -> Vec<f64> {
        let segments = self.octets as f64 / SEGMENT;
        self.cpu.iter().map(|&nanos| nanos as f64 / segments).collect()
    }

    /// As [`Sample::from_str`] reads it.
    pub(crate) fn line(&self) -> String {
        let numbers = [self.octets, self.nanos];
        let words: Vec<String> = numbers.iter().chain(&self.cpu).map(ToString::to_string).collect();
        words.join(" ")
    }
}

impl FromStr for Sample {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers?.split_first_chunk() {
            Some((&[octets, nanos], cpu)) if nanos > 0 => Ok(Self { octets, nanos, cpu: cpu.to_vec() }),
            _ => Err(format!("{line:?}: expected octets, nanoseconds and times of threads").into()),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:6.2} Gbit/s, ns a segment: {}", self.rate(), join(&self.costs()))
    }
}

fn join(costs: &[f64]) -> String {
    costs.iter().map(|cost| format!("{cost:.0}")).collect::<Vec<_>>().join(" + ")
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The table, in Markdown: medians.
pub(crate) fn print(cases: &[&Case], samples: &[Vec<Sample>], seconds: f64) {
    let rate = |samples: &[Sample]| median(samples.iter().map(Sample::rate));
    let kernel = cases.iter().position(|case| case.key == "kernel").map(|index| rate(&samples[index]));
    println!("{}; {} runs of {seconds} s each\n", machine(), samples.first().map_or(0, Vec::len));
    println!("| | Gbit/s | least to most | of the kernel's | ns a segment |");
    println!("|---|---|---|---|---|");
    for (case, samples) in cases.iter().zip(samples) {
        let rates = || samples.iter().map(Sample::rate);
        let least = rates().fold(f64::INFINITY, f64::min);
        let most = rates().fold(0.0, f64::max);
        let threads = samples.first().map_or(0, |sample| sample.cpu.len());
        let costs: Vec<f64> =
            (0..threads).map(|thread| median(samples.iter().map(|sample| sample.costs()[thread]))).collect();
        let share = kernel.map_or("-".into(), |kernel| format!("{:.2}", rate(samples) / kernel));
        println!(
            "| {} (`{}`) | {:.2} | {least:.2} to {most:.2} | {share} | {} |",
            case.title,
            case.key,
            rate(samples),
            join(&costs)
        );
    }
}

/// The machine, in a line.
pub(crate) fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let load = read("/proc/loadavg");
    format!(
        "{}, {cores} cores, Linux {}, load {}",
        model.map_or("unknown processor", |(_, model)| model),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split_whitespace().next().unwrap_or("unknown")
    )
}
