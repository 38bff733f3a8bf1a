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
        assert!(outcome.finished);
        assert_eq!(outcome.time, Duration::from_secs(seconds));
        assert_eq!((outcome.size, outcome.sha256_ok), (outcome.delivered, None));
        assert_eq!(outcome.goodput, outcome.delivered as f64 * 8.0 / seconds as f64);
        outcome.delivered
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
    assert!(warm.finished);
    assert_eq!((warm.sha256_ok, warm.delivered, warm.size), (Some(true), 300_000, 300_000));
    assert!(warm.events > 3 * cold.events / 2, "there were two transfers: {} events", warm.events);
    // This sender remembers nothing: its second transfer is like the first, with other fates.
    let ratio = warm.time.as_secs_f64() / cold.time.as_secs_f64();
    assert!((0.2..5.0).contains(&ratio), "{} and {}", warm.time, cold.time);
    assert!(warm.octets_sent < 400_000, "{} octets of the second transfer alone", warm.octets_sent);
}

#[test]
fn rivals_are_told_apart_from_flows_that_are_alike() {
    let beside = |rival| Companion { sender: Variant::Sack.into(), damaged: false, rival };
    let mut scenario = for_seconds(30, "none");
    scenario.companions = vec![beside(false), beside(true), beside(true)];
    let outcome = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run");
    let goodputs: Vec<f64> = outcome.companions.iter().map(|other| other.goodput).collect();
    let mean = (goodputs[1] + goodputs[2]) / 2.0;
    assert!((outcome.rival_goodput().expect("rivals") - mean).abs() < 1e-6);
    let (own, other) = (outcome.goodput, goodputs[0]);
    let index = (own + other).powi(2) / (2.0 * (own * own + other * other));
    assert!((outcome.jain_alike - index).abs() < 1e-9, "{} of {own} and {other}", outcome.jain_alike);
    let megabytes = (own + goodputs.iter().sum::<f64>()) * 30.0 / 8e6;
    assert!(outcome.queue_drops > 0, "four flows fill the queue");
    assert!((outcome.drops_per_megabyte - outcome.queue_drops as f64 / megabytes).abs() < 1e-9);
    scenario.companions.clear();
    let alone = run(&scenario, Variant::Sack, &endless(), 1, true).expect("a run");
    assert_eq!((alone.rival_goodput(), alone.jain_alike), (None, 1.0));
}

#[test]
fn the_oracle_takes_part_like_any_other() {
    let content = Content::generated(1_000_000);
    let scenario = scenario("burst:5%:5");
    let outcome = run(&scenario, Entrant::Oracle, &content, 7, true).expect("a run");
    let best = oracle(&scenario, 1_000_000, 7).expect("an oracle");
    assert_eq!((outcome.time, outcome.delivered, outcome.finished), (best.time, 1_000_000, true));
    assert_eq!(outcome.beside(Some(&best)).share_of_oracle, Some(1.0));
    let sack = run(&scenario, Variant::Sack, &content, 7, true).expect("a run");
    let share = best.time.as_secs_f64() / sack.time.as_secs_f64();
    let told = sack.clone().beside(Some(&best)).share_of_oracle.expect("a share");
    assert!((told - share).abs() < 1e-9 && share < 1.0, "{told}, {share}");
    let other = oracle(&scenario, 1_000_000, 8).expect("an oracle");
    assert_eq!(sack.beside(Some(&other)).share_of_oracle, None, "another run says nothing");
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
    switched.switches.set("tlp".parse().expect("a part"), false);
    refused(&switched, "sack", "-tlp: sack of profile linux22 has no such parts");
    switched.switches.set("partial".parse().expect("a part"), true);
    refused(&switched, "modern", "partial recovery needs HACK v2, which modern does not have");
    let warm = Scenario { warm: true, duration: Some(Duration::from_secs(60)), ..plain.clone() };
    refused(&warm, "sack", "expected a size");
    let mut shared = plain.clone();
    shared.companions = vec![Companion { sender: Variant::Sack.into(), damaged: false, rival: true }];
    refused(&shared, "oracle", "expected a link that nobody shares");
    refused(&Scenario { warm: true, ..shared }, "sack", "expected no other flows");
}
