//! qlog files: exact records, real connections, another implementation as the reader, failing writers.

use crate::full_disk;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use headway_tcp::{
    DamageOutcome, DropReason, Event, Observer, Profile, RecoveryPhase, RetransmitReason, State, Timer,
    Variant,
};
use headway_test_fixture::process::say_skipped;
use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts, connection_ids};
use headway_trace::{HEADWAY_SCHEMA, Qlog, QlogClock, QlogHeader, TraceError, VantagePoint};
use headway_units::{Duration, Instant, Rate};
use headway_wire::{SeqNumber, TcpFlags};
use serde_json::Value;

use full_disk::Full;

fn header() -> QlogHeader {
    QlogHeader { title: "test".into(), vantage_point: VantagePoint::Client, clock: QlogClock::Virtual }
}

/// RFC 7464: each text is between a record separator and a line feed.
fn records(file: &[u8]) -> Vec<Value> {
    let mut texts = file.split(|byte| *byte == 0x1e);
    assert_eq!(texts.next(), Some(&b""[..]), "the file begins with a separator");
    texts
        .map(|text| {
            assert_eq!(text.last(), Some(&b'\n'));
            serde_json::from_slice(text).unwrap()
        })
        .collect()
}

#[test]
fn each_kind_of_event_has_its_record() {
    let [a, b] = connection_ids();
    let (seq, len, ack, flags) = (SeqNumber(u32::MAX), 1448, SeqNumber(5), TcpFlags::ACK);
    let timing = |millis, pacing| Event::Timing {
        latest: Duration::from_millis(millis),
        smoothed: Duration::from_micros(300_125),
        variation: Duration::from_millis(10),
        min: Duration::from_millis(300),
        pacing,
    };
    let rate = Some(Rate::from_bits_per_second(9_000_000));
    let window = |pipe| Event::Window { cwnd: 2896, ssthresh: u32::MAX, pipe };
    let events = [
        (b, Event::StateChanged { from: State::SynSent, to: State::FinWait1 }),
        (a, Event::Sent { seq, len: 0, ack, flags: TcpFlags::SYN }),
        (a, Event::Sent { seq, len, ack, flags }),
        (b, Event::Received { seq, len, ack, flags }),
        (a, Event::Damaged { seq, len, outcome: DamageOutcome::AlreadyHeld }),
        (a, Event::Completed { seq, len }),
        (a, Event::SpecialAckSent { seq, count: 9 }),
        (a, Event::SpecialAckReceived { seq, count: 9, accepted: 1 }),
        (a, Event::Retransmitted { seq, len, reason: RetransmitReason::FastRetransmit }),
        (a, Event::Sent { seq, len, ack, flags }),
        (a, Event::Retransmitted { seq, len, reason: RetransmitReason::Damage }),
        (a, Event::Sent { seq, len, ack, flags }),
        (a, Event::TimerExpired(Timer::DelayedAck)),
        (a, Event::Recovery(RecoveryPhase::Timeout)),
        (a, timing(310, rate)),
        (a, window(1448)),
        // What did not change is not said again.
        (a, timing(311, rate)),
        (a, window(1448)),
        (a, timing(311, rate)),
        (a, window(1448)),
        (a, Event::Dropped(DropReason::Paws)),
        (a, Event::PathMtu { mtu: Some(1400) }),
    ];
    let mut qlog = Qlog::new(Vec::new(), &header());
    for (place, (id, event)) in events.iter().enumerate() {
        qlog.event(Instant::from_nanos(place as u64 * 1_000_001), *id, event);
    }
    let file = qlog.finish().unwrap();
    let text = String::from_utf8(file.clone()).unwrap();
    let texts: Vec<&str> = text.split(['\x1e', '\n']).filter(|text| !text.is_empty()).collect();
    assert!(texts[0].starts_with(
        r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","#
    ));
    let schemas = &records(&file)[0]["trace"]["event_schemas"];
    assert_eq!(schemas[1], HEADWAY_SCHEMA);
    let tcp = r#""tcp":{"ack":5,"flags":"ACK","seq":4294967295}"#;
    let data = r#""header":{"packet_number":N,"packet_type":"1RTT"},"raw":{"payload_length":1448}"#;
    let sent = |number: &str| data.replace('N', number);
    let expected = [
        r#"0.000000,"name":"headway:tcp_state_updated","group_id":"0","data":{"new":"fin_wait1","old":"syn_sent"}"#.to_owned(),
        r#"1.000001,"name":"quic:packet_sent","group_id":"1","data":{"header":{"packet_number":0,"packet_type":"initial"},"raw":{"payload_length":0},"tcp":{"ack":5,"flags":"SYN","seq":4294967295}}"#.to_owned(),
        format!(r#"2.000002,"name":"quic:packet_sent","group_id":"1","data":{{{},{tcp}}}"#, sent("1")),
        format!(r#"3.000003,"name":"quic:packet_received","group_id":"0","data":{{{},{tcp}}}"#, sent("N").replace(r#""packet_number":N,"#, "")),
        r#"4.000004,"name":"headway:segment_corrupted","group_id":"1","data":{"length":1448,"outcome":"already_held","seq":4294967295}"#.to_owned(),
        r#"5.000005,"name":"headway:segment_completed","group_id":"1","data":{"length":1448,"seq":4294967295}"#.to_owned(),
        r#"6.000006,"name":"headway:special_ack_sent","group_id":"1","data":{"count":9,"seq":4294967295}"#.to_owned(),
        r#"7.000007,"name":"headway:special_ack_received","group_id":"1","data":{"accepted":1,"count":9,"seq":4294967295}"#.to_owned(),
        r#"8.000008,"name":"quic:packet_lost","group_id":"1","data":{"header":{"packet_number":1,"packet_type":"1RTT"},"reason":"fast_retransmit","tcp":{"length":1448,"seq":4294967295},"trigger":"reordering_threshold"}"#.to_owned(),
        r#"8.000008,"name":"headway:retransmission","group_id":"1","data":{"last_transmission":1,"length":1448,"reason":"fast_retransmit","seq":4294967295}"#.to_owned(),
        format!(r#"9.000009,"name":"quic:packet_sent","group_id":"1","data":{{{},{tcp},"trigger":"retransmit_reordered"}}"#, sent("2")),
        r#"10.000010,"name":"quic:packet_lost","group_id":"1","data":{"header":{"packet_number":2,"packet_type":"1RTT"},"reason":"damage","tcp":{"length":1448,"seq":4294967295}}"#.to_owned(),
        r#"10.000010,"name":"headway:retransmission","group_id":"1","data":{"last_transmission":2,"length":1448,"reason":"damage","seq":4294967295}"#.to_owned(),
        format!(r#"11.000011,"name":"quic:packet_sent","group_id":"1","data":{{{},{tcp}}}"#, sent("3")),
        r#"12.000012,"name":"headway:timer_expired","group_id":"1","data":{"timer":"delayed_ack"}"#.to_owned(),
        r#"13.000013,"name":"quic:congestion_state_updated","group_id":"1","data":{"new":"timeout_recovery"}"#.to_owned(),
        r#"15.000015,"name":"quic:recovery_metrics_updated","group_id":"1","data":{"bytes_in_flight":1448,"congestion_window":2896,"latest_rtt":310.0,"min_rtt":300.0,"pacing_rate":9000000,"rtt_variance":10.0,"smoothed_rtt":300.125}"#.to_owned(),
        r#"17.000017,"name":"quic:recovery_metrics_updated","group_id":"1","data":{"latest_rtt":311.0}"#.to_owned(),
        r#"20.000020,"name":"quic:packet_dropped","group_id":"1","data":{"reason":"paws","trigger":"rejected"}"#.to_owned(),
        r#"21.000021,"name":"quic:mtu_updated","group_id":"1","data":{"new":1400}"#.to_owned(),
    ];
    for (text, expected) in texts[1..].iter().zip(&expected) {
        assert_eq!(*text, format!(r#"{{"time":{expected}}}"#));
    }
    assert_eq!(texts.len() - 1, expected.len());
}

/// A transfer with three damaged segments and two lost ones.
fn transfer(variant: Variant) -> Vec<u8> {
    let profile = variant.apply(Profile::modern());
    let qlog = || Qlog::new(Vec::new(), &header());
    let mut pair = TwoHosts::observed(profile, qlog(), Duration::from_millis(50));
    pair.write(CLIENT, 60_000);
    pair.hosts[CLIENT].close(pair.now, pair.id(CLIENT)).unwrap();
    pair.run(Duration::from_secs(60), |packet| match packet.data {
        Some(3 | 12 | 17) => Fate::Corrupted,
        Some(25 | 26) => Fate::Lost,
        _ => Fate::Arrives,
    });
    assert_eq!(pair.statistics(CLIENT).unacknowledged, 0);
    pair.into_observer().finish().unwrap()
}

fn counts(records: &[Value]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record["name"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn a_transfer_shows_in_it_and_the_same_run_gives_the_same_bytes() {
    let file = transfer(Variant::ModernHack);
    let records = records(&file);
    let counts = counts(&records[1..]);
    for name in [
        "quic:packet_sent",
        "quic:packet_received",
        "quic:packet_lost",
        "quic:recovery_metrics_updated",
        "quic:congestion_state_updated",
        "headway:special_ack_received",
        "headway:retransmission",
        "headway:tcp_state_updated",
    ] {
        assert!(counts.contains_key(name), "no {name} among {counts:?}");
    }
    // An event without a record of its own.
    assert!(!counts.contains_key("headway:other"), "{counts:?}");
    let reasons = |reason: &str| {
        let lost = records[1..].iter().filter(|record| record["name"] == "quic:packet_lost");
        lost.filter(|record| record["data"]["reason"] == reason).count()
    };
    assert_eq!((reasons("damage"), reasons("fast_retransmit")), (3, 2));
    // Transmissions are numbered without a gap, and only those are lost that were sent.
    let number = |record: &Value| record["data"]["header"]["packet_number"].as_u64();
    let of = |name: &'static str| {
        records[1..].iter().filter(move |record| record["name"] == name).map(number).collect::<Vec<_>>()
    };
    let sent = of("quic:packet_sent");
    assert_eq!(sent, (0..sent.len() as u64).map(Some).collect::<Vec<_>>());
    assert!(of("quic:packet_lost").iter().all(|lost| sent.contains(lost)));
    // Metrics stay within what is possible.
    for record in records[1..].iter().filter(|record| record["name"] == "quic:recovery_metrics_updated") {
        let data = record["data"].as_object().unwrap();
        assert!(!data.is_empty());
        if let (Some(min), Some(latest)) = (data.get("min_rtt"), data.get("latest_rtt")) {
            assert!(min.as_f64() >= Some(100.0) && latest.as_f64() >= min.as_f64(), "{record}");
        }
    }
    assert_eq!(file, transfer(Variant::ModernHack));
}

/// The program of `reference/qlog`, or why it cannot be built.
fn reader() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/qlog-reader");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("reference/qlog/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .output()
        .map_err(|error| error.to_string())?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    Ok(target.join("debug/headway-qlog-reader"))
}

#[test]
fn the_reader_of_quiche_finds_the_same() {
    let reader = match reader() {
        Ok(reader) => reader,
        Err(why) => return say_skipped("qlog-reader", &why),
    };
    let file = transfer(Variant::Headway);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("transfer.sqlog");
    std::fs::write(&path, &file).unwrap();
    let output = Command::new(reader).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = records(&file);
    assert_eq!(found["header"], records[0]);
    assert_eq!(found["in_order"], true);
    // Those of QUIC as such, with every field; those of headway by their names.
    for (name, count) in counts(&records[1..]) {
        let kind = if name.starts_with("quic:") { "quic" } else { "other" };
        assert_eq!(found[kind][&name], count, "{name} in {found:#}");
    }
    let ours = records[1..].iter().filter(|record| record["name"] == "quic:recovery_metrics_updated");
    let theirs = found["metrics"].as_array().unwrap();
    assert_eq!(ours.clone().count(), theirs.len());
    for (ours, theirs) in ours.zip(theirs) {
        assert_eq!(ours["time"], theirs["time"]);
        for (key, value) in ours["data"].as_object().unwrap() {
            // It keeps times as 32-bit floats.
            let (ours, theirs) = (value.as_f64().unwrap(), theirs["data"][key].as_f64().unwrap());
            assert!((ours - theirs).abs() <= ours * 1e-6, "{key}: {ours}, {theirs}");
        }
    }
}

#[test]
fn the_first_error_ends_the_file_and_is_returned() {
    let [id] = connection_ids();
    for events in [1, 1000] {
        let mut asked = 0;
        let mut qlog = Qlog::new(Full(&mut asked), &header());
        for _ in 0..events {
            qlog.event(Instant::ZERO, id, &Event::Dropped(DropReason::Paws));
        }
        match qlog.finish() {
            Err(TraceError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{:?}", other.map(|_| ())),
        }
        assert!(asked <= 2, "asked {asked} times after the first error");
    }
}
