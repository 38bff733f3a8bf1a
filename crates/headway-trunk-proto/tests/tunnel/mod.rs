//! Two gateways and an attacker between them, in virtual time.

mod counted;
mod crossed;
mod handshakes;
mod mtu;
mod nonces;
mod paths;
mod racing;
mod recorded;

use headway_link::{Damage, EnqueueResult, Headers, Link, LinkConfig, PacketBuffer, Trace};
use headway_trunk_proto::{Event, PeerConfig, PeerId, PresharedKey, SegmentIntegrity, Tunnel, TunnelConfig};
use headway_units::{Duration, Instant};
use headway_wire::ip::Datagram;
use headway_wire::repair::HeaderRepair;
use headway_wire::{Integrity, Received, judge};
use proptest::prelude::*;

use crate::world::{FAR, NEAR, Sent, World, at, random, secret, tunnel};

#[test]
fn segments_arrive_as_they_were_sent() {
    let mut world = World::new();
    assert!(world.seal(true, 1, b"early").is_none(), "there is no session yet");
    world.run(Duration::from_millis(100));
    for near in [true, false] {
        assert_eq!(world.saw(near, Event::Connected(PeerId(0))), 1, "{:?}", world.events);
        assert_eq!(world.saw(near, Event::Unchecked(PeerId(0), true)), 1);
        assert_eq!(world.saw(near, Event::Restarted(PeerId(0))), 0);
        for payload in [&b""[..], b"x", &[3; 1300]] {
            let (sent, packet) = world.seal(near, 9, payload).expect("a session");
            assert!(!sent.checksum);
            let text = payload.len().min(4);
            assert!(payload.len() < 4 || !sent.bytes.windows(text).any(|part| part == &payload[..text]));
            assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
        }
        for (payload, has_sack) in
            [(&b"x"[..], false), (b"xy", true), (&[3; 1419], false), (&[3; 1407], true)]
        {
            let (sent, packet) = world.seal_data(near, 9, payload, has_sack).expect("a session");
            assert!(payload.len() < 4 || !sent.bytes.windows(4).any(|part| part == &payload[..4]));
            assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
        }
    }
}

/// Where the parts of a sealed segment with timestamps are.
const HEADER: std::ops::Range<usize> = 9..9 + 32;
const TAGS: std::ops::Range<usize> = 41..41 + 32;

#[test]
fn damage_to_the_payload_leaves_the_header_and_damage_to_the_header_leaves_its_bits() {
    let mut world = World::connected();
    for seq in 0..200_usize {
        let (mut sent, packet) = world.seal(true, seq as u32, &[7; 500]).expect("a session");
        let place = if seq % 2 == 0 { TAGS.end + seq } else { HEADER.start + seq % 32 };
        sent.bytes[place] ^= 0x10;
        let (verdict, opened) = world.deliver(sent.clone()).expect("a packet");
        if seq % 2 == 0 {
            assert_eq!(verdict, SegmentIntegrity::Corrupted);
            assert_eq!(opened[..72], packet[..72], "the header is what was sent");
        } else {
            assert_eq!(verdict, SegmentIntegrity::Unreadable);
            let flips: u32 = opened[..72].iter().zip(&packet).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(flips, 1, "a flipped bit of the header is one after decryption");
            // It counts once.
            assert_eq!(world.deliver(sent.clone()), None);
            // What was sent arrives after all, and is taken. More often it would disprove the damage.
            if seq < 40 {
                sent.bytes[place] ^= 0x10;
                assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
            }
        }
    }
}

/// Where the IP header, the TCP header and the payload of a packet with timestamps and HACK v2 are, and its CRCs.
const IP: std::ops::Range<usize> = 0..40;
const TCP: std::ops::Range<usize> = 40..84;
const CRCS: std::ops::Range<usize> = 76..84;
/// The header and the tag of such a segment, with a compact header.
const COMPACT: std::ops::Range<usize> = 9..9 + 28;
const COMPACT_TAG: std::ops::Range<usize> = 37..37 + 16;

