//! The box's capture, read by tshark.

use super::testbed::{KERNEL_LEFT, Testbed};
use crate::namespace::say_skipped;
use crate::programs::{folder_with_file, python_server};

#[test]
fn tshark_finds_the_damage() {
    let Some(testbed) = Testbed::new() else { return };
    if std::process::Command::new("tshark").arg("-v").output().is_err() {
        return say_skipped("tshark", "");
    }
    let (folder, bytes) = folder_with_file(11, 2_000_000);
    let pcap = folder.path().join("pcapng");
    let pcap = pcap.to_str().unwrap();
    let running = testbed.start(&[
        "--rate",
        "100mbit",
        "--delay",
        "1ms",
        "--damage",
        "random:2%",
        "--header-hit",
        "50%",
        "--pcap",
        pcap,
    ]);
    let _server = python_server(&testbed.left, folder.path());
    let got = testbed.right.run("curl", &["-sSf", &format!("http://{KERNEL_LEFT}:8000/file")]).stdout;
    assert!(got == bytes);
    let summary = running.stop();
    let count = |filter: &str| {
        let words = ["-r", pcap, "-o", "tcp.check_checksum:TRUE", "-Y", filter];
        let output = testbed.middle.run("tshark", &words).stdout;
        String::from_utf8(output).unwrap().lines().count() as u64
    };
    let of = |way: &str, key: &str| summary[way][key].as_u64().unwrap();
    let [at_left, at_right] = ["hwa", "hwb"].map(|name| format!("frame.interface_name == \"{name}\""));
    let offered = of("forward", "offered") + of("reverse", "delivered");
    assert_eq!(count(&at_left), offered, "every packet at the first interface: {summary}");
    assert_eq!(count(&at_right), of("reverse", "offered") + of("forward", "delivered"), "{summary}");
    // Packets entering the box have valid checksums, also those with checksum offload. (Outbound: 2.)
    assert_eq!(
        count(&format!("{at_left} && frame.packet_flags_direction == 2 && tcp.checksum.status == \"Bad\"")),
        0
    );
    let damaged = of("forward", "delivered_damaged");
    assert!(damaged > 0);
    assert_eq!(count("frame.comment contains \"damaged: 1 bit flipped\""), damaged);
    assert_eq!(
        count("frame.comment contains \"header hit\""),
        of("forward", "hit_in_header"),
        "nothing is doubled here"
    );
    // Every checksum detects one flipped bit; an unreadable header has no checksum.
    assert!(count("tcp.checksum.status == \"Bad\"") <= damaged);
    assert!(count("tcp.checksum.status == \"Bad\"") >= damaged - of("forward", "hit_in_header"));

    // The fates of the packets that arrived on the right can be replayed.
    let trace = format!("trace:{pcap}");
    let words = ["race", "--json", "--runs", "1", "--variant", "sack", "--size", "10kB", "--damage", &trace];
    let race: serde_json::Value =
        serde_json::from_slice(&testbed.middle.run(crate::namespace::HEADWAY, &words).stdout).unwrap();
    let share = race["scenario"]["share_hit"].as_f64().unwrap();
    let expected = damaged as f64 / of("forward", "delivered") as f64;
    assert!((share - expected).abs() < 1e-9, "{share}, not {expected}");
}
