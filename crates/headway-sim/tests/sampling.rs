//! Runs that are watched are the runs that are not.

use headway_sim::race::{
    Companion, Entrant, RunOutcome, RunSettings, Sample, Sampler, Scenario, Trunk, TrunkMode, run_recorded,
    run_sampled,
};
use headway_sim::{Content, Passing, Tap};
use headway_tcp::Variant;
use headway_units::{Duration, Size};
use sha2::{Digest, Sha256};

const SIZE: u64 = 400_000;

/// Digest of every packet: when, where, which bytes.
struct Fingerprint(Sha256);

impl Tap for Fingerprint {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.0.update(passing.at.as_nanos().to_le_bytes());
        self.0.update(format!("{:?} {}", passing.host, passing.outbound));
        self.0.update(passing.packet);
    }
}

/// A sample every millisecond, and no sooner.
#[derive(Default)]
struct Every {
    samples: Vec<Sample>,
}

const INTERVAL: Duration = Duration::from_millis(1);

impl Sampler for Every {
    fn next(&self) -> Duration {
        self.samples.last().map_or(Duration::ZERO, |last| last.at + INTERVAL)
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples.push(sample.clone());
    }
}

fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.delay = Duration::from_millis(20);
    }
    scenario.forward.damage = "burst:3%:4".parse().expect("a damage model");
    scenario.forward.queue = "20p".parse().expect("a queue");
    scenario
}

/// Makes the run with samples and without. Both are the same.
#[track_caller]
fn watched(scenario: &Scenario, sender: impl Into<Entrant>) -> (RunOutcome, Vec<Sample>) {
    let (sender, content) = (sender.into(), Content::generated(SIZE));
    let settings = RunSettings { scenario, content: &content, seed: 3, hash: true };
    let tap = || Fingerprint(Sha256::new());
    let plain = run_recorded(settings, sender, || (), tap()).expect("a run");
    let mut every = Every::default();
    let sampled = run_sampled(settings, sender, || (), tap(), &mut every).expect("a run");
    assert_eq!(sampled.outcome, plain.outcome);
    assert_eq!(sampled.tap.0.finalize(), plain.tap.0.finalize(), "the packets");
    (sampled.outcome, every.samples)
}

/// Samples say what the run says at its end.
#[track_caller]
fn agree(outcome: &RunOutcome, samples: &[Sample]) {
    let metrics = &outcome.metrics;
    assert!(samples.len() > 50, "{} samples", samples.len());
    let (before, last) = (&samples[..samples.len() - 1], &samples[samples.len() - 1]);
    assert!(before.windows(2).all(|pair| pair[1].at >= pair[0].at + INTERVAL));
    let counts = |sample: &Sample| {
        let (losses, causes) = (sample.losses, sample.causes);
        let of_link = [losses.queue_drops, losses.damaged, losses.lost];
        (sample.delivered_bytes, of_link, causes.congestion, sample.sender.retransmissions)
    };
    for pair in samples.windows(2) {
        let (one, other) = (counts(&pair[0]), counts(&pair[1]));
        assert!(one.0 <= other.0 && one.2 <= other.2 && one.3 <= other.3, "{one:?}, then {other:?}");
        assert!(one.1.iter().zip(other.1).all(|(one, other)| *one <= other), "{one:?}, then {other:?}");
    }
    assert_eq!(last.delivered_bytes, metrics.delivered_bytes);
    assert_eq!(last.at.as_secs_f64(), metrics.seconds);
    assert_eq!(Some(last.losses.queue_drops), metrics.queue_drops);
}

#[test]
fn a_run_that_is_watched_is_the_same() {
    for variant in [Variant::NewReno, Variant::HackSack, Variant::Modern, Variant::Headway] {
        let (outcome, samples) = watched(&scenario(), variant);
        assert!(outcome.metrics.finished, "{variant}");
        agree(&outcome, &samples);
        let last = &samples[samples.len() - 1];
        assert!(last.losses.damaged > 0, "{variant}");
        assert!(samples.iter().any(|sample| sample.queue_packets > 0 && sample.queue_bytes > 0), "{variant}");
        assert!(samples.iter().any(|sample| sample.sender.smoothed_rtt.is_some()), "{variant}");
    }
    let (_, samples) = watched(&scenario(), Variant::Headway);
    assert!(samples[samples.len() - 1].causes.damage > 0, "headway is told of damage");
}

#[test]
fn so_are_warm_runs_those_beside_others_and_those_through_a_trunk() {
    let (outcome, samples) = watched(&Scenario { warm: true, ..scenario() }, Variant::Headway);
    agree(&outcome, &samples);
    let rival = Companion {
        rival: true,
        start: Duration::from_millis(300),
        ..Companion::new(Variant::Modern.into())
    };
    let (outcome, samples) = watched(&Scenario { companions: vec![rival], ..scenario() }, Variant::Sack);
    agree(&outcome, &samples);
    let trunk =
        Trunk { mode: TrunkMode::Packets, ..Trunk::new(Variant::Sack.into(), Size::from_bytes(1 << 20)) };
    let (outcome, samples) = watched(&Scenario { trunk: Some(trunk), ..scenario() }, Variant::NewReno);
    assert_eq!(samples[samples.len() - 1].delivered_bytes, outcome.metrics.delivered_bytes);
    let lasting = Scenario { duration: Some(Duration::from_secs(2)), ..scenario() };
    let (outcome, samples) = watched(&lasting, Variant::Headway);
    assert_eq!(samples[samples.len() - 1].delivered_bytes, outcome.metrics.delivered_bytes);
}

#[test]
fn of_the_oracle_there_are_none() {
    let (_, samples) = watched(&scenario(), Entrant::Oracle);
    assert_eq!(samples, []);
}