#[test]
fn a_damaged_payload_behind_a_compact_header_is_corrupted() {
    let mut world = World::connected();
    for bit in (0..16 * 8).chain(8 * 32..8 * 532) {
        let (mut sent, packet) = world.seal_data(true, bit, &[7; 500], false).expect("a session");
        // Without the tag nothing can be completed: damage to it is damage to the header.
        if bit < 16 * 8 {
            sent.bytes[COMPACT_TAG.start + bit as usize / 8] ^= 1 << (bit % 8);
            assert_eq!(world.deliver(sent).expect("a packet").0, SegmentIntegrity::Unreadable);
            continue;
        }
        let place = bit as usize / 8 - 32;
        sent.bytes[COMPACT_TAG.end + place] ^= 1 << (bit % 8);
        let (verdict, opened) = world.deliver(sent).expect("a packet");
        assert_eq!(verdict, SegmentIntegrity::Corrupted, "bit {bit}");
        assert_eq!((&opened[..TCP.end], opened.len()), (&packet[..TCP.end], packet.len()));
    }
}

/// Partial recovery completes what arrived damaged: a flipped bit is one after decryption, and the seal holds for what was
/// sent, whatever arrived, and for nothing else.
#[test]
fn the_seal_of_a_corrupted_payload_holds_for_what_was_sent_alone() {
    let mut world = World::connected();
    let mut seals = Vec::new();
    for has_compact_header in [true, false] {
        for bit in 0..8 * 40_usize {
            let sealed = match has_compact_header {
                true => world.seal_data(true, bit as u32, &[7; 40], false),
                false => world.seal(true, bit as u32, &[7; 40]),
            };
            let (mut sent, packet) = sealed.expect("a session");
            let payload = sent.bytes.len() - 40;
            sent.bytes[payload + bit / 8] ^= 1 << (bit % 8);
            let (verdict, opened, seal) = world.deliver_sealed(sent).expect("a packet");
            assert_eq!(verdict, SegmentIntegrity::Corrupted);
            let mut arrived = opened[packet.len() - 40..].to_vec();
            let seal = seal.expect("a seal");
            assert!(!seal.holds(&arrived) && !seal.holds(&[7; 39]) && !seal.holds(&[]), "bit {bit}");
            assert_eq!(seal.has_authentic_header(), !has_compact_header);
            arrived[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(arrived, [7; 40], "bit {bit}");
            assert!(seal.holds(&arrived), "bit {bit}");
            seals.push(seal);
        }
    }
    // The same payload, sent again, has another seal: each holds under its own number.
    assert!(seals.iter().all(|seal| seal.holds(&[7; 40])));
    assert!(!format!("{:?}", seals[0]).contains("key"), "a log shows no key");
    // What is intact or unreadable has none.
    let (mut sent, _) = world.seal_data(true, 1, &[7; 40], false).expect("a session");
    assert!(world.deliver_sealed(sent.clone()).is_some_and(|(.., seal)| seal.is_none()));
    sent = world.seal_data(true, 2, &[7; 40], false).expect("a session").0;
    sent.bytes[COMPACT.start] ^= 1;
    assert!(world.deliver_sealed(sent).is_some_and(|(.., seal)| seal.is_none()));
}

/// Who sees a packet can flip bits of it, and have it arrive damaged under a header whose CRC holds.
#[test]
fn a_corrupted_segment_begins_no_session_and_moves_no_peer() {
    for is_damaged in [true, false] {
        let mut world = World::new();
        // The responder has not heard from the initiator yet.
        world.loses = Some(|sent| sent.from == at(NEAR) && sent.bytes[0] >= 0x40);
        world.run(Duration::from_millis(100));
        let (mut sent, _) = world.seal_data(true, 1, &[7; 40], false).expect("a session");
        world.loses = None;
        *sent.bytes.last_mut().expect("a payload") ^= u8::from(is_damaged);
        assert!(world.deliver(sent).is_some());
        let is_connected =
            std::iter::from_fn(|| world.far.poll_event()).any(|event| event == Event::Connected(PeerId(0)));
        assert_eq!(is_connected, !is_damaged);

        let mut world = World::connected();
        let elsewhere = at("203.0.113.7:9");
        for seq in 0..4 {
            let (sent, _) = world.seal_data(true, seq, &[7; 40], false).expect("a session");
            let mut bytes = sent.bytes.clone();
            *bytes.last_mut().expect("a payload") ^= u8::from(is_damaged);
            assert!(world.deliver(Sent { from: elsewhere, bytes, ..sent }).is_some());
        }
        world.run(Duration::ZERO);
        assert_eq!(world.astray.iter().any(|sent| sent.to == elsewhere), !is_damaged);
    }
}

/// One flipped bit, anywhere in a compact header: header repair finds it, and believes the header, not the payload.
#[test]
fn a_compact_header_with_a_flipped_bit_is_repaired() {
    for has_sack in [false, true] {
        let mut world = World::connected();
        let len = COMPACT.len() + if has_sack { 12 } else { 0 };
        let header_end = TCP.end + if has_sack { 12 } else { 0 };
        for bit in 0..8 * len {
            let (mut sent, packet) =
                world.seal_data(true, bit as u32, &[7; 500], has_sack).expect("a session");
            sent.bytes[COMPACT.start + bit / 8] ^= 0x80 >> (bit % 8);
            let (verdict, opened) = world.deliver(sent.clone()).expect("a packet");
            assert_eq!(verdict, SegmentIntegrity::Unreadable);
            assert_eq!(opened[IP], packet[IP]);
            assert_ne!(judge(&opened), Ok(Integrity::Intact), "bit {bit}");
            assert_eq!(world.deliver(sent), None, "it counts once");

            let datagram = Datagram::parse(&opened).expect("a packet");
            let mut header = HeaderRepair::assume(&datagram, header_end - TCP.start, CRCS.start - TCP.start)
                .expect("a header");
            let flips = header.explain(header.syndrome(), 1, |_| true).expect("an explanation");
            assert_eq!(flips.len(), 1, "bit {bit}");
            flips.as_slice().iter().for_each(|&flip| header.flip(flip));
            assert_eq!(header.header()[..36], packet[40..76], "bit {bit}");
            assert_eq!(header.header()[44..], packet[84..header_end], "bit {bit}");
            assert_eq!(header.integrity(), Integrity::Corrupted, "its payload is not vouched for");
            assert_eq!(header.segment().expect("a segment").payload.len(), 500);
        }
    }
}

#[test]
fn what_was_received_is_not_received_again() {
    let mut world = World::connected();
    let seal = |seq: u32| match seq % 3 {
        0 => world.seal(true, seq, b"data"),
        form => world.seal_data(true, seq, b"data", form == 1),
    };
    let sent: Vec<_> = (0..300).map(seal).map(|sealed| sealed.expect("a session").0).collect();
    for sent in sent.iter().rev() {
        assert!(world.deliver(sent.clone()).is_some());
    }
    for sent in sent {
        assert_eq!(world.deliver(sent.clone()), None);
    }
}

#[test]
fn a_restarted_peer_is_noticed_at_once_by_either_end() {
    let mut world = World::connected();
    world.far = tunnel(2, secret(1).public(), None, 77);
    // The near end sends, and hears nothing.
    assert!(!world.exchange(true));
    world.run(Duration::from_secs(3));
    assert_eq!(world.saw(true, Event::Restarted(PeerId(0))), 1, "{:?}", world.events);
    assert!(world.exchange(true) && world.exchange(false));
    world.near = tunnel(1, secret(2).public(), Some(at(FAR)), 78);
    world.run(Duration::from_secs(1));
    assert_eq!(world.saw(false, Event::Restarted(PeerId(0))), 1, "{:?}", world.events);
    assert!(world.exchange(true) && world.exchange(false));
}

/// Silence after an ACK is what is expected; silence after data is not.
/// Nothing is sent by an end that only receives, so it has to ask.
#[test]
fn an_end_that_only_receives_notices_that_its_peer_was_restarted_or_that_it_has_moved_itself() {
    for moves in [true, false] {
        let mut world = World::connected();
        world.run(Duration::from_secs(30));
        for seq in 0..10 {
            assert!(world.exchange(false), "segment {seq}");
        }
        let (before, handshakes) = (world.near.counters(), world.far.counters().handshakes);
        if moves {
            world.near_at = at("192.0.2.77:5000");
        } else {
            world.far = tunnel(2, secret(1).public(), None, 77);
        }
        world.run(Duration::from_secs(5));
        if moves {
            assert_eq!(world.saw(false, Event::Moved(PeerId(0), world.near_at)), 1, "{:?}", world.events);
            assert_eq!(world.far.counters().handshakes, handshakes, "its answer is enough");
        } else {
            assert_eq!(world.saw(true, Event::Restarted(PeerId(0))), 1, "{:?}", world.events);
            assert_eq!(world.near.counters().handshakes, before.handshakes + 1);
        }
        assert!(world.exchange(false));
    }
}

#[test]
fn an_end_asks_once_after_data_and_not_again() {
    let mut world = World::connected();
    world.run(Duration::from_secs(30));
    assert!(world.exchange(false));
    let handshakes = world.near.counters().handshakes;
    world.run(Duration::from_secs(10));
    // What is due next is the session's end.
    for tunnel in [&world.near, &world.far] {
        assert!(tunnel.next_deadline().is_some_and(|at| at > world.now + Duration::from_secs(60)));
    }
    assert_eq!(world.near.counters().handshakes, handshakes);
}

#[test]
fn an_ack_without_an_answer_begins_no_handshake() {
    let mut world = World::connected();
    let before = world.near.counters().handshakes;
    for (payload, handshakes) in [(&b""[..], 0), (b"data", 1)] {
        let (sent, packet) = world.seal(true, 1, payload).expect("a session");
        assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
        world.run(Duration::from_secs(10));
        assert_eq!(world.near.counters().handshakes - before, handshakes, "{payload:?}");
    }
}

#[test]
fn sessions_are_replaced_without_a_gap_and_survive_an_outage() {
    let mut world = World::connected();
    let before = world.near.counters().handshakes;
    for _ in 0..600 {
        world.run(Duration::from_secs(1));
        assert!(world.exchange(true) && world.exchange(false), "at {:?}", world.now);
    }
    let handshakes = world.near.counters().handshakes - before;
    assert!((4..=6).contains(&handshakes), "{handshakes} in ten minutes");
    world.is_down = true;
    for _ in 0..600 {
        world.run(Duration::from_secs(1));
        assert!(!world.exchange(true));
    }
    // Longer than any session serves: the next one is with the same process, which has kept its connections.
    world.run(Duration::from_secs(600));
    assert_eq!(world.saw(true, Event::Lost(PeerId(0))), 1);
    assert!(world.seal(true, 1, b"x").is_none());
    world.is_down = false;
    world.run(Duration::from_secs(6));
    for near in [true, false] {
        assert_eq!(world.saw(near, Event::Restarted(PeerId(0))), 0);
        assert_eq!(world.saw(near, Event::Connected(PeerId(0))), 2, "{:?}", world.events);
        assert!(world.exchange(near));
    }
    // An outage that the session survives: it serves the moment that the link is back.
    world.is_down = true;
    for _ in 0..600 {
        world.run(Duration::from_secs(1));
        assert!(!world.exchange(true));
    }
    let lost = world.saw(true, Event::Lost(PeerId(0)));
    world.is_down = false;
    assert!(world.exchange(true));
    assert_eq!(world.saw(true, Event::Lost(PeerId(0))), lost);
    world.run(Duration::from_secs(6));
    assert!(world.exchange(true) && world.exchange(false));
    assert_eq!(world.saw(true, Event::Restarted(PeerId(0))), 0);
}

#[test]
fn a_path_that_drops_datagrams_without_checksum_is_found_out() {
    let mut world = World::new();
    world.drops_unchecked = true;
    world.run(Duration::from_secs(20));
    for near in [true, false] {
        assert_eq!(world.saw(near, Event::Unchecked(PeerId(0), false)), 1, "{:?}", world.events);
        assert!(world.seal(near, 1, b"x").expect("a session").0.checksum);
        assert!(world.exchange(near));
    }
}

/// Handshakes have checksums, so without probes only the data would be lost, and for ever.
#[test]
fn a_path_that_begins_to_drop_datagrams_without_checksum_is_found_out() {
    for near in [true, false] {
        let mut world = World::connected();
        world.run(Duration::from_secs(3));
        assert!(!world.seal(near, 1, b"x").expect("a session").0.checksum);
        world.drops_unchecked = true;
        assert!(!world.exchange(near));
        world.run(Duration::from_secs(3));
        for end in [true, false] {
            assert!(world.seal(end, 1, b"x").expect("a session").0.checksum, "{:?}", world.events);
            assert!(world.exchange(end));
        }
        world.run(Duration::from_secs(20));
        for end in [true, false] {
            assert_eq!(world.saw(end, Event::Unchecked(PeerId(0), false)), 1, "{:?}", world.events);
            assert_eq!(world.saw(end, Event::Restarted(PeerId(0))), 0);
        }
    }
}

#[test]
fn a_session_that_is_replaced_in_time_keeps_what_is_known_of_the_path() {
    let mut world = World::connected();
    for _ in 0..400 {
        world.run(Duration::from_secs(1));
        assert!(world.exchange(true) && world.exchange(false));
    }
    assert!(world.near.counters().handshakes >= 3);
    for near in [true, false] {
        assert_eq!(world.saw(near, Event::Unchecked(PeerId(0), true)), 1, "{:?}", world.events);
    }
}

#[test]
fn unknown_keys_and_other_secrets_get_no_session() {
    for (own, preshared) in [(9, 5), (1, 6)] {
        let mut world = World::new();
        let peer = PeerConfig {
            endpoint: Some(at(FAR)),
            preshared: Some(PresharedKey::from_bytes([preshared; 32])),
            ..PeerConfig::new(secret(2).public())
        };
        world.near =
            Tunnel::new(TunnelConfig { peers: vec![peer], ..TunnelConfig::new(secret(own), random(3)) });
        world.run(Duration::from_secs(10));
        // The far end says whom it does not know, each time.
        let unknown = (false, Event::Unknown(secret(own).public(), at(NEAR)));
        assert!(world.events.iter().all(|event| *event == unknown), "{:?}", world.events);
        assert_eq!(world.events.is_empty(), own == 1, "{:?}", world.events);
        assert!(!world.exchange(true));
        assert_eq!(world.far.counters().handshakes, 0);
    }
}

#[test]
fn a_peer_that_was_removed_is_told_and_comes_back_only_if_it_is_added() {
    let mut world = World::connected();
    world.run(Duration::from_secs(20));
    for _ in 0..2 {
        world.far.remove_peer(world.now, PeerId(0));
    }
    world.run(Duration::from_secs(20));
    assert_eq!(world.saw(false, Event::Removed(PeerId(0))), 1, "{:?}", world.events);
    assert_eq!(world.saw(true, Event::Restarted(PeerId(0))), 1, "{:?}", world.events);
    assert!(!world.exchange(true) && !world.exchange(false));
    // It asks by a handshake, and is no peer.
    world.near = tunnel(1, secret(2).public(), Some(at(FAR)), 7);
    world.run(Duration::from_secs(20));
    assert!(world.saw(false, Event::Unknown(secret(1).public(), at(NEAR))) > 1, "{:?}", world.events);
    let preshared = Some(PresharedKey::from_bytes([5; 32]));
    let again = PeerConfig { preshared, ..PeerConfig::new(secret(1).public()) };
    assert_eq!(world.far.add_peer(again), PeerId(1));
    world.run(Duration::from_secs(20));
    assert_eq!(world.saw(false, Event::Connected(PeerId(1))), 1, "{:?}", world.events);
}

/// The far end is flooded with copies of an initiation: it asks for a cookie, and a peer that gets one gets a session.
#[test]
fn a_flood_of_handshakes_is_answered_with_cookies_and_peers_get_through() {
    let mut world = World::new();
    world.near.handle_timeout(world.now);
    let first = world.near.poll_transmit().expect("an initiation");
    let copy = Sent { from: at("203.0.113.1:5"), to: first.to, bytes: first.datagram, checksum: true };
    for _ in 0..10_000 {
        world.deliver(copy.clone());
    }
    let answered = std::iter::from_fn(|| world.far.poll_transmit()).count();
    let counters = world.far.counters();
    assert!(counters.cookies_sent >= 9_900, "{counters:?}");
    assert!(answered <= 256, "what waits is bounded: {answered}");
    for _ in 0..8 {
        for _ in 0..100 {
            world.deliver(copy.clone());
        }
        std::iter::from_fn(|| world.far.poll_transmit()).for_each(drop);
        world.run(Duration::from_secs(1));
    }
    assert!(world.exchange(true) && world.exchange(false), "{:?}", world.events);
}

/// A packet of zeros and its number.
#[derive(Clone, Debug, PartialEq)]
struct Numbered(usize, Vec<u8>);

impl AsMut<[u8]> for Numbered {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.1
    }
}

