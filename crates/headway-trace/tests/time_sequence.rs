//! Time sequences of synthetic events and of real connections.

use headway_tcp::{
    ConnectionId, Event, HackRules, Observer, Profile, RecoveryPhase, RetransmitReason, Variant,
};
use headway_test_fixture::two_hosts::{CLIENT, Fate, SERVER, TwoHosts, connection_ids};
use headway_trace::{AckPoint, SentPoint, SpecialAckPoint, TimeSequence, TimeoutPoint, WindowPoint};
use headway_units::{Duration, Instant};
use headway_wire::{SeqNumber, TcpFlags};

fn sent(seq: u32, len: u32, flags: TcpFlags) -> Event {
    Event::Sent { seq: SeqNumber(seq), len, ack: SeqNumber(0), flags }
}

fn data(seq: u32, len: u32) -> Event {
    sent(seq, len, TcpFlags::ACK)
}

fn ack(number: u32) -> Event {
    Event::Acknowledged { una: SeqNumber(number) }
}

fn window(cwnd: u32) -> Event {
    Event::Window { cwnd, ssthresh: u32::MAX, pipe: 0 }
}

fn millis(count: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(count)
}

/// One event each millisecond.
fn record(mut sequence: TimeSequence, id: ConnectionId, events: &[Event]) -> TimeSequence {
    for (time, event) in events.iter().enumerate() {
        sequence.event(millis(time as u64), id, event);
    }
    sequence
}

fn acks(sequence: &TimeSequence) -> Vec<u64> {
    sequence.acks().points().iter().map(|point| point.una).collect()
}

#[test]
fn counts_bytes_from_the_first_one_over_the_wrap() {
    let [id] = connection_ids();
    let first = u32::MAX - 999;
    let events = [
        sent(first - 1, 0, TcpFlags::SYN),
        ack(first),
        data(first, 600),
        data(first + 600, 600),
        ack(200),
        window(1),
        Event::Retransmitted { seq: SeqNumber(first), len: 600, reason: RetransmitReason::Timeout },
        data(first, 600),
        sent(200, 100, TcpFlags::ACK | TcpFlags::FIN),
        ack(301),
        window(2),
    ];
    let sequence = record(TimeSequence::new().following(id), id, &events);
    assert_eq!(
        sequence.sent().points(),
        [
            SentPoint { at: millis(2), seq: 0, len: 600 },
            SentPoint { at: millis(3), seq: 600, len: 600 },
            SentPoint { at: millis(8), seq: 1200, len: 100 },
        ]
    );
    let again = sequence.retransmissions().points();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].at, again[0].seq, again[0].len), (millis(6), 0, 600));
    assert_eq!(again[0].reason, RetransmitReason::Timeout);
    // The FIN counts as one byte.
    assert_eq!(
        sequence.acks().points(),
        [AckPoint { at: millis(4), una: 1200 }, AckPoint { at: millis(9), una: 1301 }]
    );
}

#[test]
fn follows_the_first_that_sends_data_or_the_one_chosen() {
    let [silent, talker, later] = connection_ids();
    let events = [
        (silent, sent(10, 0, TcpFlags::SYN)),
        (talker, sent(500, 0, TcpFlags::SYN)),
        (later, sent(900, 0, TcpFlags::SYN)),
        (silent, sent(11, 0, TcpFlags::ACK)),
        (talker, data(501, 10)),
        (later, data(901, 20)),
        (later, data(921, 20)),
    ];
    let run = |mut sequence: TimeSequence| {
        for (id, event) in &events {
            sequence.event(Instant::ZERO, *id, event);
        }
        let lengths: Vec<_> = sequence.sent().points().iter().map(|point| (point.seq, point.len)).collect();
        (sequence.connection(), lengths)
    };
    assert_eq!(run(TimeSequence::new()), (Some(talker), vec![(0, 10)]));
    assert_eq!(run(TimeSequence::new().following(later)), (Some(later), vec![(0, 20), (20, 20)]));
    assert_eq!(run(TimeSequence::new().following(silent)), (Some(silent), vec![]));
}

