//! What a race can be besides one transfer: a fixed duration, a second transfer, rivals, the oracle.

use headway_sim::Content;
use headway_sim::race::{Companion, Entrant, Scenario, oracle, run};
use headway_tcp::Variant;
use headway_units::Duration;

fn scenario(damage: &str) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(20);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = damage.parse().expect("a damage model");
    scenario
}

fn for_seconds(seconds: u64, damage: &str) -> Scenario {
    Scenario { duration: Some(Duration::from_secs(seconds)), ..scenario(damage) }
}

fn endless() -> Content {
    Content::generated(u64::MAX)
}

#[test]
fn a_run_of_fixed_duration_counts_what_arrived() {
    let size_of = |seconds| {
        let outcome = run(&for_seconds(seconds, "none"), Variant::Sack, &endless(), 1, true).expect("a run");
        assert!(outcome.metrics.finished);
        assert_eq!(outcome.metrics.seconds, seconds as f64);
        assert_eq!((outcome.size, outcome.metrics.sha256_ok), (outcome.metrics.delivered_bytes, None));
        assert_eq!(
            outcome.metrics.goodput_bps,
            outcome.metrics.delivered_bytes as f64 * 8.0 / seconds as f64
        );
        outcome.metrics.delivered_bytes
    };
    let (short, long) = (size_of(10), size_of(20));
    // 10 s more at the full rate, once the window is open: 8333 segments.
    assert!((8200 * 1448..8400 * 1448).contains(&(long - short)), "{}", long - short);
}

/// More than is kept in memory is made as it is sent, and compared all the same.
#[test]
fn generated_content_is_the_same_however_it_is_kept() {
    let kept = Content::generated(64 << 20);
    let made = Content::generated((64 << 20) + 1);
    let (mut kept, mut made) = (kept.open().expect("in memory"), made.open().expect("made"));
    while !kept.is_at_end() {
        let made_chunk = made.chunk();
        let length = made_chunk.len().min(1000);
        assert_eq!(kept.chunk()[..length], made_chunk[..length]);
        kept.advance(length);
        made.advance(length);
    }
    assert_eq!(made.chunk().len(), 1);
    made.advance(1);
    assert!(made.is_at_end() && made.chunk().is_empty());
}

#[test]
fn the_transfer_before_is_not_counted() {
    let content = Content::generated(300_000);
    let cold = run(&scenario("random:2%"), Variant::Sack, &content, 1, true).expect("a run");
    let warm = Scenario { warm: true, ..scenario("random:2%") };
    let warm = run(&warm, Variant::Sack, &content, 1, true).expect("a run");
    assert!(warm.metrics.finished);
    assert_eq!(
        (warm.metrics.sha256_ok, warm.metrics.delivered_bytes, warm.size),
        (Some(true), 300_000, 300_000)
    );
    assert!(warm.events > 3 * cold.events / 2, "there were two transfers: {} events", warm.events);
    // This sender remembers nothing: its second transfer is like the first, with other fates.
    let ratio = warm.metrics.seconds / cold.metrics.seconds;
    assert!((0.2..5.0).contains(&ratio), "{} and {}", warm.metrics.seconds, cold.metrics.seconds);
    let sent = warm.metrics.bytes_sent.expect("counted");
    assert!(sent < 400_000, "{sent} bytes of the second transfer alone");
}

#[test]
fn rivals_are_told_apart_from_flows_that_are_alike() {
    let beside = |rival| Companion { damaged: false, rival, ..Companion::new(Variant::Sack.into()) };
    let mut scenario = for_seconds(30, "none");
    scenario.companions = vec![beside(false), beside(true), beside(true)];
    let outcome = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run");
    let goodputs: Vec<f64> = outcome.companions.iter().map(|other| other.goodput_bps).collect();
    let mean = (goodputs[1] + goodputs[2]) / 2.0;
    assert!((outcome.metrics.rival_goodput_bps.expect("rivals") - mean).abs() < 1e-6);
    let (own, other) = (outcome.metrics.goodput_bps, goodputs[0]);
    let index = (own + other).powi(2) / (2.0 * (own * own + other * other));
    assert!(
        (outcome.metrics.jain_alike - index).abs() < 1e-9,
        "{} of {own} and {other}",
        outcome.metrics.jain_alike
    );
    let megabytes = (own + goodputs.iter().sum::<f64>()) * 30.0 / 8e6;
    let drops = outcome.metrics.queue_drops.expect("counted");
    assert!(drops > 0, "four flows fill the queue");
    assert!((outcome.metrics.drops_per_megabyte - drops as f64 / megabytes).abs() < 1e-9);
    scenario.companions.clear();
    let alone = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run");
    assert_eq!((alone.metrics.rival_goodput_bps, alone.metrics.jain_alike), (None, 1.0));
}

