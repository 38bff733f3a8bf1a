//! Recorded traffic on a link that a race shares with it.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

use headway_link::{LinkConfig, QueueLimit};
use headway_sim::race::{
    CrossTraffic, Entrant, Racer, RunSettings, Scenario, Trunk, TrunkMode, run, run_recorded,
};
use headway_sim::{
    Content, LinkPorts, Network, Next, Node, NodeContext, Packet, PacketTrace, PacketTraceBuilder, Passing,
    Tap,
};
use headway_tcp::Variant;
use headway_test_fixture::rng::Rng;
use headway_test_fixture::seeds;
use headway_units::{Duration, Instant, Rate, Share, Size};
use headway_wire::ip::Datagram;

const UDP: u8 = 17;

/// When packets arrive, and how long they are.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(u64, usize)>>>);

impl<T: Tap> Node<T> for Log {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        let datagram = Datagram::parse(packet.bytes()).expect("an IP packet with a valid header");
        assert_eq!(datagram.protocol, UDP);
        assert_eq!(datagram.header_len + datagram.body.len(), packet.bytes().len());
        assert_eq!(
            datagram.body[4..6],
            (datagram.body.len() as u16).to_be_bytes(),
            "the length that UDP says"
        );
        assert!(datagram.body[8..].iter().all(|&byte| byte == 0), "nothing of other packets");
        self.0.borrow_mut().push((cx.now.as_nanos(), packet.bytes().len()));
        cx.discard(packet);
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        Next::Wait(None)
    }
}

fn random_trace(rng: &mut Rng) -> PacketTrace {
    let mut builder = PacketTraceBuilder::default();
    let mut at = Instant::from_nanos(rng.below(1_u64 << 60));
    for _ in 0..rng.between(2, 60) {
        builder.push(at, rng.between(20, 1500)).expect("room");
        // Some come at the same time.
        at += Duration::from_nanos(if rng.one_in(4) { 0 } else { rng.below(5_000_000) });
    }
    builder.push(at + Duration::from_nanos(1), 40).expect("room");
    builder.finish("random").expect("a trace")
}

/// What arrives until `end`, after a link of `delay`, where the replay begins at `start`.
fn expected(trace: &PacketTrace, start: u64, delay: u64, end: u64) -> Vec<(u64, usize)> {
    let period = trace.period().as_nanos();
    let round = |round: u64| {
        trace.packets().iter().map(move |packet| {
            (start + round * period + packet.at.as_nanos() + delay, (packet.len as usize).max(28))
        })
    };
    (0..).flat_map(round).take_while(|&(at, _)| at <= end).collect()
}

#[test]
fn packets_arrive_with_the_lengths_and_times_of_the_trace() {
    seeds::each(20, "cargo test -p headway-sim --test all replayed_traffic", |seed| {
        let mut rng = Rng::new(seed);
        let trace = random_trace(&mut rng);
        let (start, delay) = (rng.below(1_000_000_000_u64), Duration::from_millis(rng.below(300)));
        let end = start + delay.as_nanos() + trace.period().as_nanos() * 7 / 2;
        let (src, dst) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
        for is_late in [false, true] {
            let mut network = Network::<Racer<()>>::new(1500);
            let at = Instant::from_nanos(start);
            let source = network.add_replay(src, dst, trace.clone(), (!is_late).then_some(at));
            let log = Log::default();
            let sink = network.add(log.clone());
            let link = LinkConfig { delay, ..LinkConfig::default() };
            network.add_link(LinkPorts { from: source, to: sink }, link, seed);
            if is_late {
                network.run(at, |_| false);
                assert!(log.0.borrow().is_empty(), "nothing before it is started");
                network.start_replay(source, at);
            }
            network.run(Instant::from_nanos(end), |_| false);
            assert_eq!(*log.0.borrow(), expected(&trace, start, delay.as_nanos(), end), "{trace}");
        }
    });
}

fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(20);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = "random:3%".parse().expect("damage");
    scenario
}

/// 1500 bytes each 1.5 ms, 8 Mbit/s, as bursts of four packets.
fn bursts() -> PacketTrace {
    let mut builder = PacketTraceBuilder::default();
    for packet in 0..40 {
        builder.push(Instant::from_nanos(packet / 4 * 6_000_000 + packet % 4), 1500).expect("room");
    }
    builder.finish("bursts").expect("a trace")
}