impl PacketBuffer for Numbered {
    fn set_len(&mut self, len: usize) {
        self.1.resize(len, 0);
    }
}

/// What a link does to each of `n` packets.
fn replay(config: LinkConfig, n: usize) -> Vec<&'static str> {
    // IPv4 and TCP without options.
    let headers = Headers { ip_header_len: 20, header_len: 40 };
    let mut link = Link::new(config, 1);
    for number in 0..n {
        let packet = Numbered(number, vec![0; 600]);
        assert_eq!(link.enqueue(Instant::ZERO, packet, 600, headers, true), EnqueueResult::Queued);
    }
    let mut fates = vec!["lost"; n];
    while let Some(now) = link.next_event() {
        while let Some(delivery) = link.poll(now) {
            let Numbered(number, bytes) = delivery.packet;
            fates[number] = match bytes.iter().position(|&byte| byte != 0) {
                None => "ok",
                Some(0..40) => "header",
                Some(_) => "payload",
            };
        }
    }
    fates
}

/// What is recorded, replayed by the simulated link, damages the packets that were damaged and loses those that were
/// lost.
#[test]
fn a_recorded_flight_damages_the_same_packets_when_it_is_replayed() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fate {
        Ok,
        Payload,
        Header,
        Lost,
    }
    let mut world = World::connected();
    // The first and the last are intact: what is lost before or after all that arrives is not seen.
    let of = |number: u64| match number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 {
        _ if number == 0 || number == 499 => Fate::Ok,
        0 => Fate::Payload,
        1 => Fate::Header,
        2 => Fate::Lost,
        _ => Fate::Ok,
    };
    let before = world.far.recorders()[0].trace().expect("a keep-alive").parse::<Trace>().expect("a trace");
    let mut late = Vec::new();
    for number in 0..500 {
        let (mut sent, _) = world.seal(true, number as u32, &[1; 500]).expect("a session");
        match of(number) {
            Fate::Ok => {}
            Fate::Payload => sent.bytes[300] ^= 4,
            Fate::Header => sent.bytes[12] ^= 4,
            Fate::Lost => continue,
        }
        // Some are overtaken.
        if number % 7 == 3 {
            late.push(sent);
            continue;
        }
        world.deliver(sent);
        late.drain(..).for_each(|sent| drop(world.deliver(sent)));
    }
    let text = world.far.recorders()[0].trace().expect("packets");
    let trace: Trace = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(trace.packets(), before.packets() + 500, "{text}");
    assert!(text.contains("bytes"), "{text}");

    let trace_packets = trace.packets();
    let config = LinkConfig { damage: Damage::Trace(trace), ..LinkConfig::default() };
    let replayed = replay(config, trace_packets as usize);
    let seen = &replayed[before.packets() as usize..];
    let expected: Vec<_> = (0..500)
        .map(|number| match of(number) {
            Fate::Ok => "ok",
            Fate::Payload => "payload",
            Fate::Header => "header",
            Fate::Lost => "lost",
        })
        .collect();
    assert_eq!(seen, expected);
    assert!(
        ["payload", "header", "lost"]
            .iter()
            .all(|fate| expected.iter().filter(|was| was == &fate).count() > 10)
    );
}