#[test]
fn the_oracle_takes_part_like_any_other() {
    let content = Content::generated(1_000_000);
    let scenario = scenario("burst:5%:5");
    let outcome = run(&scenario, Entrant::Oracle, &content, 7, true).expect("a run");
    let best = oracle(&scenario, 1_000_000, 7).expect("an oracle");
    let metrics = &outcome.metrics;
    assert_eq!((metrics.delivered_bytes, metrics.finished), (1_000_000, true));
    assert_eq!(metrics.seconds, best.time.as_secs_f64());
    assert_eq!(outcome.beside(Some(&best)).metrics.share_of_oracle, Some(1.0));
    let sack = run(&scenario, Variant::Sack, &content, 7, true).expect("a run");
    let share = best.time.as_secs_f64() / sack.metrics.seconds;
    let told = sack.clone().beside(Some(&best)).metrics.share_of_oracle.expect("a share");
    assert!((told - share).abs() < 1e-9 && share < 1.0, "{told}, {share}");
    let other = oracle(&scenario, 1_000_000, 8).expect("an oracle");
    assert_eq!(sack.beside(Some(&other)).metrics.share_of_oracle, None, "another run says nothing");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |scenario: &Scenario, entrant: &str, expected: &str| {
        let entrant: Entrant = entrant.parse().expect("an entrant");
        let problem = scenario.check(entrant).expect_err(expected).to_string();
        assert!(problem.contains(expected), "{problem}");
        let error = run(scenario, entrant, &Content::generated(1000), 1, false).expect_err(expected);
        assert_eq!(error.to_string(), problem);
    };
    let plain = scenario("random:5%");
    refused(&plain, "sack:bbr", "bbr: sack of profile linux22 has the window of Linux 2.2");
    let mut switched = plain.clone();
    switched.features.set("tlp".parse().expect("a feature"), false);
    refused(&switched, "sack", "-tlp: sack of profile linux22 has no such features");
    switched.features.set("partial".parse().expect("a feature"), true);
    refused(&switched, "modern", "partial recovery needs HACK v2, which modern does not have");
    let warm = Scenario { warm: true, duration: Some(Duration::from_secs(60)), ..plain.clone() };
    refused(&warm, "sack", "expected a size");
    let mut shared = plain.clone();
    shared.companions =
        vec![Companion { damaged: false, rival: true, ..Companion::new(Variant::Sack.into()) }];
    refused(&shared, "oracle", "expected a link without other flows");
    refused(&Scenario { warm: true, ..shared }, "sack", "expected no other flows");
}

#[test]
fn a_companion_may_come_late_with_little_and_from_afar() {
    let late = Companion {
        damaged: false,
        rival: true,
        start: Duration::from_secs(10),
        size: Some(100_000),
        ..Companion::new(Variant::Sack.into())
    };
    let mut scenario = for_seconds(30, "none");
    scenario.companions = vec![late];
    let near = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run").companions[0];
    assert_eq!(near.delivered_bytes, 100_000);
    let took = 8e5 / near.goodput_bps;
    assert!((0.1..20.0).contains(&took), "{took} s");
    scenario.companions = vec![Companion { delay: Duration::from_secs(1), ..late }];
    let far = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run").companions[0];
    // A handshake and four round trips of two seconds at least.
    let longer = 8e5 / far.goodput_bps;
    assert!(longer > took + 6.0, "{longer} s beside {took} s");
    scenario.companions = vec![Companion { start: Duration::from_secs(40), ..late }];
    let never = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run").companions[0];
    assert_eq!(never.delivered_bytes, 0);
}
