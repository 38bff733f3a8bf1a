//! The box in virtual time.

use headway_link::{Delivery, Headers, Link, LinkConfig};
use headway_net::error_delay_box::{End, ErrorDelayBox, Frame, LaneConfig};
use headway_test_fixture::packet;
use headway_units::{Duration, Instant};
use headway_wire::{IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions};

/// An Ethernet header, and a segment with this sequence number.
fn frame(seq: u32, payload: usize) -> Frame {
    let (ip, tcp) = packet::headers(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into(), TcpFlags::ACK);
    let ip = IpHeader { identification: seq as u16, ..ip };
    let tcp = TcpHeader { seq: SeqNumber(seq), window: 1, ..tcp };
    let payload: Vec<u8> = (0..payload).map(|at| at as u8).collect();
    Frame::new(&[7; 14], &packet::segment(&ip, &tcp, &TcpOptions::default(), &payload), &[])
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn link(rate: &str, delay_ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(rate.parse().unwrap()),
        delay: Duration::from_millis(delay_ms),
        ..LinkConfig::default()
    }
}

fn both(link: LinkConfig) -> [LaneConfig; 2] {
    [3, 4].map(|seed| LaneConfig { link: link.clone(), seed })
}

/// All remaining deliveries from an end, with their due times.
fn drain(edbox: &mut ErrorDelayBox, end: End) -> Vec<Delivery<Frame>> {
    let mut all = Vec::new();
    while let Some(due) = edbox.next_event() {
        all.extend(std::iter::from_fn(|| edbox.poll(end, due)));
        while edbox.poll(end.opposite(), due).is_some() {}
    }
    all
}

fn due(deliveries: &[Delivery<Frame>]) -> Vec<u64> {
    deliveries.iter().map(|delivery| delivery.at.as_nanos() / 1_000).collect()
}

/// Same configuration, same seed: the bytes and times are those of the simulator's link.
#[test]
fn it_equals_the_link_of_the_simulator() {
    for damage in ["burst:5%:5", "modem:20%"] {
        equals_the_link_of_the_simulator(damage);
    }
}

fn equals_the_link_of_the_simulator(damage: &str) {
    let share = |value: &str| value.parse().unwrap();
    let config = LinkConfig {
        damage: damage.parse().unwrap(),
        header_hit: Some(share("40%")),
        loss: share("2%").into(),
        duplicate: share("1%"),
        reorder: share("3%"),
        reorder_delay: Duration::from_millis(2),
        queue: "20p".parse().unwrap(),
        ..link("10mbit", 20)
    };
    let mut edbox = ErrorDelayBox::new(both(config.clone()));
    let mut alone = Link::new(config, 4);
    for seq in 0..2_000 {
        let (now, frame) = (at(u64::from(seq) * 700), frame(seq, 1000));
        let packet = frame.packet().to_vec();
        edbox.enqueue(End::Second, now, frame);
        let (len, headers) = (packet.len(), Headers { ip_header_len: 20, header_len: 40 });
        let _ = alone.enqueue(now, packet, len, headers, true);
    }
    let deliveries = drain(&mut edbox, End::Second);
    assert!(deliveries.iter().any(|delivery| delivery.damage.is_some()));
    for delivery in &deliveries {
        let expected = std::iter::from_fn(|| alone.poll(alone.next_event()?)).next().unwrap();
        assert_eq!(
            (delivery.at, delivery.damage, delivery.packet.packet()),
            (expected.at, expected.damage, &expected.packet[..])
        );
    }
    assert_eq!(edbox.counters(End::Second), *alone.counters());
    assert_eq!(edbox.counters(End::First).offered, 0);
    assert_eq!(alone.in_link(), 0);
}

/// Packets in flight or queued at a change keep their due times; later packets have the new parameters.
#[test]
fn a_change_applies_to_later_packets() {
    // 1200 us for each packet of 1500 bytes.
    let mut edbox = ErrorDelayBox::new(both(link("10mbit", 20)));
    for seq in 0..4 {
        edbox.enqueue(End::First, at(0), frame(seq, 1460));
    }
    assert_eq!(edbox.queue(End::First), (3, 4500));
    // One is in flight, one is being transmitted, two wait.
    assert!(edbox.poll(End::First, at(1_300)).is_none());
    assert_eq!(edbox.queue(End::First), (2, 3000));
    edbox.change(at(1_300), both(link("100mbit", 1)));
    assert_eq!(edbox.queue(End::First), (2, 3000));
    assert_eq!(edbox.next_event(), Some(at(21_200)), "unchanged due times");
    edbox.enqueue(End::First, at(1_400), frame(4, 1460));
    edbox.enqueue(End::First, at(40_000), frame(5, 1460));
    edbox.enqueue(End::Second, at(40_000), frame(6, 1460));
    assert_eq!(edbox.in_link(End::First), 6);
    let deliveries = drain(&mut edbox, End::First);
    // The fifth waits for the transmitter, and overtakes nothing; the sixth does not wait: 120 us and 1
    // ms.
    assert_eq!(due(&deliveries), [21_200, 22_400, 23_600, 24_800, 24_800, 41_120]);
    let order: Vec<u8> = deliveries.iter().map(|delivery| delivery.packet.packet()[27]).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    assert_eq!(edbox.counters(End::First).delivered, 6, "counters include the time before the change");
    assert_eq!(edbox.counters(End::Second).delivered, 1);
}

