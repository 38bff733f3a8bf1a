//! What a tunnel keeps, and what it answers.

use headway_units::{Duration, Instant};
use headway_wire::Ecn;

use super::*;
use crate::HEADROOM;
use crate::control::Control;
use crate::mtu::SHORTEST;

const NEAR: ([u8; 4], u16) = ([192, 0, 2, 1], 1);
const FAR: ([u8; 4], u16) = ([192, 0, 2, 2], 2);

fn tunnel(own: u8, peer: u8) -> Tunnel {
    let mut drawn = u64::from(own);
    let random: Random = Box::new(move |bytes| {
        for byte in bytes {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (drawn >> 56) as u8;
        }
    });
    let key = SecretKey::from_bytes([peer; 32]).public();
    let peer = PeerConfig { endpoint: Some(FAR.into()), ..PeerConfig::new(key) };
    Tunnel::new(TunnelConfig {
        peers: vec![peer],
        ..TunnelConfig::new(SecretKey::from_bytes([own; 32]), random)
    })
}

/// Gives `datagram` to `to`, and what that sends then to whoever asks.
fn receive(to: &mut Tunnel, from: ([u8; 4], u16), datagram: &[u8]) -> Vec<Vec<u8>> {
    let mut room = [&[0; HEADROOM][..], datagram].concat();
    to.receive(Instant::ZERO, from.into(), &mut room, HEADROOM, Ecn::NotEct);
    std::iter::from_fn(|| to.poll_transmit()).map(|own| own.datagram).collect()
}

#[test]
fn an_index_that_is_not_used_any_more_is_forgotten() {
    let mut tunnel = tunnel(1, 2);
    for seconds in 0..100 {
        tunnel.handle_timeout(Instant::ZERO + Duration::from_secs(5 * seconds));
    }
    assert!(tunnel.waiting.len() >= 100);
    let used: Vec<_> = tunnel.peers[0].indices().collect();
    assert_eq!((used.len(), tunnel.indices.len()), (6, 6));
    assert!(used.iter().all(|index| tunnel.indices.contains_key(index)));
}

#[test]
fn a_probe_is_answered_if_it_has_the_length_that_it_says() {
    let (mut near, mut far) = (tunnel(1, 2), tunnel(2, 1));
    near.handle_timeout(Instant::ZERO);
    let first = near.poll_transmit().expect("an initiation").datagram;
    let answer = receive(&mut far, NEAR, &first).remove(0);
    for datagram in receive(&mut near, FAR, &answer) {
        receive(&mut far, NEAR, &datagram);
    }
    for (said, len, answers) in [(200, 200, 1), (201, 200, 0), (199, 200, 0), (SHORTEST, SHORTEST, 1)] {
        let session = near.peers[0].current.as_mut().expect("a session");
        let probe = session.sealer.padded(&Control::MtuProbe(said).bytes(), len.into()).expect("a probe");
        assert_eq!(probe.len(), usize::from(len));
        assert_eq!(receive(&mut far, NEAR, &probe).len(), answers, "{said} of {len}");
    }
}
