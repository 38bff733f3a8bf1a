//! `headway lab live`: runs between its own namespaces, without residues.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use headway_test_fixture::process::wait_until;

use crate::namespace::{HEADWAY, Namespace, say_skipped};

const SMALL: &str = r#"
title = "Small"
runs = 2

[sweep]
clock = ["virtual", "real"]
variant = ["headway", "linux:cubic"]

[scenario]
size = "300KB"
delay = "10ms"
damage = "random:2%"
header-hit = "40%"
time-limit = "60s"

[figure]
kind = "table"
measure = "time"
"#;

/// A folder with an experiment; `None` if this machine or user cannot run it.
fn with_experiment(text: &str) -> Option<tempfile::TempDir> {
    // Prints the reason otherwise.
    drop(Namespace::new()?);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), text).unwrap();
    Some(folder)
}

fn lab_live(folder: &Path) -> Command {
    let mut command = Command::new(HEADWAY);
    command.args(["lab", "live", "small.toml", "--jobs", "4"]).current_dir(folder).stdin(Stdio::null());
    command
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_byte_arrives_and_runs_are_made_once() {
    let Some(folder) = with_experiment(SMALL) else { return };
    let journal = || fs::read(folder.path().join("results/small/runs.jsonl")).unwrap();
    let output = lab_live(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let table = fs::read_to_string(folder.path().join("results/small/runs.csv")).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let senders: Vec<_> = rows.iter().map(|row| (row[place("clock")], row[place("variant")])).collect();
    let expected = [("virtual", "headway"), ("real", "headway"), ("real", "linux")];
    assert_eq!(senders, expected.map(|sender| [sender; 2]).concat());
    for row in &rows {
        assert_eq!(row[place("finished")], "true", "{row:?}");
        assert_eq!(row[place("delivered_bytes")], "300000", "{row:?}");
        assert_eq!(row[place("damaged_bytes_delivered")], "0", "{row:?}");
        let real = row[place("clock")] == "real";
        assert_eq!(row[place("box_late_seconds")].parse::<f64>().is_ok(), real, "{row:?}");
    }
    let made = journal();
    let output = lab_live(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(journal(), made, "stored runs are not repeated");
}

#[test]
fn a_run_of_fixed_duration_counts_arrived_bytes() {
    let text = SMALL.replace("size = \"300KB\"", "duration = \"1s\"").replace("runs = 2", "runs = 1");
    let Some(folder) = with_experiment(&text) else { return };
    let output = lab_live(folder.path()).args(["--pcap", "packets"]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    // The box recorded the sender's packets and their fates.
    let captures = fs::read_dir(folder.path().join("packets")).unwrap().flatten();
    let lengths: Vec<u64> = captures.map(|file| file.metadata().unwrap().len()).collect();
    assert!(lengths.len() == 2 && lengths.iter().all(|length| *length > 100_000), "{lengths:?}");
    let table = fs::read_to_string(folder.path().join("results/small/runs.csv")).unwrap();
    let real: Vec<&str> = table.lines().filter(|row| row.starts_with("real,")).collect();
    assert_eq!(real.len(), 2, "{table}");
    assert!(real.iter().all(|row| row.contains(",true,1,")), "finished after a second: {table}");
}

/// The hosts of a run have one peer each, behind the box: with `frames = "count"` they count packets whose IP header
/// it damaged, and the sender takes no such loss for congestion.
#[test]
fn damaged_ip_headers_are_counted() {
    let text = SMALL
        .replace("clock = [\"virtual\", \"real\"]", "frames = [\"drop\", \"count\"]")
        .replace("variant = [\"headway\", \"linux:cubic\"]", "variant = [\"headway:cubic\"]")
        .replace("size = \"300KB\"", "clock = \"real\"\nduration = \"3s\"\nhit-zone = \"ip+tcp\"")
        .replace("random:2%", "burst:15%:5")
        .replace("40%", "place")
        .replace("runs = 2", "runs = 1");
    let Some(folder) = with_experiment(&text) else { return };
    let output = lab_live(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let table = fs::read_to_string(folder.path().join("results/small/runs.csv")).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let delivered = |frames: &str| {
        let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<&str>>());
        let row = rows.find(|row| row[place("frames")] == frames).unwrap();
        assert_eq!(row[place("clock")], "real");
        row[place("delivered_bytes")].parse::<u64>().unwrap()
    };
    let [dropped, counted] = ["drop", "count"].map(delivered);
    // More than a quarter of the packets vanish: more than the ledger believes of an unknown path without the count.
    assert!(5 * counted > 6 * dropped, "{counted} bytes with the count, {dropped} without");
}

/// The carrier that needs no privilege: the kernel drops what is damaged in its headers.
#[test]
fn our_segments_go_over_udp() {
    let text = SMALL
        .replace("clock = [\"virtual\", \"real\"]", "carrier = [\"ip\", \"udp\"]")
        .replace("variant = [\"headway\", \"linux:cubic\"]", "variant = [\"headway\"]")
        .replace("size = \"300KB\"", "clock = \"real\"\nsize = \"300KB\"\nhit-zone = \"ip+tcp\"")
        .replace("runs = 2", "runs = 1");
    let Some(folder) = with_experiment(&text) else { return };
    let output = lab_live(folder.path()).args(["--pcap", "packets"]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let table = fs::read_to_string(folder.path().join("results/small/runs.csv")).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let carriers: Vec<&str> = rows.iter().map(|row| row[place("carrier")]).collect();
    assert_eq!(carriers, ["ip", "udp"]);
    for row in &rows {
        let measures =
            ["finished", "delivered_bytes", "damaged_bytes_delivered"].map(|name| row[place(name)]);
        assert_eq!(measures, ["true", "300000", "0"], "{table}");
    }
}

/// Its namespaces, by inode number, and the processes that it started.
fn of_process(pid: u32) -> (BTreeSet<String>, Vec<u32>) {
    let namespaces = links(&format!("/proc/{pid}/fd")).filter(|link| link.starts_with("net:[")).collect();
    let parent = format!("PPid:\t{pid}");
    let children = processes().filter(|child| {
        fs::read_to_string(format!("/proc/{child}/status"))
            .is_ok_and(|status| status.lines().any(|line| line == parent))
    });
    (namespaces, children.collect())
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn links(folder: &str) -> impl Iterator<Item = String> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_str()?.to_owned()))
}

/// Whether any process uses one of these namespaces, as its own or as a file, or any mount refers to it.
fn anybody_has(namespaces: &BTreeSet<String>) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    namespaces.iter().any(|namespace| mounts.contains(namespace.as_str()))
        || processes().any(|pid| {
            ["ns", "fd"]
                .iter()
                .any(|what| links(&format!("/proc/{pid}/{what}")).any(|link| namespaces.contains(&link)))
        })
}

/// Kills a process when the test ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It has ended already if the test passed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_remains_after_sigkill() {
    let has_kcptun = Command::new("kcptun-client").arg("-v").output().is_ok();
    let variant = if has_kcptun { "\"headway\", \"kcptun\"" } else { "\"headway\", \"linux:cubic\"" };
    let text = SMALL
        .replace("\"headway\", \"linux:cubic\"", variant)
        .replace("size = \"300KB\"", "duration = \"600s\"")
        .replace("clock = [\"virtual\", \"real\"]", "clock = [\"real\"]")
        .replace("runs = 2", "runs = 1");
    let Some(folder) = with_experiment(&text) else { return };
    if !has_kcptun {
        say_skipped("kcptun", "");
    }
    let interfaces = || links("/sys/class/net").count();
    let before = interfaces();
    let mut running = Killed(lab_live(folder.path()).stderr(Stdio::null()).spawn().unwrap());
    let pid = running.0.id();
    let programs = if has_kcptun { 2 } else { 0 };
    let mut found = (BTreeSet::new(), Vec::new());
    // `ip` processes are short-lived.
    wait_until("six namespaces and the programs in them", || {
        found = of_process(pid);
        found.0.len() == 6 && found.1.len() == programs
    });
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let (namespaces, children) = found;
    assert!(namespaces.iter().all(|namespace| namespace.starts_with("net:[")));
    wait_until("processes and namespaces are gone", || {
        let lives = |child: &u32| Path::new(&format!("/proc/{child}/exe")).read_link().is_ok();
        !children.iter().any(lives) && !anybody_has(&namespaces)
    });
    assert_eq!(interfaces(), before);
}

/// With the handshake of its tunnel, which is part of the run.
#[test]
fn hysteria_carries_every_byte() {
    let text = SMALL
        .replace("clock = [\"virtual\", \"real\"]", "clock = [\"real\"]")
        .replace("\"headway\", \"linux:cubic\"", "\"hysteria:bbr\", \"hysteria:brutal\"")
        .replace("runs = 2", "runs = 1");
    let Some(folder) = with_experiment(&text) else { return };
    if Command::new("hysteria").arg("version").output().is_err() {
        say_skipped("hysteria", "");
        return;
    }
    let output = lab_live(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let table = fs::read_to_string(folder.path().join("results/small/runs.csv")).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let rows = table.lines().skip(1).map(|row| row.split(',').collect::<Vec<&str>>());
    let seen: Vec<_> = rows
        .map(|row| {
            ["cc", "finished", "delivered_bytes", "damaged_bytes_delivered"]
                .map(|name| row[place(name)].to_owned())
        })
        .collect();
    assert_eq!(seen, ["bbr", "brutal"].map(|congestion| [congestion, "true", "300000", "0"]), "{table}");
}

#[test]
fn missing_requirements_are_named() {
    let refuse = |variant: &str, change: &dyn Fn(&mut Command)| {
        let text = SMALL.replace("\"headway\", \"linux:cubic\"", &format!("\"{variant}\""));
        let folder = with_experiment(&text)?;
        let mut command = lab_live(folder.path());
        change(&mut command);
        let output = command.output().unwrap();
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{variant}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        Some(complaint)
    };
    let Some(message) = refuse("linux:vegas-of-none", &|_| {}) else { return };
    assert!(message.contains("linux:vegas-of-none") && message.contains("this kernel has"), "{message}");
    let bare = tempfile::tempdir().unwrap();
    let nowhere = |command: &mut Command| {
        command.env("PATH", bare.path());
    };
    let message = refuse("headway", &nowhere).unwrap();
    assert!(message.contains("expected the package iproute2"), "{message}");
    let ip = String::from_utf8(Command::new("sh").args(["-c", "command -v ip"]).output().unwrap().stdout);
    std::os::unix::fs::symlink(ip.unwrap().trim(), bare.path().join("ip")).unwrap();
    let message = refuse("kcptun", &nowhere).unwrap();
    assert!(message.contains("expected the package kcptun"), "{message}");
    let message = refuse("hysteria:bbr", &nowhere).unwrap();
    assert!(message.contains("expected what `reference/trunk/rivals` builds"), "{message}");
    if !Path::new(HEADWAY).with_file_name("headway-quic-pipe").exists() {
        let message = refuse("quinn:bbr", &nowhere).unwrap();
        assert!(
            message.contains("cargo build --release --manifest-path reference/quinn/Cargo.toml"),
            "{message}"
        );
    }
    // An unprivileged user, in an own folder.
    let message = refuse("headway", &|command| {
        let folder = command.get_current_dir().unwrap().to_owned();
        std::os::unix::fs::chown(&folder, Some(65_534), None).unwrap();
        command.uid(65_534);
    });
    let message = message.unwrap();
    assert!(message.contains("expected root"), "{message}");
    let folder = with_experiment(SMALL).unwrap();
    let output =
        Command::new(HEADWAY).args(["lab", "run", "small.toml"]).current_dir(folder.path()).output().unwrap();
    assert!(complaint(&output).contains("headway lab live"), "{}", complaint(&output));
}
