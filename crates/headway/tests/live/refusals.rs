//! Errors name their cause.

use std::process::Command;

use headway_test_fixture::process::{free_addresses, say_skipped};

use crate::namespace::{HEADWAY, Namespace, start};

/// Runs `headway` with these arguments, which must fail with this code; returns its message.
fn refuse(words: &[&str], code: i32) -> String {
    let output = Command::new(HEADWAY).args(words).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {complaint}");
    assert!(complaint.starts_with("headway: ") && complaint.trim_end().lines().count() == 1, "{complaint}");
    complaint
}

#[test]
fn a_network_is_needed() {
    let complaint = refuse(&["nc", "192.0.2.1", "80"], 2);
    assert!(
        complaint
            .contains("--tun DEVICE, --udp LOCAL PEER, --packet INTERFACE, --frames LOCAL MODEM, --kiss PLACE, --serial DEVICE:SPEED, --monitor INTERFACE or --kernel"),
        "{complaint}"
    );
}

/// What `--kiss` needs.
const KISS: [&str; 8] = [
    "--callsign",
    "N0CALL-1",
    "--peer-callsign",
    "N0CALL-2",
    "--address",
    "10.77.2.1",
    "--peer-address",
    "10.77.2.2",
];

#[test]
fn invalid_networks_are_named() {
    for (words, expected) in [
        (&["--tun", "hw0", "--address", "10.77.2.2"][..], "10.77.2.2/24"),
        (&["--tun", "hw0", "--address", "10.77.2.2/33"], "10.77.2.2/33"),
        (&["--tun", "hw0", "--address", "10.77.2.0/24"], "the address of a host"),
        (&["--tun", "hw0", "--address", "10.77.2.255/24"], "the address of a host"),
        (&["--packet", "lo", "--address", "fd77::/64"], "the address of a host"),
        (&["--tun", "a-name-far-too-long", "--address", "10.77.2.2/24"], "1 to 15 bytes"),
        (&["--tun", "hw0", "--address", "10.77.2.2/32"], "a second address for the kernel"),
        (&["--tun", "hw0", "--address", "10.77.2.2/24", "--offload"], "a --variant without HACK"),
        (
            &["--tun", "hw0", "--address", "10.77.2.2/24", "--only-peer", "10.77.2.2"],
            "the address of another host",
        ),
        (&["--tun", "hw0", "--address", "10.77.2.2/24", "--only-peer", "fe80::1"], "of the same family"),
        (
            &[
                "--tun",
                "hw0",
                "--address",
                "10.77.2.2/24",
                "--variant",
                "modern",
                "--offload",
                "--only-peer",
                "10.77.2.1",
            ],
            "offload, which hides damage",
        ),
        (
            &[
                "--packet",
                "lo",
                "--address",
                "10.77.2.2/24",
                "--gateway",
                "10.77.2.1",
                "--only-peer",
                "10.77.2.3",
            ],
            "no gateway",
        ),
        (
            &["--udp", "127.0.0.1:1", "127.0.0.1:2", "--only-peer", "127.0.0.1"],
            "--tun or --packet with --only-peer",
        ),
        (&["--kernel", "--only-peer", "127.0.0.1"], "--tun or --packet with --only-peer"),
        (&["--udp", "127.0.0.1", "127.0.0.1:1"], "an address with a port"),
        (&["--udp", "127.0.0.1:1", "[::1]:1"], "one family"),
        (&["--udp", "0.0.0.0:0", "any"], "an inner address, if any peer"),
        (&["--kernel", "--callsign", "N0CALL"], "--callsign N0CALL: expected --kiss with it"),
        (&["--kernel", "--turnaround", "1s"], "--turnaround 1s: expected --kiss or --serial with it"),
        (&[&["--kiss", "localhost"], &KISS[..]].concat(), "--kiss localhost: expected HOST:PORT"),
        (
            &[&["--kiss", "localhost:1", "--callsign", "n0call"], &KISS[2..]].concat(),
            "--callsign n0call: expected up to six capital letters",
        ),
        (
            &[&["--kiss", "localhost:1", "--callsign", "N0CALL-2"], &KISS[2..]].concat(),
            "callsigns N0CALL-2 and N0CALL-2: expected two",
        ),
        (&[&["--serial", "localhost:1"], &KISS[4..]].concat(), "--serial localhost:1: expected DEVICE:SPEED"),
        (
            &[&["--serial", "/dev/ttyUSB9:9600", "--mtu", "130"], &KISS[4..]].concat(),
            "--mtu 130: expected at least 160",
        ),
        (&["--kernel", "--wifi-rate", "6mbit"], "--wifi-rate 6mbit: expected --monitor with it"),
        (
            &[&["--monitor", "wlan0", "--wifi-rate", "7mbit"], &KISS[4..]].concat(),
            "--wifi-rate 7mbit: expected a rate of 802.11a, b or g",
        ),
        (
            &[&["--monitor", "wlan0,wlan0"], &KISS[4..]].concat(),
            "interfaces \"wlan0,wlan0\": expected one or more, each once",
        ),
        (
            &[&["--monitor", "wlan0", "--mtu", "2299"], &KISS[4..]].concat(),
            "frames of 2299 bytes: expected at most 2298",
        ),
        (&["--packet", "lo", "--address", "127.0.0.1/8"], "machine's kernel does not have"),
        (
            &["--packet", "lo", "--address", "2001:db8::2/64", "--gateway", "10.0.0.1"],
            "an address of the own network",
        ),
    ] {
        // These errors are detected before missing rights.
        let complaint = refuse(&[&["nc", "192.0.2.1", "80"], words].concat(), 2);
        assert!(complaint.contains(expected), "{words:?}: {complaint}");
    }
}

