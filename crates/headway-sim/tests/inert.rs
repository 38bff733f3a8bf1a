//! Without notices and counts HACK changes nothing: our sender sends the same packets at the same times
//! as the modern TCP that it is built on.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_link::{FrameCheck, LinkConfig, QueueLimit};
use headway_sim::race::Racer;
use headway_sim::{Content, LinkPorts, Network, Passing, Receiver, Sender, Tap, derive_seed};
use headway_tcp::congestion::Algorithm;
use headway_tcp::{Host, HostConfig, Profile, Variant};
use headway_units::{Duration, Instant, Share};
use headway_wire::{Segment, TcpFlags};

/// Every packet but the SYNs, whose options differ: when, which way, and its bytes.
#[derive(Default)]
struct Trace(Vec<(Instant, bool, Vec<u8>)>);

impl Tap for Trace {
    fn pass(&mut self, passing: &Passing<'_>) {
        let syn =
            Segment::parse(passing.packet).is_ok_and(|segment| segment.tcp.flags.contains(TcpFlags::SYN));
        if !syn {
            self.0.push((passing.at, passing.outbound, passing.packet.to_vec()));
        }
    }
}

fn share(value: f64) -> Share {
    Share::new(value).expect("a share")
}

/// 512 KiB from one host to another over `link` in both directions.
fn transfer(profiles: [&Profile; 2], link: &LinkConfig, seed: u64) -> Trace {
    let content = Content::from_bytes(
        (0..512u32 << 10).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 21) as u8).collect::<Vec<u8>>(),
    );
    let addresses: [IpAddr; 2] = [1, 2].map(|n| Ipv4Addr::new(192, 0, 2, n).into());
    let ends = [SocketAddr::new(addresses[0], 4000), SocketAddr::new(addresses[1], 5000)];
    let [from, to] = profiles.map(|profile| Arc::new(profile.clone()));
    let mut network = Network::<Racer<()>, Trace>::with_tap(1500, Trace::default());
    let receiver = Receiver::new(ends[1], to, &content, true).expect("content in memory");
    let sender = Sender::new(ends[0], ends[1], from, &content).expect("content in memory");
    let host = |n: usize| Host::new(HostConfig::new(addresses[n], [n as u8; 16]));
    let sender = network.add_host(host(0), Racer::Sender(Box::new(sender), PhantomData));
    let receiver = network.add_host(host(1), Racer::Receiver(Box::new(receiver)));
    network.add_link(LinkPorts { from: sender, to: receiver }, link.clone(), derive_seed(seed, "there", 0));
    network.add_link(LinkPorts { from: receiver, to: sender }, link.clone(), derive_seed(seed, "back", 0));
    let done = network.run(
        Instant::ZERO + Duration::from_secs(3600),
        |network| matches!(network.host(receiver).1, Racer::Receiver(receiver) if receiver.is_complete()),
    );
    assert!(done, "the transfer ended");
    network.into_tap()
}

fn assert_equal(one: &Trace, other: &Trace, about: &str) {
    let place = one.0.iter().zip(&other.0).position(|(one, other)| one != other);
    assert_eq!(place, None, "{about}: the first packet that differs, of {}", one.0.len());
    assert_eq!(one.0.len(), other.0.len(), "{about}");
}

fn senders() -> impl Iterator<Item = (Algorithm, u64)> {
    [Algorithm::Cubic, Algorithm::Bbr, Algorithm::Reno]
        .into_iter()
        .flat_map(|congestion| (1..=4).map(move |seed| (congestion, seed)))
}

fn profile(variant: Variant, congestion: Algorithm) -> Profile {
    Profile { congestion, ..variant.apply(Profile::modern().with_window(256 << 10)) }
}

/// A peer that knows nothing of HACK, over a path that loses and reorders, but less than is proof of damage. (It has no rate:
/// a longer SYN would shift all that follows.)
#[test]
fn with_a_peer_that_lacks_hack() {
    let link = LinkConfig {
        delay: Duration::from_millis(30),
        loss: share(0.005).into(),
        reorder: share(0.02),
        reorder_delay: Duration::from_millis(9),
        ..LinkConfig::default()
    };
    for (congestion, seed) in senders() {
        let [modern, headway] = [Variant::Modern, Variant::Headway].map(|variant| {
            let sender = profile(variant, congestion);
            transfer([&sender, &profile(Variant::Modern, congestion)], &link, seed)
        });
        assert_equal(&modern, &headway, &format!("{congestion:?}, seed {seed}"));
    }
}

/// Version 2 at both ends and a frame check that drops what is damaged, less than is proof, beside a queue that overflows:
/// the ledger says nothing, and what repairs headers sees none.
#[test]
fn where_damage_is_dropped() {
    let link = LinkConfig {
        rate: Some("10mbit".parse().expect("a rate")),
        delay: Duration::from_millis(30),
        queue: QueueLimit::Packets(25),
        damage: "random:1%".parse().expect("a damage model"),
        header_hit: Some(share(0.5)),
        frame_check: FrameCheck::Drop,
        ..LinkConfig::default()
    };
    let kept = LinkConfig { frame_check: FrameCheck::Keep, ..link.clone() };
    for (congestion, seed) in senders() {
        let whole = profile(Variant::Headway, congestion);
        let mut bare = whole.clone();
        (bare.features.ledger, bare.features.repair) = (false, false);
        let both =
            |link: &LinkConfig| [&bare, &whole].map(|profile| transfer([profile, profile], link, seed));
        let [one, other] = both(&link);
        assert_equal(&one, &other, &format!("{congestion:?}, seed {seed}"));
        let [one, other] = both(&kept);
        assert_ne!(one.0, other.0, "where damage arrives, there is something to report");
    }
}
