//! Links that were recorded: each packet has the fate that the trace says, again and again.

use crate::common;

use common::{HEADERS, Tagged, damaged_by, flipped, packet, run, share};
use headway_link::{
    BitOrigin, Damage, EnqueueResult, Fate, FrameCheck, HitPlace, HitZone, Link, LinkConfig, Trace,
    TraceBuilder, share_hit,
};
use headway_units::{Duration, Instant};

/// A link with bursts; its first lines say how it was made.
const RECORDED: &str = include_str!("data/gilbert.fates");
/// How many packets it had.
const PACKETS: usize = 2_000;

fn replaying(text: &str) -> LinkConfig {
    let trace: Trace = text.parse().unwrap();
    LinkConfig { damage: Damage::Trace(trace), ..LinkConfig::default() }
}

/// What becomes of each of `n` packets of 1500 bytes: its flipped bits, or `None` if it is lost.
fn fates(config: &LinkConfig, seed: u64, n: usize) -> Vec<Option<Vec<usize>>> {
    let mut fates = vec![None; n];
    for delivery in run(config.clone(), seed, n, 1500).1 {
        fates[delivery.packet.id] = Some(flipped(&delivery.packet.bytes));
    }
    fates
}

#[test]
fn every_packet_has_its_fate() {
    let text = "ok 2\nlost\nbits 161 980\nbits tcp 1\nbits payload 0 7\nhit header 3\nhit payload 4\nhit both 64\nok";
    let fates = fates(&replaying(text), 1, 10);
    let intact = Some(Vec::new());
    assert_eq!((&fates[0], &fates[1], &fates[9]), (&intact, &intact, &intact));
    assert_eq!(fates[2], None);
    assert_eq!(fates[3], Some(vec![161, 980]));
    // The TCP header starts at byte 20, the payload at byte 52.
    assert_eq!(fates[4], Some(vec![161]));
    assert_eq!(fates[5], Some(vec![416, 423]));
    let [header, payload, both] = [6, 7, 8].map(|packet| fates[packet].clone().unwrap());
    assert!(header.len() == 3 && header.iter().all(|bit| (160..416).contains(bit)));
    assert!(payload.len() == 4 && payload.iter().all(|bit| (416..12_000).contains(bit)));
    assert!(both.len() == 64 && both[0] < 416 && both[63] >= 416);
}

/// "packets are counted as they are transmitted": what the receiver sees and what is counted agree.
#[test]
fn counts_and_deliveries_agree() {
    let (link, deliveries) = run(replaying(RECORDED), 3, PACKETS, 1500);
    let trace: Trace = RECORDED.parse().unwrap();
    assert_eq!(trace.packets(), PACKETS as u64);
    let said: Vec<Option<bool>> =
        trace.fates().map(|fate| (*fate != Fate::Lost).then(|| fate.is_hit())).collect();
    let mut seen = vec![None; PACKETS];
    for delivery in &deliveries {
        assert_eq!(delivery.damage.is_some(), !flipped(&delivery.packet.bytes).is_empty());
        seen[delivery.packet.id] = Some(delivery.damage.is_some());
    }
    assert_eq!(seen, said);
    let counters = link.counters();
    assert_eq!(counters.hit, (trace.share_hit() * PACKETS as f64).round() as u64);
    assert_eq!(counters.lost, (trace.share_lost() * PACKETS as f64).round() as u64);
    assert!(counters.hit > 20 && counters.lost > 0 && counters.hit_in_header > 0);
    assert_eq!(share_hit(&link.config().damage, 1480), trace.share_hit());
}

/// The recorded link and its replay flip the same bits of the same packets.
#[test]
fn the_example_replays_the_link_that_it_was_recorded_from() {
    let link = LinkConfig {
        flips: Some(3),
        header_hit: Some(share(0.4)),
        loss: share(0.02).into(),
        ..damaged_by("gilbert:4%:25%:0%:80%")
    };
    assert_eq!(fates(&replaying(RECORDED), 1, PACKETS), fates(&link, 2002, PACKETS));
}

