//! The limits of sealing and opening: numbers, lengths, what is no segment.

use headway_wire::{TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, emit};

use super::*;
use crate::compact::expand;
use crate::damage_trust::{AHEAD, BEHIND};
use crate::message::Message;
use crate::secret::Secret;

const RECEIVER: u32 = 7;
/// A TCP header of 20 bytes.
const HEADER: [u8; 20] = [0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 5 << 4, 0x10, 0, 9, 0, 0, 0, 0];

fn key() -> Key {
    Key::new(Secret::new(&[9; 32]))
}

fn inner() -> Inner {
    Inner { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::UNSPECIFIED, ecn: Ecn::NotEct }
}

/// A segment in an IPv6 packet, after the room that sealing needs.
fn packet(payload: &[u8]) -> Vec<u8> {
    let mut ip = [0; IP_HEADER];
    ip[0] = 6 << 4;
    ip[6] = TCP;
    [&[0; HEADROOM][..], &ip, &HEADER, payload].concat()
}

/// A data segment that has a compact header, likewise.
fn data(payload: &[u8]) -> Vec<u8> {
    let options = TcpOptions {
        timestamps: Some(Timestamps { tsval: 1, tsecr: 2 }),
        v2: Some(V2::data()),
        ..TcpOptions::default()
    };
    let tcp = TcpHeader { src_port: 1, dst_port: 2, flags: TcpFlags::ACK, ..TcpHeader::default() };
    let mut room = vec![0; HEADROOM + 200 + payload.len()];
    let len =
        emit(&mut room[HEADROOM..], &inner().header(), &tcp, &options, (payload, &[])).expect("a packet");
    room.truncate(HEADROOM + len);
    room
}

fn seal(sealer: &mut Sealer, packet: &[u8]) -> Result<Vec<u8>, SealError> {
    let mut room = packet.to_vec();
    let (datagram, _) = sealer.segment(&mut room, HEADROOM..packet.len(), inner())?;
    Ok(room[datagram].to_vec())
}

fn open(opener: &mut Opener, datagram: &[u8]) -> Opened {
    open_after(HEADROOM, opener, datagram)
}

/// Opens a datagram that has `start` bytes before it.
fn open_after(start: usize, opener: &mut Opener, datagram: &[u8]) -> Opened {
    let Some(Message::Sealed { low, kind, .. }) = Message::parse(datagram) else { return Opened::Nothing };
    let mut room = [&vec![0; start][..], datagram].concat();
    opener.open(&mut room, start, (low, kind), inner())
}

fn verdict(opened: &Opened) -> Option<(SegmentIntegrity, bool)> {
    match opened {
        Opened::Segment { verdict, newest, .. } => Some((*verdict, *newest)),
        _ => None,
    }
}

fn verdict_of(opener: &mut Opener, datagram: &[u8]) -> Option<(SegmentIntegrity, bool)> {
    verdict(&open(opener, datagram))
}

#[test]
fn a_key_seals_its_last_number_once_and_then_nothing() {
    let mut sealer = Sealer::at(&key(), RECEIVER, MOST_PACKETS - 4);
    for left in [4, 3] {
        assert_eq!(sealer.packets(), MOST_PACKETS - left);
        assert!(seal(&mut sealer, &packet(b"x")).is_ok());
    }
    assert!(sealer.control(&[0]).is_some() && sealer.padded(&[4, 0, 0], 100).is_some());
    for _ in 0..3 {
        assert_eq!(seal(&mut sealer, &packet(b"x")), Err(SealError::NoSession));
        assert_eq!((sealer.control(&[0]), sealer.padded(&[4, 0, 0], 100)), (None, None));
    }
    assert_eq!(MOST_PACKETS, 1 << 32, "the 32 bits of a number that are sent");
}