/// On a link without a limit the flow sends the same with and without the replay, and all that is added are the
/// bytes of its packets.
#[test]
fn the_link_carries_the_bytes_of_the_trace() {
    let mut scenario = scenario();
    (scenario.forward.rate, scenario.reverse.rate) = (None, None);
    (scenario.forward.queue, scenario.reverse.queue) = (QueueLimit::Unlimited, QueueLimit::Unlimited);
    let lasts = Duration::from_secs(5);
    scenario.duration = Some(lasts);
    let content = Content::generated(u64::MAX);
    let alone = run(&scenario, Variant::Sack, &content, 1, false).expect("a run").metrics;
    let trace = bursts();
    scenario.cross = Some(CrossTraffic::Replay(trace.clone()));
    let beside = run(&scenario, Variant::Sack, &content, 1, false).expect("a run").metrics;
    assert_eq!(beside.bytes_sent, alone.bytes_sent);
    let replayed: usize = expected(&trace, 0, 0, lasts.as_nanos()).iter().map(|&(_, len)| len).sum();
    assert!(replayed > 4_000_000, "{replayed}");
    assert_eq!(
        beside.link_bytes.zip(alone.link_bytes).map(|(with, without)| with - without),
        Some(replayed as u64)
    );
}

/// Every packet of the hosts.
#[derive(Default)]
struct Packets(Vec<(u64, Vec<u8>)>);

impl Tap for Packets {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.0.push((passing.at.as_nanos(), passing.packet.to_vec()));
    }
}

#[test]
fn a_flow_beside_a_replay_arrives_whole_and_the_same_each_time() {
    let bytes: Vec<u8> = (0..600_000_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
    let content = Content::from_bytes(bytes);
    let alone = scenario();
    let beside = Scenario { cross: Some(CrossTraffic::Replay(bursts())), ..alone.clone() };
    for sender in [Variant::Sack, Variant::HackSack, Variant::Headway] {
        let race = |scenario: &Scenario| {
            let settings = RunSettings { scenario, content: &content, seed: 3, hash: true };
            run_recorded(settings, Entrant::Tcp(sender.into()), || (), Packets::default()).expect("a run")
        };
        let (without, with, again) = (race(&alone), race(&beside), race(&beside));
        for recording in [&without, &with] {
            // The receiver compares each byte with what was sent.
            let metrics = &recording.outcome.metrics;
            assert!(metrics.finished, "{sender}: {metrics:?}");
            assert_eq!((metrics.delivered_bytes, metrics.damaged_bytes_delivered), (600_000, 0), "{sender}");
        }
        assert_eq!(with.outcome.metrics, again.outcome.metrics, "{sender}");
        assert!(with.tap.0 == again.tap.0, "{sender}: the same packets at the same times");
        let (slow, fast) = (with.outcome.metrics.seconds, without.outcome.metrics.seconds);
        assert!(slow > fast, "{sender}: {slow} s beside the replay, {fast} s alone");
    }
}

/// The replay begins when the trunk is open, and its packets cross it.
#[test]
fn a_trunk_carries_a_replay() {
    let mut scenario = scenario();
    scenario.trunk = Some(Trunk::new(Variant::Headway.into(), Size::from_bytes(1 << 20)));
    scenario.cross = Some(CrossTraffic::Replay(bursts()));
    let content = Content::generated(300_000);
    let with = run(&scenario, Variant::NewReno, &content, 1, true).expect("a run").metrics;
    assert!(with.finished && with.damaged_bytes_delivered == 0, "{with:?}");
    scenario.cross = None;
    let without = run(&scenario, Variant::NewReno, &content, 1, true).expect("a run").metrics;
    let payload = |metrics: &headway_sim::race::RunMetrics| metrics.link_payload_bytes.expect("counted");
    let replayed = (with.seconds * 1e6) as u64;
    assert!(payload(&with) > payload(&without) + replayed / 2, "{with:?}, {without:?}");
    scenario.cross = Some(CrossTraffic::Replay(bursts()));
    scenario.trunk.as_mut().expect("a trunk").mode = TrunkMode::Split;
    let error = run(&scenario, Variant::NewReno, &content, 1, true).expect_err("no datagrams").to_string();
    assert!(error.contains("expected no cross traffic"), "{error}");
}

#[test]
fn packets_above_the_mtu_are_refused() {
    let mut scenario = scenario();
    scenario.cross = Some(CrossTraffic::Replay(bursts()));
    scenario.mtu = 1400;
    let error =
        run(&scenario, Variant::Sack, &Content::generated(10), 1, true).expect_err("too long").to_string();
    assert!(
        error.starts_with("cross: a packet of 1500 bytes: expected packets of at most 1400 bytes"),
        "{error}"
    );
}

/// Damage spares the replay: it hits as many of the packets that are left to hit.
#[test]
fn damage_spares_the_replay() {
    let mut scenario = scenario();
    scenario.forward.damage = headway_link::Damage::Random { p: Share::ONE };
    scenario.forward.rate = Some(Rate::from_bits_per_second(100_000_000));
    scenario.duration = Some(Duration::from_secs(2));
    scenario.cross = Some(CrossTraffic::Replay(bursts()));
    let metrics =
        run(&scenario, Variant::Sack, &Content::generated(u64::MAX), 1, false).expect("a run").metrics;
    assert_eq!(metrics.delivered_bytes, 0, "all packets of the flow are hit");
    let replayed = metrics.link_bytes.expect("counted");
    assert!(replayed > 1_900_000, "{replayed} bytes on the link");
}