proptest! {
    /// Whatever arrives: no panic, no session, no packet that is believed.
    #[test]
    fn arbitrary_datagrams_have_no_effect(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        kind in prop::sample::select(vec![1_u8, 2, 3, 0x40, 0x45, 0x4b, 0x4f, 0x50, 0x56, 0x57, 0x5a, 0x5b, 0x5c, 0x5f]),
        fits in any::<bool>(),
    ) {
        let mut world = World::connected();
        let before = world.far.counters();
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if fits {
            let len = match kind { 1 => 152, 2 => 108, 3 => 64, _ => bytes.len() };
            bytes.resize(len, 0);
        }
        let arrived = world.deliver(Sent { from: world.near_at, to: world.far_at, bytes, checksum: true });
        prop_assert_eq!(arrived, None);
        let after = world.far.counters();
        prop_assert_eq!((after.intact, after.corrupted, after.handshakes), (before.intact, before.corrupted, before.handshakes));
        prop_assert!(world.exchange(true) && world.exchange(false));
    }

    /// Any damage to a real packet: what is believed is what was sent.
    #[test]
    fn only_what_was_sent_is_believed(flips in prop::collection::vec((0_usize..573, 0_u8..8), 1..6), cut in 0_usize..600) {
        let mut world = World::connected();
        let (mut sent, packet) = world.seal(true, 4, &[1; 500]).expect("a session");
        for (byte, bit) in flips {
            sent.bytes[byte] ^= 1 << bit;
        }
        sent.bytes.truncate(cut.max(1));
        match world.deliver(sent) {
            Some((SegmentIntegrity::Intact, opened)) => prop_assert_eq!(opened, packet),
            Some((SegmentIntegrity::Corrupted, opened)) => prop_assert_eq!(&opened[40..72], &packet[40..72]),
            Some((SegmentIntegrity::Unreadable, opened)) => {
                // It is a packet between the ends of the tunnel, whatever is in it.
                prop_assert!(!matches!(Received::parse(&opened, headway_wire::ChecksumTrust::None), Received::Intact(_)));
            }
            None => {}
        }
        prop_assert!(world.exchange(true));
        let (all, peer) = (world.far.counters(), world.far.peers().next().expect("a peer").counters);
        prop_assert_eq!((all.intact, all.corrupted, all.unreadable), (peer.intact, peer.corrupted, peer.unreadable));
        prop_assert_eq!((all.handshakes, peer.handshakes), (1, 1));
        prop_assert!(peer.ignored <= all.ignored && world.near.peers().all(|peer| peer.counters.sealed == 2));
    }
}

