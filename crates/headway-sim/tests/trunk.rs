//! Trunk gateways: what goes in comes out, in order and as it was, whatever the link does.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use headway_link::{LinkConfig, QueueLimit};
use headway_sim::race::{
    Companion, CrossTraffic, Edge, Frames, Racer, RunOutcome, Scenario, Trunk, TrunkMode, run,
};
use headway_sim::{
    Content, GatewayConfig, LinkPorts, Network, Next, Node, NodeContext, NodeId, Packet, PacketGatewayConfig,
    Port, Tap, derive_seed,
};
use headway_tcp::{Profile, Variant};
use headway_units::{Duration, Instant, Rate, Size};
use headway_wire::IpHeader;

const SIZE: u64 = 600_000;

fn scenario(damage: &str, trunk: Option<(Variant, TrunkMode)>) -> Scenario {
    let mut scenario = Scenario::default();
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.rate = Some(Rate::from_bits_per_second(2_000_000));
        link.delay = Duration::from_millis(100);
        link.damage = damage.parse().expect("a damage model");
    }
    scenario.trunk =
        trunk.map(|(sender, mode)| Trunk { mode, ..Trunk::new(sender.into(), Size::from_bytes(1 << 20)) });
    scenario.edge =
        Edge { rate: Some(Rate::from_bits_per_second(100_000_000)), delay: Duration::from_millis(1) };
    scenario
}

fn race(scenario: &Scenario, seed: u64) -> RunOutcome {
    run(scenario, Variant::Sack, &Content::generated(SIZE), seed, true).expect("a run")
}

const TRUNKS: [Variant; 4] = [Variant::NewReno, Variant::Sack, Variant::HackSack, Variant::Headway];

