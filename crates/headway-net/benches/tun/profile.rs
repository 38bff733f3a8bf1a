//! CPU time of the stack's thread by function, by `perf`.

use std::collections::BTreeMap;
use std::process::Command;

use crate::cases::Case;
use crate::{Error, report};

/// The groups of samples: the first group with a word in the call chain, from the innermost function
/// outwards. Inlined functions count as their callers.
const GROUPS: [(&str, &[&str]); 12] = [
    ("kernel: wakes another thread", &["eventfd_write", "__x64_sys_futex", "do_futex"]),
    ("kernel: waits (poll)", &["do_sys_poll", "__x64_sys_ppoll", "__x64_sys_poll"]),
    ("kernel: its IP and TCP, after write", &["netif_receive_skb", "netif_rx", "net_rx_action"]),
    ("kernel: write, copying the packet", &["skb_copy_datagram_from_iter", "_copy_from_iter"]),
    ("kernel: write, other", &["tun_chr_write_iter", "ksys_write", "do_writev", "__x64_sys_write"]),
    ("kernel: read, copying the packet", &["skb_copy_datagram_iter", "_copy_to_iter"]),
    ("kernel: read, other", &["tun_chr_read_iter", "ksys_read", "do_readv", "__x64_sys_read"]),
    ("copies", &["memmove", "memcpy", "memset"]),
    (
        "checksum, CRC, building packets",
        &["headway_wire::checksum", "crc32c", "segment::emit", "segment::seal"],
    ),
    ("parsing and verdicts", &["headway_wire::"]),
    ("TCP output", &["connection::output", "poll_transmit"]),
    ("TCP input: ACK, text, recovery, congestion", &["headway_tcp::"]),
];
const KERNEL: &str = "kernel: other";
const DRIVER: &str = "driver and carrier";

/// Runs each case under `perf` and prints a table: CPU nanoseconds for 1448 bytes.
pub(crate) fn run(cases: &[&Case], seconds: f64) -> Result<(), Error> {
    let file = std::env::temp_dir().join(format!("headway-{}.perf", std::process::id()));
    let costs: Result<Vec<_>, Error> =
        cases.iter().map(|case| record(case, seconds, &file.to_string_lossy())).collect();
    // The file may not exist.
    let _ = std::fs::remove_file(&file);
    let costs = costs?;
    let row = |name: &str, cells: Vec<String>| println!("| {name} | {} |", cells.join(" | "));
    println!("{}; {seconds} s each\n", report::machine());
    row("ns per segment", cases.iter().map(|case| format!("`{}`", case.key)).collect());
    println!("|---{}|", "|---".repeat(cases.len()));
    for name in GROUPS.iter().map(|&(name, _)| name).chain([KERNEL, DRIVER]) {
        row(name, costs.iter().map(|costs| format!("{:.0}", costs.get(name).unwrap_or(&0.0))).collect());
    }
    row("all", costs.iter().map(|costs| format!("{:.0}", costs.values().sum::<f64>())).collect());
    Ok(())
}

/// The cost of each group, in nanoseconds for 1448 bytes.
fn record(case: &Case, seconds: f64, file: &str) -> Result<BTreeMap<&'static str, f64>, Error> {
    let (_places, subject) = case.start(seconds)?;
    let thread = subject.thread()?.to_string();
    let time = (seconds - 1.0).to_string();
    let words = ["record", "-q", "-g", "-F", "5000", "-t", &thread, "-o", file, "--", "sleep", &time];
    if !Command::new("perf").args(words).status().map_err(|error| format!("perf: {error}"))?.success() {
        return Err("perf record failed".into());
    }
    let sample = subject.sample()?;
    eprintln!("{:20} {sample}", case.key);
    let script = Command::new("perf").args(["script", "-F", "ip,sym,dso", "-i", file]).output()?;
    let text = String::from_utf8_lossy(&script.stdout);
    let stacks: Vec<&str> = text.split("\n\n").map(str::trim).filter(|stack| !stack.is_empty()).collect();
    let each = sample.costs().first().ok_or("no thread was measured")? / stacks.len() as f64;
    let mut costs = BTreeMap::new();
    for stack in stacks {
        *costs.entry(group(stack)).or_default() += each;
    }
    Ok(costs)
}

/// The group of one call chain as `perf script` prints it, innermost function first.
fn group(stack: &str) -> &'static str {
    let in_kernel = stack.lines().next().is_some_and(|line| line.contains("[kernel"));
    let mut frames = stack.lines().filter(|line| line.contains("[kernel") == in_kernel);
    let found = frames.find_map(|frame| {
        let is_here = |words: &[&str]| words.iter().any(|word| frame.contains(word));
        GROUPS.iter().find(|(name, words)| name.starts_with("kernel") == in_kernel && is_here(words))
    });
    found.map_or(if in_kernel { KERNEL } else { DRIVER }, |&(name, _)| name)
}
