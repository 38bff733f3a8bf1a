//! Several links in a row: what one hop and an ample hop change, what each hop carries, who is seen where, and the bound.

use headway_link::{Damage, FrameCheck, LinkConfig, LinkCounters, QueueLimit};
use headway_sim::race::{
    Companion, CrossTraffic, Entrant, Frames, Hop, RunMetrics, RunOutcome, RunSettings, Sample, Sampler,
    Scenario, Trunk, oracle, run, run_recorded, run_sampled,
};
use headway_sim::{Content, Passing, Tap};
use headway_tcp::Variant;
use headway_units::{Duration, Instant, Rate};

const SIZE: u32 = 400_000;

fn content() -> Content {
    Content::from_bytes((0..SIZE).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect::<Vec<u8>>())
}

fn hop(mbit: u64, millis: u64) -> Hop {
    let link = LinkConfig {
        rate: Some(Rate::from_bits_per_second(mbit * 1_000_000)),
        delay: Duration::from_millis(millis),
        queue: QueueLimit::Packets(60),
        ..LinkConfig::default()
    };
    Hop { forward: link.clone(), reverse: link }
}

/// A hop that damages packets in both directions.
fn damaged(hop: Hop, damage: &str) -> Hop {
    let with = |link| LinkConfig { damage: damage.parse().expect("a model"), ..link };
    Hop { forward: with(hop.forward), reverse: with(hop.reverse) }
}

fn over(hops: Vec<Hop>) -> Scenario {
    Scenario { hops, ..Scenario::default() }
}

fn lasting(seconds: u64, scenario: Scenario) -> Scenario {
    Scenario { duration: Some(Duration::from_secs(seconds)), ..scenario }
}

fn beside(sender: &str, hops: &str) -> Companion {
    let Ok(Entrant::Tcp(sender)) = sender.parse() else { panic!("{sender}: expected a TCP") };
    Companion { rival: true, hops: hops.parse().expect("hops"), ..Companion::new(sender) }
}

fn raced(scenario: &Scenario, sender: &str) -> RunOutcome {
    let content = if scenario.duration.is_some() { Content::generated(u64::MAX) } else { content() };
    let entrant: Entrant = sender.parse().expect("a sender");
    run(scenario, entrant, &content, 7, scenario.duration.is_none()).expect("an explicable run")
}

/// Every packet at every host.
#[derive(Default)]
struct Packets(Vec<(Instant, bool, Vec<u8>)>);

impl Tap for Packets {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.0.push((passing.at, passing.outbound, passing.packet.to_vec()));
    }
}

fn recorded(scenario: &Scenario, sender: &str) -> (RunOutcome, Packets) {
    let content = if scenario.duration.is_some() { Content::generated(u64::MAX) } else { content() };
    let settings = RunSettings { scenario, content: &content, seed: 7, hash: scenario.duration.is_none() };
    let entrant: Entrant = sender.parse().expect("a sender");
    let recording = run_recorded(settings, entrant, || (), Packets::default()).expect("an explicable run");
    (recording.outcome, recording.tap)
}

#[track_caller]
fn assert_same_packets(one: &Packets, other: &Packets, about: &str) {
    let place = one.0.iter().zip(&other.0).position(|(one, other)| one != other);
    assert_eq!(place, None, "{about}: the first packet that differs, of {}", one.0.len());
    assert_eq!(one.0.len(), other.0.len(), "{about}");
}

/// Without what only several hops have.
fn of_one(metrics: RunMetrics) -> RunMetrics {
    RunMetrics {
        hop_queue_drops: Vec::new(),
        hop_queue_delay_p95_seconds: Vec::new(),
        hop_damaged: Vec::new(),
        link_bytes: None,
        ..metrics
    }
}

#[test]
fn one_hop_is_the_link_packet_by_packet() {
    let shared = Scenario {
        companions: vec![beside("modern:cubic", "all"), beside("sack", "1")],
        cross: Some(CrossTraffic::Constant { rate: "1mbit".parse().expect("a rate"), packet: 700 }),
        cross_hops: "1".parse().expect("hops"),
        ..lasting(4, Scenario::default())
    };
    let counted = Scenario { frames: Frames::Count, ..Scenario::default() };
    let warm = Scenario { warm: true, ..Scenario::default() };
    for (scenario, about) in
        [(Scenario::default(), "alone"), (shared, "shared"), (counted, "counted"), (warm, "warm")]
    {
        let link = damaged(hop(10, 20), "random:4%");
        let plain =
            Scenario { forward: link.forward.clone(), reverse: link.reverse.clone(), ..scenario.clone() };
        // What hops replace is not used.
        let with_hop = Scenario { hops: vec![link], ..scenario };
        for sender in ["hack+sack", "modern:cubic", "headway"] {
            let about = format!("{about}, {sender}");
            let (one, packets) = recorded(&plain, sender);
            let (other, same) = recorded(&with_hop, sender);
            assert_same_packets(&packets, &same, &about);
            assert_eq!(one, other, "{about}");
        }
        assert_eq!(plain.bound(), with_hop.bound());
        assert_eq!(oracle(&plain, u64::from(SIZE), 7), oracle(&with_hop, u64::from(SIZE), 7));
    }
}

