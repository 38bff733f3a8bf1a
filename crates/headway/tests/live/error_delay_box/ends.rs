//! Start and end of the box.

use std::process::Command;

use super::testbed::Testbed;
use crate::namespace::{HEADWAY, Namespace, say_skipped};

/// Runs the box with these arguments, which must fail with this code; returns its message.
fn refuse(mut command: Command, code: i32) -> String {
    let output = command.output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    assert!(complaint.starts_with("headway: ") && complaint.trim_end().lines().count() == 1, "{complaint}");
    complaint
}

#[test]
fn wrong_options_are_named() {
    let run = |words: &[&str]| {
        let mut command = Command::new(HEADWAY);
        command.arg("box").args(words);
        refuse(command, 2)
    };
    for (words, expected) in [
        (&["hwa"][..], "<IFACE_B>"),
        (&["hwa", "hwb", "--config", "x.toml", "--rate", "1mbit"], "--rate"),
        (&["hwa", "hwb", "--config", "/no/such.toml"], "/no/such.toml"),
        (&["hwa", "hwb", "--damage", "sometimes"], "sometimes"),
        (&["hwa", "hwb", "--rate", "0mbit"], "--rate"),
        (&["hwa", "hwb", "--interval", "1ms"], "at least 10ms"),
        (&["hwa", "hwa"], "two different interfaces"),
    ] {
        let complaint = run(words);
        assert!(complaint.contains(expected), "{words:?}: {complaint}");
    }
}

#[test]
fn unusable_interfaces_are_named() {
    let Some(namespace) = Namespace::new() else { return };
    let run = |words: &[&str], code| refuse(namespace.command(HEADWAY, &[&["box"], words].concat()), code);
    let complaint = run(&["no-such-one", "lo"], 1);
    assert!(complaint.contains("no-such-one") && complaint.contains("ip link"), "{complaint}");
    let complaint = run(&["lo", "no-such-one"], 1);
    assert!(complaint.contains("interface lo") && complaint.contains("veth"), "{complaint}");
    namespace.ip(&["link", "add", "hwa", "type", "veth", "peer", "name", "hwb"]);
    let complaint = run(&["hwa", "hwb"], 1);
    assert!(complaint.contains("ip link set") && complaint.contains("hwa"), "{complaint}");
}

#[test]
fn connected_interfaces_are_refused() {
    let Some(namespace) = Namespace::new() else { return };
    let run = || refuse(namespace.command(HEADWAY, &["box", "hwa", "hwb", "--duration", "1ms"]), 2);
    namespace.ip(&["link", "add", "hwa", "type", "veth", "peer", "name", "hwb"]);
    for end in ["hwa", "hwb"] {
        namespace.ip(&["link", "set", end, "up"]);
    }
    let complaint = run();
    assert!(complaint.contains("interfaces hwa and hwb, the two ends of one veth: expected"), "{complaint}");
    // The ends of two veths are accepted, unless they are ports of one bridge.
    namespace.ip(&["link", "del", "hwa"]);
    for (end, other) in [("hwa", "hwc"), ("hwb", "hwd")] {
        namespace.ip(&["link", "add", end, "type", "veth", "peer", "name", other]);
        namespace.ip(&["link", "set", end, "up"]);
        namespace.ip(&["link", "set", other, "up"]);
    }
    namespace.run(HEADWAY, &["box", "hwa", "hwb", "--duration", "1ms"]);
    let bridge = ["link", "add", "hwe", "type", "bridge"];
    if !namespace.command("ip", &bridge).output().unwrap().status.success() {
        return say_skipped("bridge", "");
    }
    for end in ["hwa", "hwb"] {
        namespace.ip(&["link", "set", end, "master", "hwe"]);
    }
    let complaint = run();
    assert!(complaint.contains("interfaces hwa and hwb, ports of one bridge: expected"), "{complaint}");
}

#[test]
fn missing_rights_are_named() {
    let Some(testbed) = Testbed::new() else { return };
    let words = ["--inh-caps=-all", "--bounding-set=-all", "--reuid=65534", "--clear-groups", HEADWAY];
    let command = testbed.middle.command("setpriv", &[&words[..], &["box", "hwa", "hwb"]].concat());
    let complaint = refuse(command, 1);
    assert!(complaint.contains("CAP_NET_RAW"), "{complaint}");
}

#[test]
fn a_removed_interface_ends_it_with_a_summary() {
    let Some(testbed) = Testbed::new() else { return };
    let running = testbed.start(&["--damage", "none"]);
    testbed.middle.ip(&["link", "del", "hwb"]);
    let (code, summary, complaints) = running.end();
    assert_eq!(code, Some(1), "{complaints}");
    assert!(complaints.contains("interface hwb: is gone"), "{complaints}");
    assert_eq!(summary["end"], true);
    assert!(summary["error"].as_str().unwrap().contains("hwb"), "{summary}");
}

#[test]
fn time_and_signals_end_it_with_a_summary() {
    let Some(testbed) = Testbed::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let words = ["--damage", "none", "--duration", "300ms", "--ready-file", ready.to_str().unwrap()];
    let (code, summary, complaints) = testbed.start(&words).end();
    assert_eq!((code, &summary["end"]), (Some(0), &true.into()), "{complaints}");
    assert!(summary["seconds"].as_f64().unwrap() >= 0.3, "{summary}");
    assert!(summary["error"].is_null() && ready.exists());
    for signal in ["-INT", "-TERM"] {
        let mut running = testbed.start(&["--damage", "none", "--realtime=off"]);
        let line = running.line_with("end");
        assert_eq!((&line["end"], &line["real_time"]), (&false.into(), &false.into()));
        running.signal(signal);
        let (code, summary, complaints) = running.end();
        assert_eq!((code, &summary["end"]), (Some(0), &true.into()), "{complaints}");
        for way in ["forward", "reverse"] {
            for key in [
                "offered",
                "offered_bytes",
                "delivered",
                "delivered_bytes",
                "queue_drops",
                "lost",
                "hit",
                "hit_in_header",
                "marked",
                "duplicated",
                "reordered",
                "queue_packets",
                "kernel_drops",
            ] {
                assert!(summary[way][key].is_u64(), "{key}: {summary}");
            }
            for times in ["lateness", "reading"] {
                for key in ["median_seconds", "p99_seconds", "max_seconds"] {
                    assert!(summary[way][times][key].is_f64(), "{times} {key}: {summary}");
                }
            }
        }
    }
}

#[test]
fn the_table_begins_with_the_link() {
    let Some(testbed) = Testbed::new() else { return };
    let words = ["box", "hwa", "hwb", "--rate", "7mbit", "--duration", "200ms", "--interval", "50ms"];
    let text = String::from_utf8(testbed.middle.run(HEADWAY, &words).stdout).unwrap();
    assert!(
        text.starts_with("hwa -> hwb: 7mbit, one-way delay 300ms, queue 100p, damage burst:5%:5"),
        "{text}"
    );
    assert!(text.lines().any(|line| line == "ready"), "{text}");
    assert!(text.contains("total after 0."), "{text}");
}