#[test]
fn only_new_acks_count() {
    let [id] = connection_ids();
    let arrived = Event::Received { seq: SeqNumber(7), len: 0, ack: SeqNumber(150), flags: TcpFlags::ACK };
    let events = [
        data(100, 50),
        arrived, // and was not taken
        ack(120),
        ack(110), // old
        ack(151), // of what was never sent
        ack(130),
    ];
    assert_eq!(acks(&record(TimeSequence::new(), id, &events)), [20, 30]);
}

#[test]
fn records_special_acks_timeouts_and_windows() {
    let [id] = connection_ids();
    let special = |seq, count, accepted| Event::SpecialAckReceived { seq: SeqNumber(seq), count, accepted };
    let events = [
        window(3), // possibly of another connection
        data(100, 50),
        special(130, 2, 1),
        special(99, 1, 0),  // before the data
        special(150, 1, 0), // never sent
        ack(120),
        window(3),
        window(3),
        window(4),
        Event::Recovery(RecoveryPhase::Timeout),
        Event::Recovery(RecoveryPhase::Over),
    ];
    let sequence = record(TimeSequence::new(), id, &events);
    assert_eq!(
        sequence.special_acks().points(),
        [SpecialAckPoint { at: millis(2), seq: 30, count: 2, accepted: 1 }]
    );
    assert_eq!(sequence.timeouts().points(), [TimeoutPoint { at: millis(9), una: 20 }]);
    let point = |at, cwnd| WindowPoint { at: millis(at), cwnd, ssthresh: u32::MAX, pipe: 0 };
    assert_eq!(sequence.windows().points(), [point(6, 3), point(8, 4)]);
}

#[test]
fn memory_is_bounded() {
    let [id] = connection_ids();
    let mut sequence = TimeSequence::with_limit(100);
    for n in 0..10_000_u32 {
        let at = millis(u64::from(n));
        sequence.event(at, id, &data(n * 1000, 1000));
        sequence.event(at, id, &ack(n * 1000 + 1000));
        sequence.event(at, id, &window(n));
    }
    for (points, total, stride) in [
        (sequence.sent().points().len(), sequence.sent().total(), sequence.sent().stride()),
        (sequence.acks().points().len(), sequence.acks().total(), sequence.acks().stride()),
        (sequence.windows().points().len(), sequence.windows().total(), sequence.windows().stride()),
    ] {
        assert!((51..=100).contains(&points), "{points}");
        assert_eq!((total, stride), (10_000, 128));
    }
    let first_and_last = |sequence: &TimeSequence| {
        let acks = sequence.acks().points();
        (acks[0].una, acks[acks.len() - 1].una)
    };
    assert_eq!(first_and_last(&sequence), (1000, 10_000_000));
    assert_eq!(TimeSequence::DEFAULT_LIMIT, 20_000);
}

const SIZE: usize = 60_000;

/// Every event.
#[derive(Default)]
struct Events(Vec<(Instant, ConnectionId, Event)>);

impl Observer for Events {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        self.0.push((now, connection, event.clone()));
    }
}

/// A transfer over a network that corrupts and loses. Ordinary ACKs that the server sends together with a
/// special one may be lost.
fn transfer(rules: HackRules, loses_acks_behind_special: bool) -> TwoHosts<(Events, TimeSequence)> {
    let profile = Profile { hack_rules: rules, ..Variant::HackSack.apply(Profile::linux22()) };
    let observer = (Events::default(), TimeSequence::new());
    let mut pair = TwoHosts::observed(profile, observer, Duration::from_millis(50));
    pair.write(CLIENT, SIZE);
    let mut special_at = None;
    pair.run(Duration::from_secs(120), |packet| match packet.data {
        Some(3 | 12) => Fate::Corrupted,
        // A lost tail that only a timeout recovers.
        Some(18 | 40..44) => Fate::Lost,
        None if packet.from == SERVER => {
            let is_special = packet.segment.options.hack_ack.is_some();
            let is_lost = loses_acks_behind_special && !is_special && special_at == Some(packet.at);
            special_at = if is_special { Some(packet.at) } else { special_at };
            if is_lost { Fate::Lost } else { Fate::Arrives }
        }
        _ => Fate::Arrives,
    });
    pair
}