proptest! {
    /// Any damage to a packet with a compact header, and any length.
    #[test]
    fn of_a_compact_packet_only_what_was_sent_is_believed(
        flips in prop::collection::vec((0_usize..553, 0_u8..8), 0..6),
        cut in 0_usize..600,
        has_sack in any::<bool>(),
    ) {
        let mut world = World::connected();
        let (mut sent, packet) = world.seal_data(true, 4, &[1; 500], has_sack).expect("a session");
        for (byte, bit) in flips {
            sent.bytes[byte] ^= 1 << bit;
        }
        sent.bytes.truncate(cut.max(1));
        match world.deliver(sent) {
            Some((SegmentIntegrity::Intact, opened)) => prop_assert_eq!(opened, packet),
            Some((SegmentIntegrity::Corrupted, opened)) => {
                prop_assert_eq!(opened.len(), packet.len());
                prop_assert_eq!(&opened[TCP], &packet[TCP]);
            }
            Some((SegmentIntegrity::Unreadable, opened)) => prop_assert_ne!(judge(&opened), Ok(Integrity::Intact)),
            None => {}
        }
        prop_assert!(world.exchange(true) && world.exchange(false));
    }
}

/// In an outage the peer is asked for once a round trip, between every 50 ms and every second, and both ends learn when the
/// link is back.
#[test]
fn both_ends_learn_when_the_link_returns() {
    for (one_way, every) in [(0, 50), (30, 60), (100, 200), (600, 1000)] {
        let mut world = World::new();
        world.delay = Duration::from_millis(one_way);
        world.run(Duration::from_secs(10));
        world.is_down = true;
        for near in [true, false] {
            let (sent, _) = world.seal(near, 1, b"data").expect("a session");
            world.deliver(sent);
        }
        world.run(Duration::from_secs(120));
        for near in [true, false] {
            assert_eq!(world.saw(near, Event::Returned(PeerId(0))), 0);
        }
        world.is_down = false;
        world.run(Duration::from_millis(every + one_way + 20));
        for near in [true, false] {
            assert_eq!(world.saw(near, Event::Returned(PeerId(0))), 1, "{one_way} ms: {:?}", world.events);
        }
    }
}

/// And not more often.
#[test]
fn an_outage_is_no_burden() {
    let mut world = World::new();
    world.delay = Duration::from_millis(100);
    world.run(Duration::from_secs(10));
    world.is_down = true;
    let (sent, _) = world.seal(true, 1, b"data").expect("a session");
    world.deliver(sent);
    let mut bytes = 0;
    for _ in 0..10_000 {
        world.now += Duration::from_millis(10);
        world.near.handle_timeout(world.now);
        bytes += std::iter::from_fn(|| world.near.poll_transmit())
            .map(|sent| sent.datagram.len() + 28)
            .sum::<usize>();
    }
    // Two questions each 200 ms, and an initiation a second.
    assert!(bytes < 100 * (10 * 60 + 250), "{bytes}");
}