#[test]
fn missing_things_are_named() {
    let complaint = refuse(&["nc", "h", "1", "--packet", "no-such-one", "--address", "10.0.0.1/24"], 1);
    assert!(complaint.contains("no-such-one") && complaint.contains("ip link"), "{complaint}");
    let complaint =
        refuse(&[&["nc", "10.77.2.2", "1", "--serial", "/no/such/tty:9600"], &KISS[4..]].concat(), 1);
    assert!(complaint.contains("/no/such/tty:9600: No such file"), "{complaint}");
    if rustix::process::geteuid().is_root() {
        let monitor = |name| refuse(&[&["nc", "10.77.2.2", "1", "--monitor", name], &KISS[4..]].concat(), 1);
        let complaint = monitor("no-such-one");
        assert!(complaint.contains("no-such-one") && complaint.contains("ip link"), "{complaint}");
        let complaint = monitor("lo");
        assert!(complaint.contains("lo: is not in monitor mode: it has link type 772"), "{complaint}");
        assert!(complaint.contains("iw dev NAME set type monitor"), "{complaint}");
    }
    let complaint = refuse(&["serve", "/no/such/folder", "--kernel"], 2);
    assert!(complaint.contains("/no/such/folder"), "{complaint}");
    let complaint = refuse(&["fetch", "--kernel", "https://localhost/file"], 2);
    assert!(complaint.contains("no TLS"), "{complaint}");
    // Before anyone is asked.
    let complaint = refuse(&["fetch", "--kernel", "http://localhost/"], 2);
    assert!(complaint.contains("--output FILE"), "{complaint}");
    let complaint = refuse(&["fetch", "--kernel", "http://localhost/file"], 1);
    assert!(complaint.contains("127.0.0.1:80") || complaint.contains("::1"), "{complaint}");
}

#[test]
fn the_loopback_is_no_ethernet() {
    let Some(namespace) = Namespace::new() else { return };
    let words = ["nc", "10.77.2.1", "80", "--packet", "lo", "--address", "10.77.2.2/24"];
    let output = namespace.command(HEADWAY, &words).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("interface lo: expected an Ethernet interface"), "{complaint}");
}

/// Without root's rights, for any user.
#[test]
fn missing_rights_are_named() {
    let is_root = rustix::process::geteuid().is_root();
    for (words, expected) in [
        (&["--tun", "hw0", "--address", "10.77.2.2/24"][..], "CAP_NET_ADMIN"),
        (&["--packet", "lo", "--address", "10.77.2.2/24"], "CAP_NET_RAW"),
        (&["--packet", "nosuch0", "--address", "10.77.2.2/24"], "CAP_NET_RAW"),
        (&["--monitor", "lo", "--address", "10.77.2.2", "--peer-address", "10.77.2.1"], "CAP_NET_RAW"),
    ] {
        let mut command = Command::new(if is_root { "setpriv" } else { HEADWAY });
        if is_root {
            command.args(["--bounding-set=-all", HEADWAY]);
        }
        let output = match command.args(["nc", "10.77.2.1", "80"]).args(words).output() {
            Ok(output) => output,
            Err(error) if is_root && error.kind() == std::io::ErrorKind::NotFound => {
                return say_skipped("setpriv", "");
            }
            Err(error) => panic!("{error}"),
        };
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {complaint}");
        assert!(complaint.starts_with("headway: ") && complaint.contains(expected), "{words:?}: {complaint}");
    }
}

#[test]
fn addresses_in_use_are_named() {
    let [taken] = free_addresses();
    let _socket = std::net::UdpSocket::bind(taken).unwrap();
    let taken = taken.to_string();
    let complaint = refuse(&["nc", "127.0.0.1", "80", "--udp", &taken, "127.0.0.1:1"], 1);
    assert!(complaint.contains(&taken) && complaint.contains("in use"), "{complaint}");
}

#[test]
fn a_busy_tun_is_named() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let words = ["serve", path, "--tun", "hw0", "--address", "10.77.2.2/24"];
    let _first = start(&namespace, &words);
    namespace.wait_for_http("10.77.2.2");
    let output = namespace.command(HEADWAY, &words).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("TUN hw0") && complaint.contains("no other program"), "{complaint}");
}