#[test]
fn begins_again_after_the_last_fate() {
    let config = replaying("bits 200\nok\nlost\nok");
    let once = fates(&config, 1, 4);
    let twice = fates(&config, 1, 9);
    assert_eq!(&twice[..4], &once[..]);
    assert_eq!(&twice[4..8], &once[..]);
    assert_eq!(twice[8], once[0]);
    // A trace of one fate is that fate for ever.
    assert!(fates(&replaying("bits 200"), 1, 50).iter().all(|fate| *fate == once[0]));
}

#[test]
fn same_seed_same_bits_and_another_seed_the_same_packets() {
    let config = replaying("ok 3\nhit payload 3\nlost\nhit both 64\nhit header 1");
    let kinds = |seed| -> Vec<Option<usize>> {
        fates(&config, seed, 400).iter().map(|bits| bits.as_ref().map(Vec::len)).collect()
    };
    assert_eq!(fates(&config, 1, 400), fates(&config, 1, 400));
    assert_ne!(fates(&config, 1, 400), fates(&config, 2, 400));
    assert_eq!(kinds(1), kinds(2));
}

/// Bits that are given are flipped wherever they are; only chance has a zone.
#[test]
fn the_zone_limits_chance_only() {
    assert_eq!(fates(&replaying("bits 0"), 1, 1), [Some(vec![0])]);
    let header = replaying("hit header 100000");
    assert_eq!(fates(&header, 1, 1), [Some((160..416).collect())]);
    let whole = LinkConfig { hit_zone: HitZone::IpAndTcpHeader, ..header };
    assert_eq!(fates(&whole, 1, 1), [Some((0..416).collect())]);
    for (h, range) in [(0.0, 416..12_000), (1.0, 160..416)] {
        let config = LinkConfig { header_hit: Some(share(h)), flips: Some(9), ..replaying("hit 1") };
        for bits in fates(&config, 1, 50) {
            let bits = bits.unwrap();
            assert!(bits.len() == 1 && range.contains(&bits[0]), "{bits:?}");
        }
    }
}

/// "Those beyond the end of the packet are ignored".
#[test]
fn short_packets_are_spared_what_lies_behind_them() {
    let config = replaying("bits 415 416 9000");
    let (link, deliveries) = run(config, 1, 1, 52);
    assert_eq!(flipped(&deliveries[0].packet.bytes), [415]);
    assert_eq!(deliveries[0].damage.map(|hit| (hit.flips, hit.header)), Some((1, true)));
    assert_eq!(link.counters().hit, 1);
    let (link, deliveries) = run(replaying("bits payload 0"), 1, 1, 52);
    assert_eq!((deliveries[0].damage, link.counters().hit), (None, 0));
    // "A packet without payload that is hit is hit in its header."
    let (_, deliveries) = run(replaying("hit payload 2"), 1, 1, 52);
    assert_eq!(deliveries[0].damage.map(|hit| (hit.flips, hit.header)), Some((2, true)));
}

#[test]
fn packets_that_are_not_open_to_damage_take_no_fate() {
    let mut link: Link<Tagged> = Link::new(replaying("lost\nok"), 1);
    let mut send = |exposed| {
        assert_eq!(link.enqueue(Instant::ZERO, packet(0, 100), 100, HEADERS, exposed), EnqueueResult::Queued);
        link.poll(Instant::ZERO).is_some()
    };
    assert!(send(false) && send(false));
    assert!(!send(true));
    assert!(send(false));
    assert!(send(true));
}

/// Random loss beside a trace loses other packets and moves nothing.
#[test]
fn random_loss_leaves_the_trace_alone() {
    let config = replaying("ok 3\nbits 200\nlost");
    let plain = fates(&config, 1, 500);
    let lossy = fates(&LinkConfig { loss: share(0.2).into(), ..config }, 1, 500);
    assert!(plain.iter().zip(&lossy).all(|(plain, lossy)| lossy.is_none() || lossy == plain));
    let more = lossy.iter().filter(|fate| fate.is_none()).count();
    assert!((150..250).contains(&more), "{more}");
}

