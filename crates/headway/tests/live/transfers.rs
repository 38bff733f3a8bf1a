//! Transfers in both directions between headway's TCP and the kernel's.

/// The size of a CD image.
const SIZE: usize = 100_000_000;
use crate::namespace::{HEADWAY, KERNELS, Namespace, OURS, TUN, say_skipped, start};
use crate::programs::{folder_with_file, python_server};

#[test]
fn curl_fetches_and_puts_a_hundred_megabytes() {
    let Some(namespace) = Namespace::new() else { return };
    let (folder, expected) = folder_with_file(1, SIZE);
    let path = folder.path().to_str().unwrap();
    let mut server = start(&namespace, &[&["serve", "--write", path], &TUN[..]].concat());
    namespace.wait_for_http(OURS);
    let got = folder.path().join("got");
    let url = format!("http://{OURS}/file");
    namespace.run("curl", &["-sf", "-o", got.to_str().unwrap(), &url]);
    assert!(std::fs::read(&got).unwrap() == expected);
    let file = folder.path().join("file");
    namespace.run("curl", &["-sf", "-T", file.to_str().unwrap(), &format!("http://{OURS}/put")]);
    assert!(std::fs::read(folder.path().join("put")).unwrap() == expected);
    let part = namespace.run("curl", &["-sf", "-r", "1000-1999", &url]).stdout;
    assert_eq!(part, std::fs::read(file).unwrap()[1000..2000]);
    server.signal("-TERM");
    assert_eq!(server.wait(), Some(0), "SIGTERM ends it orderly");
}

#[test]
fn fetch_takes_a_hundred_megabytes_from_python() {
    let Some(namespace) = Namespace::new() else { return };
    let (folder, expected) = folder_with_file(1, SIZE);
    let _server = python_server(&namespace, folder.path());
    let got = folder.path().join("got");
    let url = format!("http://{KERNELS}:8000/file");
    let words = ["fetch", &url, "--output", got.to_str().unwrap()];
    namespace.run(HEADWAY, &[&words[..], &TUN].concat());
    assert!(std::fs::read(&got).unwrap() == expected);
    // With HACK as published, to standard output.
    let words = ["fetch", &url, "--output", "-", "--variant", "xhack+sack"];
    let output = namespace.run(HEADWAY, &[&words[..], &TUN].concat());
    assert!(output.stdout == expected);
}

#[test]
fn uploads_reach_a_kernel_server() {
    let Some(namespace) = Namespace::new() else { return };
    let (folder, expected) = folder_with_file(1, SIZE);
    let path = folder.path().to_str().unwrap();
    let _server = start(&namespace, &["serve", "--write", "--kernel", "--listen", "8000", path]);
    namespace.wait_for_listener(8000);
    let file = folder.path().join("file");
    let url = format!("http://{KERNELS}:8000/put");
    let words = ["fetch", &url, "--upload", file.to_str().unwrap()];
    namespace.run(HEADWAY, &[&words[..], &TUN].concat());
    assert!(std::fs::read(folder.path().join("put")).unwrap() == expected);
}

#[test]
fn over_ipv6() {
    let Some(namespace) = Namespace::new() else { return };
    let (folder, bytes) = folder_with_file(2, 5_000_000);
    let path = folder.path().to_str().unwrap();
    // A port alone is one of the family of the address.
    let words = ["serve", path, "--tun", "hw0", "--address", "fd77::2/64"];
    let _server = start(&namespace, &words);
    namespace.wait_for_http("[fd77::2]");
    let got = namespace.run("curl", &["-sf", "http://[fd77::2]/file"]).stdout;
    assert!(got == bytes);
}

#[test]
fn tshark_finds_no_errors_in_our_packets() {
    let Some(namespace) = Namespace::new() else { return };
    if std::process::Command::new("tshark").arg("-v").output().is_err() {
        return say_skipped("tshark", "");
    }
    let (folder, bytes) = folder_with_file(3, 5_000_000);
    let _server = python_server(&namespace, folder.path());
    let pcap = folder.path().join("pcapng");
    let (pcap, url) = (pcap.to_str().unwrap(), format!("http://{KERNELS}:8000/file"));
    for variant in ["headway", "xhack+sack", "modern:bbr"] {
        let words = ["fetch", &url, "--output", "-", "--pcap", pcap, "--variant", variant];
        let output = namespace.run(HEADWAY, &[&words[..], &TUN].concat());
        assert!(output.stdout == bytes);
        let look = |filter: &str| {
            let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
            let words = [&["-r", pcap][..], &checks, &["-Y", filter]].concat();
            String::from_utf8(namespace.run("tshark", &words).stdout).unwrap()
        };
        assert!(look("tcp").lines().count() > 1000, "{variant}");
        let wrong = "_ws.malformed || tcp.checksum.status == \"Bad\" || ip.checksum.status == \"Bad\"";
        assert_eq!(look(wrong), "", "{variant}");
    }
}