/// The receiver compares every byte with what was sent.
#[test]
fn transfers_arrive_whole_through_trunks_of_every_kind() {
    for damage in ["none", "random:3%", "burst:2%:4", "modem:5%"] {
        for trunk in TRUNKS
            .iter()
            .flat_map(|&sender| [TrunkMode::Packets, TrunkMode::Split].map(|mode| (sender, mode)))
        {
            let outcome = race(&scenario(damage, Some(trunk)), 1);
            let metrics = &outcome.metrics;
            assert!(metrics.finished && metrics.sha256_ok == Some(true), "{damage}, {trunk:?}: {metrics:?}");
            assert_eq!(metrics.delivered_bytes, SIZE, "{damage}, {trunk:?}");
            assert!(
                metrics.link_payload_bytes > Some(SIZE) && metrics.link_bytes > metrics.link_payload_bytes
            );
            if damage != "none" {
                assert!(metrics.trunk_retransmissions > Some(0), "{damage}, {trunk:?}: {metrics:?}");
            }
            if trunk.1 == TrunkMode::Split {
                assert_eq!(
                    metrics.retransmissions,
                    Some(0),
                    "the hosts' links lose nothing: {damage}, {trunk:?}"
                );
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for mode in [TrunkMode::Packets, TrunkMode::Split] {
        let scenario = scenario("burst:2%:4", Some((Variant::HackSack, mode)));
        let (first, again, other) = (race(&scenario, 1), race(&scenario, 1), race(&scenario, 2));
        assert_eq!(first, again, "{mode}");
        assert_ne!(first.metrics.seconds, other.metrics.seconds, "{mode}");
    }
}

/// Damage with which TCP's checksum, and the lengths in the trunk, are not enough: connections between the gateways
/// fail and are opened again, and the hosts' own checksums keep what arrives whole as far as they can. A run that
/// delivers damage without an undetected packet is an error.
#[test]
fn a_trunk_whose_stream_is_damaged_is_opened_again() {
    let mut scenario = scenario("random:20%", Some((Variant::Sack, TrunkMode::Packets)));
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.header_hit = Some(headway_units::Share::ZERO);
        link.flips = Some(2);
    }
    let undetected: u64 = (1..=5)
        .map(|seed| race(&scenario, seed).metrics)
        .map(|metrics| {
            assert!(metrics.finished, "{metrics:?}");
            metrics.undetected_packets.expect("counted")
        })
        .sum();
    assert!(undetected > 0, "damage passed TCP's checksum in five runs");
}

#[test]
fn several_flows_and_cross_traffic_share_a_trunk() {
    let mut scenario = scenario("random:1%", Some((Variant::Headway, TrunkMode::Packets)));
    scenario.companions =
        vec![Companion::new(Variant::NewReno.into()), Companion::new(Variant::Modern.into())];
    scenario.cross = Some(CrossTraffic::Constant { rate: Rate::from_bits_per_second(100_000), packet: 500 });
    let outcome = race(&scenario, 1);
    assert!(outcome.companions.iter().all(|companion| companion.delivered_bytes > 0), "{outcome:?}");
    let alone = outcome.metrics.goodput_bps;
    assert!(outcome.metrics.total_goodput_bps > alone, "{outcome:?}");
    scenario.cross = None;
    scenario.trunk.as_mut().expect("a trunk").mode = TrunkMode::Split;
    let outcome = race(&scenario, 1);
    assert!(outcome.companions.iter().all(|companion| companion.delivered_bytes > 0), "{outcome:?}");
}

/// The hosts' packets wait in a short queue, which drops what finds it full; the hosts retransmit it.
#[test]
fn a_short_queue_drops_and_an_endless_one_does_not() {
    let mut scenario = scenario("none", Some((Variant::Sack, TrunkMode::Packets)));
    // The trunk does not overflow the link, and waits for nothing.
    scenario.trunk.as_mut().expect("a trunk").window = Size::from_bytes(48 << 10);
    scenario.window = Size::from_bytes(128 << 10);
    let mut drops = |limit| {
        scenario.trunk.as_mut().expect("a trunk").queue = limit;
        let metrics = race(&scenario, 1).metrics;
        assert!(metrics.finished, "{metrics:?}");
        (metrics.trunk_queue_drops.expect("a trunk"), metrics.retransmissions.expect("counted"))
    };
    let (dropped, retransmitted) = drops(QueueLimit::Packets(5));
    assert!(dropped > 0 && retransmitted > 0, "{dropped} dropped, {retransmitted} retransmitted");
    assert_eq!(drops(QueueLimit::Unlimited), (0, 0));
}

#[test]
fn a_cost_of_each_packet_limits_the_rate() {
    let mut scenario = scenario("none", Some((Variant::Sack, TrunkMode::Packets)));
    let fast = race(&scenario, 1).metrics.goodput_bps;
    scenario.trunk.as_mut().expect("a trunk").cost = Duration::from_millis(40);
    let slow = race(&scenario, 1).metrics.goodput_bps;
    // 25 packets of 1448 bytes a second at most.
    let most = 25.0 * 1448.0 * 8.0;
    assert!(slow < most && slow > 0.6 * most && fast > 1.5 * most, "{slow} and {fast}");
}

#[test]
fn gateways_count_packets_without_a_readable_header() {
    let mut scenario = scenario("burst:3%:3", Some((Variant::Headway, TrunkMode::Split)));
    scenario.forward.hit_zone = "ip+tcp".parse().expect("a zone");
    scenario.frames = Frames::Count;
    scenario.companions = vec![Companion::new(Variant::Sack.into())];
    assert!(race(&scenario, 1).metrics.finished);
    scenario.trunk = None;
    let problem = scenario.check(Variant::Sack).expect_err("routers").to_string();
    assert!(problem.contains("expected drop"), "{problem}");
}

#[test]
fn what_does_not_fit_a_trunk_is_refused() {
    let trunk = Some((Variant::Sack, TrunkMode::Split));
    let mut cross = scenario("none", trunk);
    cross.cross = Some(CrossTraffic::Constant { rate: Rate::from_bits_per_second(1000), packet: 500 });
    let mut spared = scenario("none", trunk);
    spared.companions = vec![Companion { damaged: false, ..Companion::new(Variant::Sack.into()) }];
    let mut controlled = scenario("none", trunk);
    controlled.trunk.as_mut().expect("a trunk").sender = "sack:bbr".parse().expect("a sender");
    for (scenario, expected) in [
        (cross, "expected no cross traffic"),
        (spared, "expected no undamaged"),
        (controlled, "profile linux22"),
    ] {
        let problem = scenario.check(Variant::Sack).expect_err(expected).to_string();
        assert!(problem.contains(expected), "{problem}");
    }
    let problem = scenario("none", trunk).check(headway_sim::race::Entrant::Oracle).expect_err("no oracle");
    assert!(problem.to_string().contains("expected no trunk"), "{problem}");
}

/// Sends packets of many lengths, one in `interval`.
struct Packets {
    interval: Duration,
    left: VecDeque<Vec<u8>>,
    next: Instant,
    is_due: bool,
}

impl<T: Tap> Node<T> for Packets {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.discard(packet);
    }

    fn handle_timeout(&mut self, cx: &mut NodeContext<'_, T>) {
        (self.is_due, self.next) = (true, cx.now + self.interval);
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        let next = Next::Wait((!self.left.is_empty()).then_some(self.next));
        if !std::mem::take(&mut self.is_due) {
            return next;
        }
        let Some(bytes) = self.left.pop_front() else { return next };
        let packet = cx.packet(|buffer| {
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Some(bytes.len())
        });
        packet.map_or(next, |packet| Next::Transmit(Port(0), packet))
    }
}

/// Compares what arrives with what is expected.
struct Expected {
    left: Arc<std::sync::Mutex<VecDeque<Vec<u8>>>>,
}

impl<T: Tap> Node<T> for Expected {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        let expected = self.left.lock().expect("no panic before").pop_front();
        assert_eq!(expected.as_deref(), Some(packet.bytes()), "in order, byte by byte");
        cx.discard(packet);
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        Next::Wait(None)
    }
}