#[test]
fn an_ample_hop_adds_its_delay_and_nothing_else() {
    let tight = damaged(hop(10, 20), "burst:3%:4");
    let ample = |delay: u64| {
        let link = LinkConfig { rate: None, ..hop(1, delay).forward };
        Hop { forward: link.clone(), reverse: link }
    };
    let longer = |link: &LinkConfig| LinkConfig { delay: Duration::from_millis(50), ..link.clone() };
    let one_link =
        Scenario { forward: longer(&tight.forward), reverse: longer(&tight.reverse), ..Scenario::default() };
    let shared = vec![beside("modern:cubic", "all")];
    for (companions, seconds) in [(Vec::new(), None), (shared, Some(5))] {
        let duration = seconds.map(Duration::from_secs);
        let one_link = Scenario { companions: companions.clone(), duration, ..one_link.clone() };
        let in_a_row = Scenario { companions, duration, ..over(vec![tight.clone(), ample(30)]) };
        for sender in ["sack", "modern:bbr", "headway"] {
            let (one, packets) = recorded(&one_link, sender);
            let (other, same) = recorded(&in_a_row, sender);
            assert_same_packets(&packets, &same, sender);
            assert_eq!(of_one(one.metrics), of_one(other.metrics), "{sender}");
            assert_eq!(one.links[0][0].hit, other.links[0][0].hit, "{sender}");
        }
        assert_eq!(one_link.bound(), in_a_row.bound());
    }
}

/// What is left of the packets that were given to a link, apart from those that are in it.
fn left(link: &LinkCounters) -> u64 {
    let gone = link.queue_drops + link.lost + link.frame_check_drops + link.joined;
    link.offered + link.split - gone + link.duplicated
}

#[test]
fn what_leaves_a_hop_enters_the_next() {
    let mut hops = vec![
        damaged(hop(20, 5), "random:3%"),
        damaged(hop(8, 15), "burst:2%:3"),
        damaged(hop(12, 10), "random:1%"),
    ];
    hops[0].forward.loss = "1%".parse().expect("a share");
    hops[1].forward.frame_check = FrameCheck::Drop;
    hops[2].forward.duplicate = "1%".parse().expect("a share");
    hops[2].reverse.loss = "2%".parse().expect("a share");
    let scenario = over(hops);
    for sender in ["hack+sack", "modern:cubic", "headway"] {
        let outcome = raced(&scenario, sender);
        let metrics = &outcome.metrics;
        assert!(metrics.finished, "{sender}");
        // TCP's sum misses some damage of several bits; the CRC-32Cs of HACK v2 find all of it.
        let may_differ = sender != "headway" && metrics.undetected_packets > Some(0);
        assert!(metrics.sha256_ok == Some(true) || may_differ, "{sender}: {metrics:?}");
        let [first, second, third] = outcome.links[..] else { panic!("{} hops", outcome.links.len()) };
        let [forward, reverse] = [0, 1].map(|way| [first[way], second[way], third[way]]);
        for place in 0..2 {
            assert_eq!(forward[place].delivered, forward[place + 1].offered, "{sender}: hop {place}");
            assert_eq!(reverse[place + 1].delivered, reverse[place].offered, "{sender}: hop {place}");
        }
        for link in forward.iter().chain(&reverse) {
            assert!(link.hit > 0 && left(link) >= link.delivered, "{sender}: {link:?}");
        }
        let damaged: Vec<u64> = forward.iter().map(|link| link.hit).collect();
        assert_eq!(metrics.hop_damaged, damaged, "{sender}");
        let drops: u64 = forward.iter().map(|link| link.queue_drops).sum();
        assert_eq!(metrics.queue_drops, Some(drops), "{sender}");
        let bytes: u64 = forward.iter().chain(&reverse).map(|link| link.transmitted_bytes).sum();
        assert_eq!(metrics.link_bytes, Some(bytes), "{sender}");
    }
}

