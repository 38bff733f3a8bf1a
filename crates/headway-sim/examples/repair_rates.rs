//! Measures header repair: of the data packets that arrive with a damaged header, how many are
//! repaired, and how many of those wrongly, which is: with a header that differs from what was sent.
//!
//! `cargo run --release -p headway-sim --example repair_rates [-- MEGABYTES [SEEDS]]`

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use headway_link::{Damage, LinkConfig, QueueLimit};
use headway_sim::race::Racer;
use headway_sim::{Content, LinkPorts, Network, Passing, Receiver, Sender, Tap, derive_seed};
use headway_tcp::{ConnectionId, Event, Host, HostConfig, Observer, Profile, Variant};
use headway_units::{Duration, Instant, Rate, Share};
use headway_wire::{Integrity, Segment, TcpHeader, Timestamps, ip::Datagram, judge};

/// What a header says, as far as anything depends on it.
type Fields = (TcpHeader, Option<Timestamps>, u32);

#[derive(Default)]
struct Counts {
    /// Data packets with a header that could not be read.
    unreadable: u64,
    right: u64,
    wrong: u64,
    /// What the sender sent, by the identification of its IP header, which damage spares here.
    sent: Vec<Option<Fields>>,
    arriving: Option<Fields>,
    flips: u64,
}

#[derive(Clone, Default)]
struct Watch(Rc<RefCell<Counts>>);

impl Tap for Watch {
    fn pass(&mut self, passing: &Passing<'_>) {
        let counts = &mut *self.0.borrow_mut();
        let Ok(datagram) = Datagram::parse(passing.packet) else { return };
        let place = usize::from(datagram.header.identification);
        if datagram.header.src != source().ip() {
            return;
        }
        if passing.outbound {
            let Ok(segment) = Segment::parse(passing.packet) else { return };
            counts.sent.resize(1 << 16, None);
            let fields = (segment.tcp, segment.options.timestamps, segment.payload.len() as u32);
            counts.sent[place] = (!segment.payload.is_empty()).then_some(fields);
            return;
        }
        counts.arriving = counts.sent[place];
        let integrity = judge(passing.packet).unwrap_or(Integrity::Unreadable);
        if integrity == Integrity::Unreadable && counts.arriving.is_some() {
            counts.unreadable += 1;
        }
    }
}

impl Observer for Watch {
    fn event(&mut self, _now: Instant, _connection: ConnectionId, event: &Event) {
        let Event::Repaired { header, timestamps, len, flips } = event else { return };
        let counts = &mut *self.0.borrow_mut();
        counts.flips += u64::from(*flips);
        if counts.arriving == Some((*header, *timestamps, *len)) {
            counts.right += 1;
        } else {
            counts.wrong += 1;
        }
    }
}

fn source() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)), 40_000)
}

fn sink() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 2, 1)), 5_001)
}

fn measure(
    profile: &Arc<Profile>,
    damage: &Damage,
    header_hit: Option<Share>,
    size: u64,
    seed: u64,
) -> Watch {
    let watch = Watch::default();
    let bytes: Vec<u8> =
        (0..size / 8).flat_map(|at| derive_seed(seed, "content", at).to_le_bytes()).collect();
    let content = Content::from_bytes(bytes);
    let mut network = Network::with_tap(1500, watch.clone());
    let host = |address: SocketAddr, secret: u8| {
        Host::with_observer(HostConfig::new(address.ip(), [secret; 16]), watch.clone())
    };
    let receiver = Receiver::new(sink(), profile.clone(), &content, false).expect("the content opens");
    let receiver = network.add_host(host(sink(), 2), Racer::Receiver(Box::new(receiver)));
    let sender = Sender::new(source(), sink(), profile.clone(), &content).expect("the content opens");
    let sender =
        network.add_host(host(source(), 1), Racer::Sender(Box::new(sender), std::marker::PhantomData));
    let clean = LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(50),
        queue: QueueLimit::Packets(100),
        ..LinkConfig::default()
    };
    let forward = LinkConfig { damage: damage.clone(), header_hit, ..clean.clone() };
    network.add_link(LinkPorts { from: sender, to: receiver }, forward, derive_seed(seed, "forward", 0));
    network.add_link(LinkPorts { from: receiver, to: sender }, clean, derive_seed(seed, "reverse", 0));
    network.run(Instant::ZERO + Duration::from_secs(100_000), |network| match network.host(receiver).1 {
        Racer::Receiver(receiver) => receiver.is_complete(),
        Racer::Sender(..) => false,
    });
    watch
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let size = arguments.next().unwrap_or(20) << 20;
    let seeds = arguments.next().unwrap_or(3);
    let v2 = Variant::Headway.apply(Profile::modern());
    let mut classic = Variant::ModernHack.apply(Profile::modern());
    classic.features.repair = true;
    println!("| sum | damage | header hit | headers damaged | repaired | of those wrong | bits flipped |");
    println!("|---|---|---|---|---|---|---|");
    for (name, profile) in [("CRC-32C (v2)", v2), ("16 bits (kind 14)", classic)] {
        let profile = Arc::new(profile);
        for (damage, header_hit) in [
            ("random:5%", Some("100%")),
            ("burst:5%:5", Some("95%")),
            ("burst:5%:5", Some("40%")),
            ("ber:1e-5", None),
            ("ber:3e-5", None),
        ] {
            let damage: Damage = damage.parse().expect("a model");
            let hit: Option<Share> = header_hit.map(|share| share.parse().expect("a share"));
            let mut total = Counts::default();
            for seed in 1..=seeds {
                let watch = measure(&profile, &damage, hit, size, seed);
                let counts = watch.0.borrow();
                total.unreadable += counts.unreadable;
                total.right += counts.right;
                total.wrong += counts.wrong;
                total.flips += counts.flips;
            }
            let repaired = total.right + total.wrong;
            println!(
                "| {name} | `{damage}` | {} | {} | {:.2} % | {} | {:.2} |",
                header_hit.unwrap_or("by place"),
                total.unreadable,
                100.0 * repaired as f64 / total.unreadable.max(1) as f64,
                total.wrong,
                total.flips as f64 / repaired.max(1) as f64,
            );
        }
    }
}
