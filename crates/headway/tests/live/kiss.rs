//! A file over TNCs that speak KISS, which damage, cut and split frames.

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::tnc::{Tncs, damage};

use crate::udp::{start, succeed, talk};

#[test]
fn fetch_from_serve() {
    let tncs = Tncs::start(damage);
    let folder = tempfile::tempdir().unwrap();
    let bytes = Pattern(51).bytes(0, 50_000);
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    let end = |own: usize, words: &[&str]| {
        let names = |end: usize| (format!("N0CALL-{}", end + 1), format!("10.77.2.{}", end + 1));
        let (place, (callsign, address)) = (tncs.places()[own].to_string(), names(own));
        let (peer_callsign, peer_address) = names(1 - own);
        let network = [
            ["--kiss", &place],
            ["--callsign", &callsign],
            ["--peer-callsign", &peer_callsign],
            ["--address", &address],
            ["--peer-address", &peer_address],
            ["--turnaround", "2ms"],
        ];
        start(&[words, network.as_flattened()].concat())
    };
    let mut server = end(0, &["serve", folder.path().to_str().unwrap()]);
    let client = end(1, &["fetch", "http://10.77.2.1/file", "--output", "-", "--timeout", "2min"]);
    let fetched = succeed(talk(client, Vec::new()));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(fetched == bytes);
}