#[test]
fn who_is_on_the_second_hop_is_not_seen_on_the_first() {
    let hops = vec![damaged(hop(10, 10), "random:2%"), hop(6, 10), hop(10, 10)];
    let first = Scenario { flow_hops: "1".parse().expect("hops"), ..lasting(6, over(hops)) };
    let alone = raced(&first, "headway");
    let cross = Some(CrossTraffic::Constant { rate: "3mbit".parse().expect("a rate"), packet: 1000 });
    let companions = vec![beside("modern:cubic", "2"), beside("headway", "2-3")];
    let others = Scenario { companions, cross, cross_hops: "2".parse().expect("hops"), ..first };
    let beside_others = raced(&others, "headway");
    assert_eq!(alone.links[0], beside_others.links[0], "the first hop");
    assert_eq!(alone.metrics.goodput_bps, beside_others.metrics.goodput_bps);
    assert_eq!(alone.metrics.retransmissions, beside_others.metrics.retransmissions);
    assert_eq!(alone.links[1][0].offered + alone.links[2][0].offered, 0, "no flow passes them");
    let [_, second, third] = &beside_others.links[..] else { panic!("three hops") };
    assert!(second[0].offered > third[0].offered && third[0].offered > 100, "{second:?} {third:?}");
    assert!(beside_others.companions.iter().all(|other| other.delivered_bytes > 100_000));
}

#[test]
fn flows_enter_and_leave_at_their_hops() {
    let rivals =
        || vec![beside("modern:cubic", "1"), beside("modern:cubic", "2"), beside("modern:cubic", "3")];
    let scenario =
        Scenario { companions: rivals(), ..lasting(30, over(vec![hop(10, 5), hop(6, 5), hop(10, 5)])) };
    let outcome = raced(&scenario, "modern:cubic");
    let long = outcome.metrics.goodput_bps;
    assert!(long > 200_000.0, "the long flow gets something: {long}");
    for (place, (rival, rate)) in outcome.companions.iter().zip([10e6, 6e6, 10e6]).enumerate() {
        // It passes one queue, and the long flow three.
        assert!(rival.goodput_bps > long, "hop {place}: {} beside {long}", rival.goodput_bps);
        let sum = rival.goodput_bps + long;
        assert!((0.85 * rate..rate).contains(&sum), "hop {place}: {sum} of {rate}");
        let carried = outcome.links[place][0].transmitted_bytes as f64 * 8.0 / 30.0;
        assert!((0.9 * rate..=rate * 1.001).contains(&carried), "hop {place}: {carried} of {rate}");
    }
}

/// The last sample of a run.
#[derive(Default)]
struct Last(Option<Sample>);