#[test]
fn what_is_no_segment_is_not_sealed_and_takes_no_number() {
    let mut sealer = Sealer::new(&key(), RECEIVER);
    let good = packet(b"payload");
    let tcp = HEADROOM + IP_HEADER;
    for (place, byte) in [(HEADROOM, 4 << 4), (HEADROOM, 7 << 4), (HEADROOM + 6, 17), (tcp + 12, 4 << 4)] {
        let mut other = good.clone();
        other[place] = byte;
        assert_eq!(seal(&mut sealer, &other), Err(SealError::NotASegment), "{place}");
    }
    for len in HEADROOM..tcp + HEADER.len() {
        assert_eq!(seal(&mut sealer, &good[..len]), Err(SealError::NotASegment), "{len}");
    }
    // Longer than the packet, though not than the room.
    let mut room = good.clone();
    let cut = sealer.segment(&mut room, HEADROOM..tcp + HEADER.len() - 1, inner());
    assert_eq!(cut, Err(SealError::NotASegment));
    // Not enough room before it: a header of 20 bytes takes the place of 40, and 9 and 32 bytes are added.
    for start in 0..2 {
        let mut room = good[HEADROOM - start..].to_vec();
        let end = room.len();
        let sealed = sealer.segment(&mut room, start..end, inner());
        assert_eq!(sealed.is_ok(), start == 1, "{start}");
    }
    assert_eq!(sealer.packets(), 1);
    assert!(seal(&mut sealer, &packet(b"")).is_ok());
}

#[test]
fn of_what_was_cut_or_made_longer_nothing_is_authentic() {
    let mut sealer = Sealer::new(&key(), RECEIVER);
    let sealed = [
        sealer.control(b"a message").expect("sealed"),
        sealer.control(b"").expect("sealed"),
        sealer.padded(&[4, 0, 0], 0).expect("sealed"),
        seal(&mut sealer, &packet(b"")).expect("sealed"),
        seal(&mut sealer, &packet(b"payload")).expect("sealed"),
        seal(&mut sealer, &data(b"payload")).expect("sealed"),
    ];
    for datagram in sealed {
        for len in 0..datagram.len() {
            let opened = open(&mut Opener::new(&key()), &datagram[..len]);
            let is_authentic = !matches!(
                opened,
                Opened::Nothing | Opened::Segment { verdict: SegmentIntegrity::Unreadable, .. }
            );
            assert!(!is_authentic, "{len} of {}: {opened:?}", datagram.len());
        }
        // Of a padded one what follows is padding.
        let longer = [&datagram[..], &[0]].concat();
        let opened = open(&mut Opener::new(&key()), &longer);
        let is_padded = datagram[0] == 0x41;
        assert_eq!(matches!(opened, Opened::Control { newest: true, .. }), is_padded, "{opened:?}");
        assert!(verdict(&opened).is_none_or(|(verdict, _)| verdict == SegmentIntegrity::Unreadable));
        let opened = open(&mut Opener::new(&key()), &datagram);
        assert!(
            matches!(opened, Opened::Control { newest: true, .. })
                || verdict(&opened) == Some((SegmentIntegrity::Intact, true))
        );
    }
}

/// A peer that has the key, and sends the tag of a payload without one, or a compact header without data.
#[test]
fn what_only_data_segments_have_is_refused_without_data() {
    for (kind, header, has_tag, is_segment) in [
        (MessageKind::Segment { header: 20 }, 20, true, false),
        (MessageKind::Segment { header: 20 }, 20, false, true),
        (MessageKind::Compact { header: 28 }, 28, false, false),
    ] {
        let first = prefix(kind, RECEIVER, 0);
        let mut text = [&HEADER[..], &[0; 8]].concat();
        text.resize(header + if has_tag { TAG } else { 0 }, 0);
        let tag = key().seal(Part::Header, 0, &header_ad(&first, &[]), &mut text).expect("sealed");
        for start in [HEADROOM, 100] {
            let opened = open_after(start, &mut Opener::new(&key()), &[&first[..], &text, &tag].concat());
            assert_eq!(verdict(&opened).is_some(), is_segment, "{kind:?} {has_tag} {start}");
        }
    }
}