#[test]
fn damage_changes_for_later_packets() {
    let damaged = LinkConfig { damage: "random:100%".parse().unwrap(), ..link("10mbit", 5) };
    let mut edbox = ErrorDelayBox::new(both(damaged));
    edbox.enqueue(End::First, at(0), frame(0, 100));
    edbox.enqueue(End::First, at(0), frame(1, 100));
    edbox.change(at(1), both(link("10mbit", 5)));
    edbox.enqueue(End::First, at(2), frame(2, 100));
    let damaged: Vec<bool> =
        drain(&mut edbox, End::First).iter().map(|delivery| delivery.damage.is_some()).collect();
    assert_eq!(damaged, [true, true, false]);
}

/// Random changes lose no packet without counting it.
#[test]
fn every_packet_is_accounted_for() {
    for seed in 0..50_u64 {
        let share = |value: u64| headway_units::Share::new(value as f64 / 100.0).unwrap();
        let config = |step: u64| {
            let mix = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step * 1_442_695);
            LinkConfig {
                delay: Duration::from_micros(mix % 9_000),
                jitter: Duration::from_micros(mix % 700),
                loss: share(mix % 11).into(),
                duplicate: share(mix % 7),
                reorder: share(mix % 5),
                reorder_delay: Duration::from_micros(mix % 3_000),
                damage: "random:10%".parse().unwrap(),
                frame_check: ["keep", "drop", "arq:2"][(mix % 3) as usize].parse().unwrap(),
                queue: "15p".parse().unwrap(),
                ..link("20mbit", 0)
            }
        };
        let mut edbox = ErrorDelayBox::new(both(config(0)));
        let mut delivered = 0;
        for step in 1..1_000_u64 {
            let now = at(step * (200 + seed * 13));
            while edbox.poll(End::First, now).is_some() {
                delivered += 1;
            }
            edbox.enqueue(End::First, now, frame(step as u32, 1000));
            if step % 97 == seed {
                edbox.change(now, both(config(step)));
            }
            let counted = edbox.counters(End::First);
            let gone = counted.queue_drops + counted.lost + counted.frame_check_drops;
            let settled = gone + counted.delivered - counted.duplicated;
            assert_eq!(counted.offered, settled + edbox.in_link(End::First) as u64, "seed {seed}");
        }
        delivered += drain(&mut edbox, End::First).len() as u64;
        assert_eq!(edbox.counters(End::First).delivered, delivered, "seed {seed}");
        assert_eq!((edbox.in_link(End::First), edbox.queue(End::First)), (0, (0, 0)), "seed {seed}");
    }
}

/// Timestamps of packets may be earlier than the clock.
#[test]
fn an_earlier_timestamp_counts_as_now() {
    let mut edbox = ErrorDelayBox::new(both(link("10mbit", 1)));
    assert!(edbox.poll(End::First, at(500)).is_none());
    edbox.enqueue(End::First, at(100), frame(0, 1460));
    assert_eq!(edbox.next_event(), Some(at(500 + 1_200 + 1_000)));
}

/// A box on a clock that does not begin at zero: times of a link count from its start.
#[test]
fn times_of_a_link_count_from_the_start_of_the_box() {
    let start = Instant::from_nanos(1_700_000_000_000_000_000);
    let link = LinkConfig { mute: "1s@2s".parse().expect("times"), ..LinkConfig::default() };
    let lane = |seed| LaneConfig { link: link.clone(), seed };
    let mut edbox = ErrorDelayBox::starting_at(start, [lane(1), lane(2)]);
    for (seconds, arrives) in [(1, true), (2, false), (4, true)] {
        let at = start + Duration::from_secs(seconds);
        edbox.enqueue(End::First, at, Frame::new(&[], &[0x45; 40], b"data"));
        assert_eq!(edbox.next_event(), arrives.then_some(at), "after {seconds} s");
        assert_eq!(edbox.poll(End::First, at).map(|delivery| delivery.at), arrives.then_some(at));
    }
}