fn packets(number: usize) -> VecDeque<Vec<u8>> {
    let header = IpHeader::new(Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(192, 0, 2, 2).into());
    (0..number)
        .map(|number| {
            let body = (number * 37) % 1460;
            let mut packet = vec![number as u8; 20 + body];
            header.emit(&mut packet, 17, body).expect("a packet");
            packet
        })
        .collect()
}

#[test]
fn packets_of_any_protocol_arrive_in_order_and_byte_identical() {
    for (sender, damage) in
        [(Variant::Sack, "random:5%"), (Variant::HackSack, "burst:3%:5"), (Variant::Headway, "burst:3%:5")]
    {
        let sent = packets(1000);
        let left = Arc::new(std::sync::Mutex::new(sent.clone()));
        let mut network = Network::<Racer<()>>::new(1500);
        let source = network.add(Packets {
            interval: Duration::from_millis(10),
            left: sent,
            next: Instant::ZERO + Duration::from_secs(5),
            is_due: false,
        });
        let sink = network.add(Expected { left: left.clone() });
        let profile =
            Arc::new(sender.apply(if sender.is_modern() { Profile::modern() } else { Profile::linux22() }));
        let mut gateway = |local: u8, remote: u8, opens| {
            let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 3, last));
            let (local, remote) = (address(local), address(remote));
            let gateway = GatewayConfig { local, remote, secret: [1; 16], profile: profile.clone(), opens };
            let (queue, aqm, cost) = (QueueLimit::Unlimited, headway_link::Aqm::None, Duration::ZERO);
            network.add_packet_gateway(PacketGatewayConfig { gateway, queue, aqm, seed: 1, cost })
        };
        let (far, near) = (gateway(2, 1, false), gateway(1, 2, true));
        let plain = LinkConfig::default;
        network.add_link(LinkPorts { from: source, to: near }, plain(), 0);
        network.add_link(LinkPorts { from: near, to: source }, plain(), 0);
        network.add_link(LinkPorts { from: far, to: sink }, plain(), 0);
        let lossy = LinkConfig {
            rate: Some(Rate::from_bits_per_second(1_500_000)),
            delay: Duration::from_millis(50),
            damage: damage.parse().expect("a damage model"),
            ..plain()
        };
        let mut across = |from: NodeId, to: NodeId, purpose: &str| {
            network.add_link(LinkPorts { from, to }, lossy.clone(), derive_seed(7, purpose, 0))
        };
        across(near, far, "there");
        across(far, near, "back");
        let all_arrived = network.run(Instant::ZERO + Duration::from_secs(6000), |_| {
            left.lock().expect("no panic before").is_empty()
        });
        assert!(all_arrived, "{sender}: {} packets are missing", left.lock().expect("no panic before").len());
        let statistics = network.gateway_statistics(near);
        assert!(statistics.retransmissions > 0 && statistics.queue_drops == 0, "{sender}: {statistics:?}");
    }
}