/// Whatever was authentic, the number after it is expected next.
#[test]
fn the_highest_authentic_number_is_followed() {
    for at in [0, 1, 500] {
        let mut sealer = Sealer::at(&key(), RECEIVER, at);
        let mut opener = Opener::new(&key());
        let control = sealer.control(&[0]).expect("sealed");
        let padded = sealer.padded(&[4, 0, 0], 50).expect("sealed");
        let mut corrupted = seal(&mut sealer, &packet(b"payload")).expect("sealed");
        *corrupted.last_mut().expect("a payload") ^= 1;
        let intact = seal(&mut sealer, &packet(b"payload")).expect("sealed");
        for (next, datagram) in (at + 1..).zip([&control, &padded, &corrupted, &intact]) {
            assert!(!matches!(open(&mut opener, datagram), Opened::Nothing));
            assert_eq!(opener.next(), next);
        }
        // What is late does not set it back.
        let late = Sealer::new(&key(), RECEIVER).control(&[0]).expect("sealed");
        let is_new = at > 0;
        assert_eq!(matches!(open(&mut opener, &late), Opened::Control { newest: false, .. }), is_new);
        assert_eq!(opener.next(), at + 4);
    }
}

#[test]
fn an_unreadable_packet_is_near_the_highest_authentic_number_or_nothing() {
    const AT: u64 = 10_000;
    for (number, is_near) in [
        (AT - BEHIND - 1, false),
        (AT - BEHIND, true),
        (AT - 2, true),
        (AT, true),
        (AT + AHEAD - 1, true),
        (AT + AHEAD, false),
        (AT + (1 << 20), false),
    ] {
        let mut opener = Opener::new(&key());
        opener.expect(AT);
        let mut damaged =
            seal(&mut Sealer::at(&key(), RECEIVER, number), &packet(b"payload")).expect("sealed");
        damaged[PREFIX] ^= 1;
        let opened = open(&mut opener, &damaged);
        assert_eq!(verdict(&opened), is_near.then_some((SegmentIntegrity::Unreadable, false)), "{number}");
        // Each counts once. It moves nothing: what is near stays so.
        assert!(matches!(open(&mut opener, &damaged), Opened::Nothing));
        assert_eq!(opener.next(), AT);
        // What was sent is taken wherever it is, if it is not too old.
        damaged[PREFIX] ^= 1;
        let newest = number >= AT;
        assert_eq!(
            verdict(&open(&mut opener, &damaged)),
            Some((SegmentIntegrity::Intact, newest)),
            "{number}"
        );
        assert_eq!(opener.next(), AT.max(number + 1));
        assert!(matches!(open(&mut opener, &damaged), Opened::Nothing));
    }
}

/// Damage to the payload is announced once, and damage to the header not after it. Both leave room for what was sent.
#[test]
fn a_number_is_announced_once_for_each_kind_of_damage() {
    let sealed = seal(&mut Sealer::new(&key(), RECEIVER), &packet(b"payload")).expect("sealed");
    let damaged = |place: usize| {
        let mut datagram = sealed.clone();
        datagram[place] ^= 1;
        datagram
    };
    let (header, payload) = (damaged(PREFIX), damaged(sealed.len() - 1));
    let mut opener = Opener::new(&key());
    assert_eq!(verdict(&open(&mut opener, &header)), Some((SegmentIntegrity::Unreadable, false)));
    assert_eq!(verdict(&open(&mut opener, &payload)), Some((SegmentIntegrity::Corrupted, false)));
    for again in [&payload, &header, &payload] {
        assert!(matches!(open(&mut opener, again), Opened::Nothing));
    }
    assert_eq!(verdict(&open(&mut opener, &sealed)), Some((SegmentIntegrity::Intact, false)));
    let mut opener = Opener::new(&key());
    assert_eq!(verdict(&open(&mut opener, &payload)), Some((SegmentIntegrity::Corrupted, false)));
    assert!(matches!(open(&mut opener, &header), Opened::Nothing));
    assert_eq!(verdict(&open(&mut opener, &sealed)), Some((SegmentIntegrity::Intact, false)));
    for again in [&payload, &header, &sealed] {
        assert!(matches!(open(&mut opener, again), Opened::Nothing));
    }
}