impl Sampler for Last {
    fn next(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn sample(&mut self, sample: &Sample) {
        self.0 = Some(sample.clone());
    }
}

#[test]
fn queues_are_those_of_all_hops_and_their_delay_that_of_the_longest() {
    let scenario = lasting(20, over(vec![hop(20, 10), hop(5, 10), hop(20, 10)]));
    let content = Content::generated(u64::MAX);
    let settings = RunSettings { scenario: &scenario, content: &content, seed: 7, hash: false };
    let sender: Entrant = "modern:newreno".parse().expect("a sender");
    let mut last = Last::default();
    let outcome = run_sampled(settings, sender, || (), (), &mut last).expect("a run").outcome;
    let metrics = outcome.metrics;
    let [first, tight, third] = metrics.hop_queue_drops[..] else { panic!("{metrics:?}") };
    assert!(tight > 0 && first + third == 0, "only the tight hop drops: {metrics:?}");
    assert_eq!(metrics.queue_drops, Some(tight));
    let [one, longest, other] = metrics.hop_queue_delay_p95_seconds[..] else { panic!("{metrics:?}") };
    assert!(longest > 0.1 && one < 0.01 && other < 0.01, "{metrics:?}");
    assert_eq!(metrics.queue_delay_p95_seconds, Some(longest));
    assert!(metrics.queue_delay_median_seconds.is_some_and(|median| median > 0.01 && median <= longest));
    let last = last.0.expect("a sample");
    assert_eq!(last.losses.queue_drops, tight);
}

#[test]
fn the_bound_is_that_of_the_tightest_hop() {
    let payload = 1448.0 / 1500.0;
    let bound = |hops: &[Hop], range: &str| {
        let flow_hops = range.parse().expect("hops");
        Scenario { flow_hops, ..over(hops.to_vec()) }.bound().expect("a rate") / 1e6
    };
    let close =
        |one: f64, other: f64| assert!((one - other * payload).abs() < 1e-9, "{one}, expected {other}");
    let [fast, slow] = [hop(10, 5), hop(8, 5)];
    close(bound(&[fast.clone(), slow.clone()], "all"), 8.0);
    close(bound(&[fast.clone(), slow.clone()], "1"), 10.0);
    // What is lost before the tight hop takes none of its rate; what is lost behind it has taken some.
    let mut lossy = fast.clone();
    lossy.forward.loss = "10%".parse().expect("a share");
    close(bound(&[lossy.clone(), slow.clone()], "all"), 8.0);
    close(bound(&[slow.clone(), lossy.clone()], "all"), 8.0 * 0.9);
    close(bound(&[lossy.clone(), lossy.clone(), slow.clone()], "all"), 8.0);
    close(bound(&[lossy.clone(), lossy], "all"), 10.0 * 0.9 * 0.9);
    // What is damaged takes it wherever that is, unless a frame check drops it before.
    let mut hit = damaged(fast, "random:10%");
    close(bound(&[hit.clone(), slow.clone()], "all"), 8.0 * 0.9);
    close(bound(&[slow.clone(), hit.clone()], "all"), 8.0 * 0.9);
    hit.forward.frame_check = FrameCheck::Drop;
    close(bound(&[hit.clone(), slow.clone()], "all"), 8.0);
    close(bound(&[slow.clone(), hit.clone()], "all"), 8.0 * 0.9);
    // A link that retransmits itself spends its own rate.
    hit.forward.frame_check = FrameCheck::Arq(5);
    close(bound(&[slow, hit], "all"), 8.0);
    let both = over(vec![damaged(hop(10, 5), "random:10%"), damaged(hop(10, 5), "random:20%")]);
    assert!((both.share_hit() - 0.28).abs() < 1e-12 && (both.share_lost() - 0.28).abs() < 1e-12);
}

#[test]
fn no_sender_exceeds_the_bound_and_headway_comes_near() {
    let mut lossy = hop(10, 10);
    lossy.forward.loss = "1%".parse().expect("a share");
    let tight = damaged(hop(6, 10), "random:5%");
    for hops in [vec![lossy.clone(), tight.clone()], vec![tight, lossy]] {
        let outcome = raced(&lasting(30, over(hops)), "headway");
        let share = outcome.metrics.share_of_bound.expect("a bound");
        assert!((0.85..=1.0).contains(&share), "{share}");
    }
}

#[test]
fn what_several_hops_cannot_have_is_refused() {
    let two = || over(vec![hop(10, 5), hop(8, 5)]);
    let refused = |scenario: &Scenario, sender: &str, expected: &str| {
        let entrant: Entrant = sender.parse().expect("a sender");
        let error = scenario.check(entrant).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    assert_eq!(two().check(Variant::Sack), Ok(()));
    refused(&two(), "oracle", "oracle: expected one hop");
    assert_eq!(oracle(&two(), 1000, 1), None);
    refused(&Scenario { frames: Frames::Count, ..two() }, "sack", "frames: expected one hop");
    let trunk = Some(Trunk::new(Variant::Sack.into(), Scenario::default().window));
    refused(
        &Scenario { trunk, ..two() },
        "sack",
        "trunk: it has a gateway at each end of one link: expected one hop",
    );
    let third = || "2-3".parse().expect("hops");
    refused(
        &Scenario { flow_hops: third(), ..two() },
        "sack",
        "flow-hops: hops 2-3: there are 2 hops: expected",
    );
    refused(&Scenario { cross_hops: third(), ..two() }, "sack", "cross-hops: hops 2-3: there are 2 hops");
    let rivals = vec![beside("headway", "3")];
    refused(&Scenario { companions: rivals, ..two() }, "sack", "rivals: headway: hops 3: there are 2 hops");
    let flow_hops = "2".parse().expect("hops");
    refused(
        &Scenario { flow_hops, ..Scenario::default() },
        "sack",
        "hops 2: there is one hop: expected 1 or all",
    );
    let mut traced = two();
    let trace = || Damage::Trace("hit payload 1\nok 3".parse().expect("a trace"));
    traced.hops[0].forward.damage = trace();
    assert_eq!(traced.check(Variant::Sack), Ok(()));
    traced.hops[1].forward.damage = trace();
    refused(&traced, "sack", "hops: recorded damage would hit the same packets on several hops");
}
