//! A TNC that speaks KISS: frames are damaged, cut short and split in two, and noise is between them. A TNC whose program ends and
//! starts again.

use std::net::TcpListener;
use std::time::Duration;

use headway_net::{ModemConfig, Stack};
use headway_test_fixture::tnc::{Tncs, damage};

use super::both_ways;

/// Two stacks, each at a TNC.
fn stacks(tncs: &Tncs, turnaround: &str) -> [Stack; 2] {
    let callsigns = ["N0CALL-1", "N0CALL-2"].map(|text| text.parse().unwrap());
    [0, 1].map(|own: usize| {
        let modem = ModemConfig::Kiss {
            place: tncs.places()[own].to_string().parse().unwrap(),
            callsign: callsigns[own],
            peer: callsigns[1 - own],
            turnaround: turnaround.parse().unwrap(),
        };
        super::start(modem, own as u8 + 1, 255)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_are_damaged_cut_and_split() {
    let tncs = Tncs::start(damage);
    for end in both_ways(&stacks(&tncs, "0s"), 60_000, || {}).await {
        assert!(end.damaged_received > 10 && end.damage_retransmissions > 0, "{end:?}");
    }
}

/// Each end sends only where it has heard nothing of the other for a while: most ACKs wait, and the last acknowledges all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_duplex() {
    let tncs = Tncs::start(|_, frame| vec![frame]);
    let stacks = stacks(&tncs, "20ms");
    let [client, server] = both_ways(&stacks, 60_000, || {}).await;
    assert_eq!((client.damaged_received, server.damaged_received), (0, 0));
    // Also what is to be sent at the end waits, and is sent.
    for stack in stacks {
        stack.close(Duration::from_millis(100)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_survive_a_tnc_that_starts_again() {
    let tncs = Tncs::start(|_, frame| vec![frame]);
    both_ways(&stacks(&tncs, "0s"), 60_000, || tncs.restart()).await;
}

#[test]
fn a_tnc_that_is_missing_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let modem = ModemConfig::Kiss {
        place: free.to_string().parse().unwrap(),
        callsign: "N0CALL-1".parse().unwrap(),
        peer: "N0CALL-2".parse().unwrap(),
        turnaround: "0s".parse().unwrap(),
    };
    let error = super::open(modem, 1, 255).err().unwrap().to_string();
    for piece in [&free.to_string(), "refused", "expected the address of a TNC's KISS port"] {
        assert!(error.contains(piece), "{error}");
    }
}
