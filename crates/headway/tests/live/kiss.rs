//! A file over TNCs that speak KISS, which damage, cut and split frames.

use headway_test_fixture::tnc::{Tncs, damage};

use crate::udp::fetch_a_file;

#[test]
fn fetch_from_serve() {
    let tncs = Tncs::start(damage);
    fetch_a_file(50_000, |own| {
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
        network.as_flattened().iter().map(ToString::to_string).collect()
    });
}