/// What a compact header is good for without its tag: its CRC says of each bit of the header, and of the tag, whether it is damaged.
#[test]
fn each_byte_of_a_data_segment_is_told_apart() {
    let sealed = seal(&mut Sealer::new(&key(), RECEIVER), &data(&[5; 200])).expect("sealed");
    let payload = PREFIX + 28 + TAG;
    // What the kind and the session are found by is not damaged here.
    for place in 5..sealed.len() {
        let mut damaged = sealed.clone();
        damaged[place] ^= 4;
        let mut opener = Opener::new(&key());
        let opened = open(&mut opener, &damaged);
        let Opened::Segment { verdict, newest: false, seal, .. } = opened else {
            assert!(place < PREFIX, "of another number: {place}");
            continue;
        };
        let is_readable = place >= payload;
        assert_eq!(verdict == SegmentIntegrity::Corrupted, is_readable, "{place}");
        assert_eq!(seal.is_some_and(|seal| seal.holds(&[5; 200])), is_readable, "{place}");
        assert_eq!(opener.next(), u64::from(is_readable), "{place}");
        assert_eq!(
            verdict_of(&mut opener, &sealed),
            Some((SegmentIntegrity::Intact, !is_readable)),
            "{place}"
        );
    }
}

/// Who sees a datagram can give it another header whose CRC holds: it is corrupted, and nothing that is completed is believed.
#[test]
fn a_header_that_was_changed_with_its_crc_authenticates_nothing() {
    let sealed = seal(&mut Sealer::new(&key(), RECEIVER), &data(b"payload")).expect("sealed");
    let crc_of = |seq: u8| {
        let mut header = [0; 28];
        header[7] = seq;
        header[12] = 11 << 4;
        let full = expand(&header).expect("a header");
        full.crc(&inner().header(), 7)
    };
    let mut changed = sealed.clone();
    changed[PREFIX + 7] ^= 9;
    let crc = crc_of(0) ^ crc_of(9);
    changed[PREFIX + 24..PREFIX + 28].iter_mut().zip(crc.to_be_bytes()).for_each(|(byte, of)| *byte ^= of);
    let mut opener = Opener::new(&key());
    let Opened::Segment { verdict, newest, seal: Some(seal), .. } = open(&mut opener, &changed) else {
        panic!("a segment")
    };
    assert_eq!((verdict, newest), (SegmentIntegrity::Corrupted, false));
    assert!(!seal.holds(b"payload"));
    assert_eq!(verdict_of(&mut opener, &sealed), Some((SegmentIntegrity::Intact, false)));
}

/// A readable header is not followed further than damage is announced.
#[test]
fn a_readable_header_is_near_the_highest_authentic_number_or_nothing() {
    for (number, is_near) in [(AHEAD - 1, true), (AHEAD, false), (1 << 20, false)] {
        let mut damaged = seal(&mut Sealer::at(&key(), RECEIVER, number), &data(b"payload")).expect("sealed");
        *damaged.last_mut().expect("a payload") ^= 1;
        let mut opener = Opener::new(&key());
        let opened = open(&mut opener, &damaged);
        assert_eq!(verdict(&opened), is_near.then_some((SegmentIntegrity::Corrupted, false)), "{number}");
        assert_eq!(opener.next(), if is_near { number + 1 } else { 0 });
    }
}

/// `docs/trunk-protocol.md`, section 2: a packet of 1500 bytes, with 28 of IPv4 and UDP, has 1419 bytes of data. Inside it has
/// headers of 40 and 44 bytes.
#[test]
fn the_mtu_inside_is_that_of_compact_headers() {
    assert_eq!(inner_mtu(1500 - 28), 40 + 44 + 1419);
    assert_eq!((inner_mtu(0), inner_mtu(u16::MAX)), (56, u16::MAX));
}