#[test]
fn agrees_with_what_a_host_counts() {
    let pair = transfer(HackRules::Default, false);
    let statistics = pair.statistics(CLIENT);
    let (_, sequence) = pair.observer();
    assert_eq!(sequence.connection(), Some(pair.id(CLIENT)));

    // New data covers the stream without gap or overlap.
    let mut next = 0;
    for point in sequence.sent().points() {
        assert_eq!(point.seq, next);
        next += u64::from(point.len);
    }
    assert_eq!(next, SIZE as u64);
    assert_eq!(sequence.acks().points().last().map(|point| point.una), Some(SIZE as u64));
    assert!(acks(sequence).is_sorted());

    let again = sequence.retransmissions();
    assert_eq!(again.total(), statistics.retransmissions);
    let bytes: u64 = again.points().iter().map(|point| u64::from(point.len)).sum();
    assert_eq!(bytes, statistics.bytes_retransmitted);
    let damage = again.points().iter().filter(|point| point.reason == RetransmitReason::Damage).count();
    assert_eq!((damage as u64, statistics.damage_retransmissions), (2, 2));
    assert_eq!(sequence.special_acks().total(), statistics.special_acks_received);
    assert_eq!(sequence.special_acks().total(), 2);
    assert!(statistics.timeouts > 0, "the tail was lost");
    assert_eq!(sequence.timeouts().total(), statistics.timeouts);
    let last = sequence.windows().points().last().unwrap();
    assert_eq!((last.cwnd, last.ssthresh), (statistics.cwnd, statistics.ssthresh));
    let times: Vec<_> = sequence.windows().points().iter().map(|point| point.at).collect();
    assert!(times.is_sorted());
}

/// The times of ACKs of new data that a host processed: it reports the window after each of those.
/// Also returns the number of ACKs of new data that it did not process.
fn processed(events: &[(Instant, ConnectionId, Event)]) -> (Vec<Instant>, usize) {
    let (mut times, mut ignored, mut una) = (Vec::new(), 0, None);
    for (place, (at, _, event)) in events.iter().enumerate() {
        let Event::Received { ack, .. } = *event else { continue };
        // The first is that of the SYN.
        let newest = *una.get_or_insert(ack);
        if ack.le(newest) {
            continue;
        }
        let mut answer = events[place + 1..]
            .iter()
            .take_while(|(.., event)| !matches!(event, Event::Received { .. } | Event::Sent { .. }));
        if answer.any(|(.., event)| matches!(event, Event::Window { .. })) {
            times.push(*at);
            una = Some(ack);
        } else {
            ignored += 1;
        }
    }
    (times, ignored)
}

/// ACKs count as the connection processed them, not as they arrived.
#[test]
fn literal_special_acks_acknowledge_nothing() {
    // In this transfer both special ACKs acknowledge new data, and no other ACK does so at the same time.
    for (rules, expected) in [(HackRules::Default, 0), (HackRules::Literal, 2)] {
        let pair = transfer(rules, true);
        assert_eq!(pair.statistics(CLIENT).unacknowledged, 0);
        let (Events(events), sequence) = pair.observer();
        let (times, ignored) = processed(events);
        assert_eq!((sequence.special_acks().total(), ignored), (2, expected), "{rules:?}");
        let recorded: Vec<Instant> = sequence.acks().points().iter().map(|point| point.at).collect();
        assert_eq!(recorded, times, "{rules:?}");
    }
}
