//! The findings of `headway doctor`, with and without root.

use std::process::Command;

use headway_test_fixture::process::free_addresses;
use headway_test_fixture::relay::Relay;

use crate::namespace::{HEADWAY, Namespace, OURS};
use crate::relay;

fn report(command: &mut Command) -> serde_json::Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn mark<'a>(report: &'a serde_json::Value, subject: &str) -> &'a str {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["subject"] == subject);
    found.unwrap_or_else(|| panic!("{subject}: {report}"))["mark"].as_str().unwrap()
}

#[test]
fn udp_needs_no_privilege() {
    let report = report(Command::new(HEADWAY).args(["doctor", "--json"]));
    assert_eq!(mark(&report, "udp4"), "good");
    assert!(report["advice"].as_str().unwrap().contains("--udp"));
}

#[test]
fn a_path_to_a_peer_keeps_options() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let folder = tempfile::tempdir().unwrap();
    let words = ["serve", folder.path().to_str().unwrap(), "--udp", &b, "any"];
    let mut server = Command::new(HEADWAY).args(words).spawn().unwrap();
    let words = ["doctor", "--json", "--udp", &a, &b, "--connect", "127.0.0.1:80"];
    let report = report(Command::new(HEADWAY).args(words));
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((mark(&report, "path"), mark(&report, "options")), ("good", "good"), "{report}");
    assert!(report.to_string().contains("HACK v2; not: Extended HACK"), "{report}");
}

fn text<'a>(report: &'a serde_json::Value, subject: &str) -> &'a str {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["subject"] == subject).unwrap()["text"].as_str().unwrap()
}

/// Two doctors with a relay between them.
fn through(mangle: fn(bool, &mut [u8]) -> bool) -> serde_json::Value {
    let [a, b, near, far] = free_addresses();
    let _relay = Relay::new([near, far], [a, b], |from| move |segment, _| mangle(from == 0, segment));
    let [a, b, near] = [a, b, near].map(|address| address.to_string());
    let mut server =
        Command::new(HEADWAY).args(["doctor", "--udp", &b, "any", "--listen", "7"]).spawn().unwrap();
    let words = ["doctor", "--json", "--udp", &a, &near, "--connect", "127.0.0.1:7"];
    let report = report(Command::new(HEADWAY).args(words));
    assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(0), "SIGTERM ends it orderly");
    report
}

#[test]
fn a_clear_path_has_no_problems() {
    let report = through(|_, _| true);
    for subject in ["path", "options", "options there", "options back", "damage there", "damage back"] {
        assert_eq!(mark(&report, subject), "good", "{subject}: {report:#}");
    }
    assert!(text(&report, "options there").contains("HACK v2 (kind 253)"), "{report:#}");
    // The relay does not forward the field.
    assert_eq!((mark(&report, "ECN there"), mark(&report, "ECN back")), ("bad", "bad"), "{report:#}");
}

#[test]
fn stripped_options_are_distinguished_from_unsupported_ones() {
    let report = through(relay::strips_hack);
    assert_eq!(mark(&report, "options there"), "bad", "{report:#}");
    let there = text(&report, "options there");
    assert!(there.contains("removed on the path: HACK (kind 14), HACK v2 (kind 253)"), "{there}");
    assert!(there.contains("MSS from") && there.contains("to 1200"), "{there}");
    assert_eq!(mark(&report, "options back"), "good", "{report:#}");
    assert!(text(&report, "options").contains("not: HACK (kinds 14 and 15)"), "{report:#}");
    // A peer without HACK: nothing is removed on the path.
    let [a, b] = free_addresses().map(|address| address.to_string());
    let words = ["doctor", "--udp", &b, "any", "--listen", "7", "--variant", "modern"];
    let mut server = Command::new(HEADWAY).args(words).spawn().unwrap();
    let words = ["doctor", "--json", "--udp", &a, &b, "--connect", "127.0.0.1:7"];
    let report = self::report(Command::new(HEADWAY).args(words));
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((mark(&report, "options"), mark(&report, "options there")), ("unknown", "good"), "{report:#}");
    // Without a relay ECN arrives too.
    assert_eq!((mark(&report, "ECN there"), mark(&report, "ECN back")), ("good", "good"), "{report:#}");
}

#[test]
fn a_path_that_drops_damage_is_reported() {
    let report = through(relay::drops_damage);
    assert_eq!((mark(&report, "damage there"), mark(&report, "damage back")), ("bad", "bad"), "{report:#}");
    assert_eq!(mark(&report, "options there"), "good", "{report:#}");
}

/// The verdict is the first line; scripts see the exit code.
#[test]
fn a_connection_that_fails_is_a_failure() {
    let doctor = |form: &[&str]| {
        let words = ["doctor", "--kernel", "--connect", "127.0.0.1:1"];
        let output = Command::new(HEADWAY).args(words).args(form).output().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{says}");
        assert!(says.starts_with("headway: 127.0.0.1:1: Connection refused"), "{says}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = doctor(&[]);
    assert!(
        text.starts_with("this path: it does not work, because no connection could be opened\n"),
        "{text}"
    );
    assert!(text.contains("\nuse --") && !text.contains("udp4"), "{text}");
    assert!(doctor(&["-v"]).contains("udp4"));
    let report: serde_json::Value = serde_json::from_str(&doctor(&["--json"])).unwrap();
    assert_eq!((mark(&report, "path"), mark(&report, "udp4")), ("bad", "good"), "{report}");
}

#[test]
fn root_has_every_carrier() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.ip(&["link", "add", "hw1", "type", "veth", "peer", "name", "hw2"]);
    namespace.ip(&["link", "set", "hw1", "up"]);
    namespace.ip(&["link", "set", "hw2", "up"]);
    let report = report(&mut namespace.command(HEADWAY, &["doctor", "--json"]));
    for subject in ["tun", "packet", "udp4", "udp6"] {
        assert_eq!(mark(&report, subject), "good", "{subject}: {report}");
    }
    assert_eq!(mark(&report, "interface hw1"), "noted");
    assert!(report.to_string().contains("sends with checksum"), "{report}");
}

#[test]
fn a_kernel_peer_negotiates_its_options() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _server = crate::programs::python_server(&namespace, folder.path());
    let words =
        ["doctor", "--json", "--connect", "10.77.2.1:8000", "--tun", "hw0", "--address", "10.77.2.2/24"];
    let report = report(&mut namespace.command(HEADWAY, &words));
    assert_eq!((mark(&report, "path"), mark(&report, "options")), ("good", "unknown"), "{report} {OURS}");
    assert!(report.to_string().contains("SACK, timestamps, window scaling; not: HACK"), "{report}");
}