#[test]
fn a_link_arq_makes_good_what_a_trace_damages() {
    let config = LinkConfig {
        rate: Some("10mbit".parse().unwrap()),
        delay: Duration::from_millis(300),
        frame_check: FrameCheck::Arq(3),
        ..replaying("hit 1\nlost\nok 1000")
    };
    // The first packet is damaged, the second lost before it is numbered, and the retransmission is intact.
    let (link, deliveries) = run(config.clone(), 1, 3, 1500);
    assert_eq!(deliveries.iter().map(|d| d.packet.id).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((link.counters().arq_retransmissions, link.counters().lost), (1, 1));
    // A retransmission that is lost counts as a damaged one.
    let (link, deliveries) = run(config, 1, 1, 1500);
    assert_eq!((deliveries.len(), link.counters().arq_retransmissions, link.counters().lost), (1, 2, 0));
}

#[test]
fn traces_are_built_as_they_are_read() {
    let mut builder = TraceBuilder::new();
    builder.push(Fate::Ok).unwrap();
    builder.push_run(Fate::Ok, 4).unwrap();
    builder.push(Fate::Hit { flips: 0, place: HitPlace::Both }).unwrap();
    builder.push(Fate::Bits { from: BitOrigin::Tcp, bits: [9, 3, 9].into() }).unwrap();
    builder.push(Fate::Bits { from: BitOrigin::Tcp, bits: [].into() }).unwrap();
    builder.push_run(Fate::Lost, 0).unwrap();
    assert!(builder.push_run(Fate::Lost, u64::MAX).is_err());
    assert_eq!(builder.packets(), 8);
    let trace = builder.finish("made").unwrap();
    assert_eq!(trace.to_string(), "ok 5\nhit both 1\nbits tcp 3 9\nok\n");
    let read: Trace = trace.to_string().parse().unwrap();
    assert_ne!(read, trace);
    assert_eq!(read.named("made"), trace);
    assert_eq!(Damage::Trace(trace).to_string(), "trace:made");
    assert!(TraceBuilder::new().finish("nothing").is_none());
}

#[test]
fn blocks_that_arrive_intact_are_counted() {
    let share = |text: &str| text.parse::<Trace>().unwrap().share_of_intact_blocks(32, 100);
    assert_eq!(share("ok 3\nlost"), Some(0.75));
    // Four blocks, the last of 4 bytes: two bits of the first, one of the last, one beyond the end.
    assert_eq!(share("bits 0 255 768 800"), Some(0.5));
    assert_eq!(share("bits 256"), Some(0.75));
    assert_eq!(share("bits"), Some(1.0));
    // What is behind a place at which bits are missing or added has no use, and neither has another piece.
    assert_eq!(
        (share("bits -256.."), share("bits 0 /512"), share("bits +300")),
        (Some(0.25), Some(0.25), Some(0.25))
    );
    assert_eq!(
        (share("bits -800.."), share("bits ~800..@15%"), share("bits ~0..8@0%")),
        (Some(1.0), Some(1.0), Some(1.0))
    );
    // The second packet has no frame of its own.
    assert_eq!((share("bits &\nok"), share("bits &\nok 3")), (Some(0.5), Some(0.75)));
    assert_eq!(share("bits ~0..8@15%"), None, "chance says which");
    assert_eq!(
        (share("hit 1"), share("bits payload 3")),
        (None, None),
        "chance, or the packet's headers, say where"
    );
}

/// What `reference/recordings/README.md` says of the recording, and what it does to packets.
#[test]
fn recordings_of_real_radios_are_traces() {
    let read = |name: &str| -> Trace {
        let path = format!("{}/../../reference/recordings/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap().parse().unwrap()
    };
    let (frames, packets) = (read("cc2500.txt"), read("cc2500-36.txt"));
    let hit = frames.fates().filter(|fate| fate.is_hit()).count();
    let lost = frames.fates().filter(|fate| **fate == Fate::Lost).count();
    let cut = frames.fates().filter(|fate| matches!(fate, Fate::Edits { .. })).count();
    assert_eq!((frames.packets(), hit, cut, lost), (1001, 71, 11, 1));
    assert_eq!((packets.packets(), packets.fates().filter(|fate| **fate == Fate::Ok).count()), (27, 3));
    for (trace, len, slipped) in [(frames, 16, 11), (packets, 576, 0)] {
        let expected = (trace.share_hit() * trace.packets() as f64).round() as u64;
        let config = LinkConfig { damage: Damage::Trace(trace.clone()), ..LinkConfig::default() };
        let (link, _) = run(config, 1, trace.packets() as usize, len);
        assert_eq!((link.counters().hit, link.counters().slipped), (expected, slipped));
    }
}
