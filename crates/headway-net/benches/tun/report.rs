//! The table of results.

use crate::cases::Case;
use crate::sample::{Sample, join};

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
    println!("| | Gbit/s | min to max | relative to the kernel | ns per segment |");
    println!("|---|---|---|---|---|");
    for (case, samples) in cases.iter().zip(samples) {
        let rates = || samples.iter().map(Sample::rate);
        let min = rates().fold(f64::INFINITY, f64::min);
        let max = rates().fold(0.0, f64::max);
        let threads = samples.first().map_or(0, |sample| sample.cpu.len());
        let costs: Vec<f64> =
            (0..threads).map(|thread| median(samples.iter().map(|sample| sample.costs()[thread]))).collect();
        let share = kernel.map_or("-".into(), |kernel| format!("{:.2}", rate(samples) / kernel));
        println!(
            "| {} (`{}`) | {:.2} | {min:.2} to {max:.2} | {share} | {} |",
            case.title,
            case.key,
            rate(samples),
            join(&costs)
        );
    }
}

/// A description of the machine, in one line.
pub(crate) fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    format!(
        "{}, {cores} cores, Linux {}, load {}",
        model.map_or("unknown processor", |(_, model)| model),
        kernel.trim().split('-').next().unwrap_or("unknown"),
        load.split_whitespace().next().unwrap_or("unknown")
    )
}
