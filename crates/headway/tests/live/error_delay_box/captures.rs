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
    let fields =
        ["frame.interface_name", "frame.packet_flags_direction", "tcp.checksum.status", "frame.comment"];
    let fields = fields.map(|field| ["-e", field]).concat();
    let words = [&["-r", pcap, "-o", "tcp.check_checksum:TRUE", "-T", "fields"][..], &fields].concat();
    let listed = String::from_utf8(testbed.middle.run("tshark", &words).stdout).unwrap();
    let packets: Vec<Packet<'_>> = listed.lines().map(Packet::parse).collect();
    let count =
        |is_it: &dyn Fn(&Packet<'_>) -> bool| packets.iter().filter(|packet| is_it(packet)).count() as u64;
    let of = |way: &str, key: &str| summary[way][key].as_u64().unwrap();
    let offered = of("forward", "offered") + of("reverse", "delivered");
    let at_left = count(&|packet| packet.interface == "hwa");
    assert_eq!(at_left, offered, "every packet at the first interface: {summary}");
    let at_right = count(&|packet| packet.interface == "hwb");
    assert_eq!(at_right, of("reverse", "offered") + of("forward", "delivered"), "{summary}");
    // Packets entering the box have valid checksums, also those with checksum offload.
    let entering = |packet: &Packet<'_>| packet.interface == "hwa" && packet.is_outbound;
    assert!(count(&entering) > 500);
    assert_eq!(count(&|packet| entering(packet) && packet.is_bad), 0);
    let damaged = of("forward", "delivered_damaged");
    assert!(damaged > 0);
    assert_eq!(count(&|packet| packet.comment.contains("damaged: 1 bit flipped")), damaged);
    let hit_in_header = count(&|packet| packet.comment.contains("header hit"));
    assert_eq!(hit_in_header, of("forward", "hit_in_header"), "nothing is doubled here");
    // Every checksum detects one flipped bit; an unreadable header has no checksum.
    let bad = count(&|packet| packet.is_bad);
    assert!((damaged - hit_in_header..=damaged).contains(&bad), "{bad} of {damaged}");

    // The fates of the packets that arrived on the right can be replayed.
    let trace = format!("trace:{pcap}");
    let words = ["race", "--json", "--runs", "1", "--variant", "sack", "--size", "10kB", "--damage", &trace];
    let race: serde_json::Value =
        serde_json::from_slice(&testbed.middle.run(crate::namespace::HEADWAY, &words).stdout).unwrap();
    let share = race["scenario"]["share_hit"].as_f64().unwrap();
    let expected = damaged as f64 / of("forward", "delivered") as f64;
    assert!((share - expected).abs() < 1e-9, "{share}, not {expected}");
}

/// A packet of the capture, as tshark lists it.
struct Packet<'a> {
    interface: &'a str,
    is_outbound: bool,
    /// Its TCP checksum is wrong.
    is_bad: bool,
    comment: &'a str,
}

impl<'a> Packet<'a> {
    fn parse(line: &'a str) -> Self {
        let [interface, direction, checksum, comment] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        Self { interface, is_outbound: direction.ends_with('2'), is_bad: checksum == "0", comment }
    }
}
