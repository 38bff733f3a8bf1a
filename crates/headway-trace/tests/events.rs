//! Event logs: exact lines, real connections, failing writers.

use crate::full_disk;

use std::io;

use headway_tcp::{
    DamageOutcome, DropReason, Event, Observer, Profile, RecoveryPhase, RetransmitReason, State, Timer,
    Variant,
};
use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts, connection_ids};
use headway_trace::{EventLog, TraceError};
use headway_units::{Duration, Instant, Rate};
use headway_wire::{SeqNumber, TcpFlags};
use serde_json::Value;

use full_disk::Full;

#[test]
fn each_kind_of_event_has_its_line() {
    let [a, b] = connection_ids();
    let seq = SeqNumber(u32::MAX);
    let (len, ack, flags) = (1448, SeqNumber(5), TcpFlags::ACK | TcpFlags::PSH);
    let events = [
        (b, Event::StateChanged { from: State::SynSent, to: State::FinWait1 }),
        (a, Event::Sent { seq, len, ack, flags }),
        (b, Event::Received { seq, len, ack, flags: TcpFlags::NONE }),
        (a, Event::Damaged { seq, len, outcome: DamageOutcome::AlreadyHeld }),
        (a, Event::SpecialAckSent { seq, count: 9 }),
        (a, Event::SpecialAckReceived { seq, count: 9, accepted: 1 }),
        (a, Event::Retransmitted { seq, len, reason: RetransmitReason::FastRetransmit }),
        (a, Event::TimerExpired(Timer::DelayedAck)),
        (a, Event::Recovery(RecoveryPhase::Timeout)),
        (a, Event::Window { cwnd: 2896, ssthresh: u32::MAX, pipe: 0 }),
        (a, Event::Dropped(DropReason::Paws)),
        (
            a,
            Event::Timing {
                latest: Duration::from_millis(310),
                smoothed: Duration::from_micros(300_125),
                variation: Duration::from_millis(10),
                min: Duration::from_millis(300),
                pacing: Some(Rate::from_bits_per_second(9_000_000)),
            },
        ),
    ];
    let mut log = EventLog::new(Vec::new());
    for (place, (id, event)) in events.iter().enumerate() {
        log.event(Instant::from_nanos(place as u64 * 1_000_000_001), *id, event);
    }
    let text = String::from_utf8(log.finish().unwrap()).unwrap();
    let expected = r#"
{"time":0.000000000,"connection":0,"event":"state_changed","from":"syn_sent","to":"fin_wait1"}
{"time":1.000000001,"connection":1,"event":"sent","seq":4294967295,"len":1448,"ack":5,"flags":"PSH|ACK"}
{"time":2.000000002,"connection":0,"event":"received","seq":4294967295,"len":1448,"ack":5,"flags":"none"}
{"time":3.000000003,"connection":1,"event":"damaged","seq":4294967295,"len":1448,"outcome":"already_held"}
{"time":4.000000004,"connection":1,"event":"special_ack_sent","seq":4294967295,"count":9}
{"time":5.000000005,"connection":1,"event":"special_ack_received","seq":4294967295,"count":9,"accepted":1}
{"time":6.000000006,"connection":1,"event":"retransmitted","seq":4294967295,"len":1448,"reason":"fast_retransmit"}
{"time":7.000000007,"connection":1,"event":"timer_expired","timer":"delayed_ack"}
{"time":8.000000008,"connection":1,"event":"recovery","phase":"timeout"}
{"time":9.000000009,"connection":1,"event":"window","cwnd":2896,"ssthresh":4294967295,"pipe":0}
{"time":10.000000010,"connection":1,"event":"dropped","reason":"paws"}
{"time":11.000000011,"connection":1,"event":"timing","latest":0.31,"smoothed":0.300125,"variation":0.01,"min":0.3,"pacing":9000000}
"#;
    assert_eq!(text, expected.trim_start());
}

fn log_of_a_transfer() -> Vec<u8> {
    let profile = Variant::XhackSack.apply(Profile::linux22());
    let mut pair = TwoHosts::observed(profile, EventLog::new(Vec::new()), Duration::from_millis(50));
    pair.write(CLIENT, 30_000);
    pair.hosts[CLIENT].close(pair.now, pair.id(CLIENT)).unwrap();
    pair.run(Duration::from_secs(60), |packet| match packet.data {
        Some(3) => Fate::Corrupted,
        _ => Fate::Arrives,
    });
    pair.into_observer().finish().unwrap()
}

#[test]
fn every_line_is_json_and_the_same_run_gives_the_same_bytes() {
    let log = log_of_a_transfer();
    let mut kinds = Vec::new();
    let mut last = 0.0;
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        assert!(line.ends_with(b"\n"));
        let line: Value = serde_json::from_slice(line).unwrap();
        let time = line["time"].as_f64().unwrap();
        assert!(time >= last);
        last = time;
        assert_eq!(line["connection"], 0);
        let kind = line["event"].as_str().unwrap().to_owned();
        // An event without a record of its own would fail here.
        assert_ne!(kind, "other", "{line}");
        kinds.push(kind);
    }
    for kind in
        ["sent", "received", "state_changed", "special_ack_received", "retransmitted", "window", "timing"]
    {
        assert!(kinds.iter().any(|seen| seen == kind), "no {kind} among {kinds:?}");
    }
    assert_eq!(log, log_of_a_transfer());
}

#[test]
fn the_first_error_ends_the_log_and_is_returned() {
    let [id] = connection_ids();
    for events in [1, 1000] {
        let mut asked = 0;
        let mut log = EventLog::new(Full(&mut asked));
        for _ in 0..events {
            log.event(Instant::ZERO, id, &Event::Dropped(DropReason::Paws));
        }
        match log.finish() {
            Err(TraceError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{:?}", other.map(|_| ())),
        }
        assert!(asked <= 2, "asked {asked} times after the first error");
    }
}
