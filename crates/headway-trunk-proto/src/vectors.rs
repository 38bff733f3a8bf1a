//! The bytes that another implementation makes from `docs/trunk-protocol.md` (`reference/trunk/vectors`): we make the same, and open
//! theirs.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};

use headway_units::{Duration, Instant};
use headway_wire::usual::HEADER_CRC;
use headway_wire::{Ecn, IpHeader};

use crate::cookie::{self, CookieJar};
use crate::handshake::{Initiator, Introduction, Responder};
use crate::inner_address;
use crate::key::Key;
use crate::keys::{PresharedKey, PublicKey, SecretKey};
use crate::message::Message;
use crate::seal::{HEADROOM, IP_HEADER, Inner, Opened, Opener, Sealer, SegmentIntegrity};
use crate::secret::Secret;
use crate::tunnel::Random;

/// The named values of the file.
struct Vectors(BTreeMap<&'static str, Vec<u8>>);

impl Vectors {
    fn read() -> Self {
        let lines = include_str!("../tests/vectors/trunk.txt").lines();
        let of = |line: &'static str| {
            let (name, hex) = line.split_once(" = ").expect("a name and a value");
            let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hex");
            (name, (0..hex.len()).step_by(2).map(byte).collect())
        };
        Self(lines.map(of).collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn get(&self, name: &str) -> &[u8] {
        self.0.get(name).unwrap_or_else(|| panic!("{name}: expected in the vectors"))
    }

    fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        self.get(name).try_into().unwrap_or_else(|_| panic!("{name}: expected {N} bytes"))
    }

    fn index(&self, name: &str) -> u32 {
        u32::from_be_bytes(self.array(name))
    }
}

/// One end of a handshake.
struct End {
    secret: SecretKey,
    public: PublicKey,
    introduction: Introduction,
    index: u32,
    random: Random,
}

fn end(vectors: &Vectors, name: &str) -> End {
    let of = |what: &str| format!("{name}.{what}");
    let payload: [u8; 16] = vectors.array(&of("payload"));
    let (boot, time) = payload.split_at(8);
    let introduction = Introduction {
        boot: boot.try_into().expect("8 bytes"),
        time: u64::from_be_bytes(time.try_into().expect("8 bytes")),
    };
    let ephemeral: [u8; 32] = vectors.array(&of("ephemeral"));
    End {
        secret: SecretKey::from_bytes(vectors.array(&of("secret"))),
        public: PublicKey::from_bytes(vectors.array(&of("public"))),
        introduction,
        index: vectors.index(&of("index")),
        random: Box::new(move |bytes| bytes.copy_from_slice(&ephemeral)),
    }
}

#[test]
fn handshakes_are_those_of_the_vectors() {
    let vectors = Vectors::read();
    for session in ["with", "without"] {
        let of = |what: &str| format!("{session}.{what}");
        let (mut near, mut far) = (end(&vectors, &of("initiator")), end(&vectors, &of("responder")));
        assert_eq!((near.secret.public(), far.secret.public()), (near.public, far.public));
        let preshared = match vectors.has(&of("preshared")) {
            true => PresharedKey::from_bytes(vectors.array(&of("preshared"))),
            false => PresharedKey::none(),
        };
        let begun = Initiator::begin(
            &near.secret,
            (&far.public, &preshared),
            near.index,
            near.introduction,
            None,
            &mut near.random,
        );
        let (initiator, initiation) = begun.expect("an initiation");
        assert_eq!(initiation, vectors.get(&of("initiation")), "{session}");

        let responder = Responder::read(&far.secret, vectors.get(&of("initiation"))).expect("authentic");
        assert_eq!((responder.peer, responder.introduction), (near.public, near.introduction));
        let answer = responder.answer(&preshared, (far.index, near.index), far.introduction, &mut far.random);
        let (far_keys, response) = answer.expect("a response");
        assert_eq!(response, vectors.get(&of("response")), "{session}");
        let (near_keys, introduction) = initiator.finish(&response).expect("authentic");
        assert_eq!(introduction, far.introduction);

        let [ours, theirs] = ["initiator.key", "responder.key"].map(|key| vectors.array(&of(key)));
        for keys in [&near_keys, &far_keys] {
            let is_near = std::ptr::eq(keys, &near_keys);
            let (first, second) =
                if is_near { (&keys.sending, &keys.receiving) } else { (&keys.receiving, &keys.sending) };
            assert_eq!((first.secret().bytes(), second.secret().bytes()), (&ours, &theirs), "{session}");
        }
        let address = |name: &str| Ipv6Addr::from(vectors.array::<16>(&of(name)));
        assert_eq!(inner_address(&near.public, &far.public), address("initiator.address"));
        assert_eq!(inner_address(&far.public, &near.public), address("responder.address"));
    }
}

/// One flipped bit anywhere, and nothing is read.
#[test]
fn changed_handshakes_of_the_vectors_are_refused() {
    let vectors = Vectors::read();
    let (mut near, mut far) = (end(&vectors, "with.initiator"), end(&vectors, "with.responder"));
    let preshared = PresharedKey::from_bytes(vectors.array("with.preshared"));
    let [initiation, response] = ["with.initiation", "with.response"].map(|name| vectors.get(name));
    let begin = |preshared: &PresharedKey, random: &mut Random| {
        let peer = (&far.public, preshared);
        let begun = Initiator::begin(&near.secret, peer, near.index, near.introduction, None, random);
        begun.expect("an initiation").0
    };
    let initiator = begin(&preshared, &mut near.random);
    for place in 8..initiation.len() - 32 {
        let mut changed = initiation.to_vec();
        changed[place] ^= 1 << (place % 8);
        assert!(Responder::read(&far.secret, &changed).is_none(), "{place}");
    }
    for place in 12..response.len() - 32 {
        let mut changed = response.to_vec();
        changed[place] ^= 1 << (place % 8);
        assert!(initiator.finish(&changed).is_none(), "{place}");
    }
    for (message, header) in [(initiation, 8), (response, 12)] {
        for receiver in [&near.public, &far.public] {
            let is_its = (receiver == &far.public) == (header == 8);
            assert_eq!(cookie::has_mac1(receiver, message), is_its);
        }
    }
    assert!(
        begin(&PresharedKey::none(), &mut near.random).finish(response).is_none(),
        "another preshared key"
    );
    assert!(Responder::read(&near.secret, initiation).is_none(), "for another");
    // A forged response before it changes nothing.
    assert!(initiator.finish(response).is_some());
    let other = SecretKey::generate(&mut far.random);
    assert!(Responder::read(&other, initiation).is_none());
}

#[test]
fn cookies_are_those_of_the_vectors() {
    let vectors = Vectors::read();
    let (mut near, far) = (end(&vectors, "with.initiator"), end(&vectors, "with.responder"));
    let preshared = PresharedKey::from_bytes(vectors.array("with.preshared"));
    let plain = vectors.get("with.initiation");
    for (version, from, other) in [
        ("cookie4", "192.0.2.1:40000", "192.0.2.1:40001"),
        ("cookie6", "[2001:db8::7]:40000", "[2001:db8::8]:40000"),
    ] {
        let [from, other] = [from, other].map(|text| text.parse::<SocketAddr>().expect("an address"));
        let of = |what: &str| format!("with.{version}{what}");
        let mut jar = CookieJar::new(vectors.array(&of(".secret")));
        let reply =
            jar.reply(&far.public, (from, near.index), plain, vectors.array(&of(".nonce"))).expect("a reply");
        assert_eq!(reply, vectors.get(&of(".reply")));
        let mac1 = *plain.last_chunk::<32>().and_then(|macs| macs.first_chunk()).expect("mac1");
        let cookie = cookie::open_reply(&far.public, &mac1, &reply).expect("a cookie");
        assert_eq!(&cookie[..], vectors.get(&of("")));
        for place in 8..reply.len() {
            let mut changed = reply.clone();
            changed[place] ^= 1;
            assert_eq!(cookie::open_reply(&far.public, &mac1, &changed), None, "{place}");
        }
        assert_eq!(cookie::open_reply(&near.public, &mac1, &reply), None, "of another gateway");
        let peer = (&far.public, &preshared);
        let begun = Initiator::begin(
            &near.secret,
            peer,
            near.index,
            near.introduction,
            Some(&cookie),
            &mut near.random,
        );
        let (initiator, message) = begun.expect("an initiation");
        assert_eq!(message, vectors.get(&of(".initiation")));
        assert_eq!(initiator.mac1, mac1);
        assert!(
            jar.has_mac2(Instant::ZERO, from, &message)
                && !jar.has_mac2(Instant::ZERO, other, &message)
                && !jar.has_mac2(Instant::ZERO, from, plain)
        );
        // The one before counts, and that before it does not.
        jar.renew(Instant::ZERO, [1; 32]);
        assert!(jar.has_mac2(Instant::ZERO, from, &message));
        jar.renew(Instant::ZERO + Duration::from_secs(1), [2; 32]);
        assert!(!jar.has_mac2(Instant::ZERO, from, &message));
    }
}

/// Of both ends: what it sends, and that the other end opens it.
#[test]
fn sealed_packets_are_those_of_the_vectors() {
    let vectors = Vectors::read();
    for (end, peer) in [("initiator", "responder"), ("responder", "initiator")] {
        let key = Key::new(Secret::new(&vectors.array(&format!("with.{end}.key"))));
        let address = |end: &str| Ipv6Addr::from(vectors.array::<16>(&format!("with.{end}.address")));
        let inner = Inner { src: address(end), dst: address(peer), ecn: Ecn::Ect0 };
        let receiver = vectors.index(&format!("with.{peer}.index"));
        let mut opener = Opener::new(&key);
        for name in ["keep-alive", "padded", "ack", "segment", "compact", "compact-sack"] {
            let of = |what: &str| format!("{end}.sealed.{name}{what}");
            let (sealed, text) = (vectors.get(&of("")), vectors.get(&of(".text")));
            let number = u64::from_be_bytes(vectors.array(&of(".number")));
            let packet = in_ip(text, inner);

            let mut sealer = Sealer::at(&key, receiver, number);
            let made = match name {
                "keep-alive" => sealer.control(text).expect("sealed"),
                "padded" => sealer.padded(text, sealed.len()).expect("sealed"),
                _ => {
                    let mut room = [&[0; HEADROOM][..], &packet].concat();
                    let end = room.len();
                    let (datagram, is_compact) =
                        sealer.segment(&mut room, HEADROOM..end, inner).expect("sealed");
                    assert_eq!(is_compact, name.starts_with("compact"));
                    room[datagram].to_vec()
                }
            };
            assert_eq!(made, sealed, "{end}: {name}");
            assert_eq!(sealer.packets(), number + 1);

            // Damaged first, in each part that is told apart; then as it was sent; and never again.
            opener.expect(number);
            let has_payload = !["keep-alive", "padded", "ack"].contains(&name);
            if has_payload {
                let mut damaged = sealed.to_vec();
                *damaged.last_mut().expect("a payload") ^= 0x80;
                let (opened, bytes) = open(&mut opener, &damaged, inner);
                let Opened::Segment {
                    verdict: SegmentIntegrity::Corrupted,
                    packet: place,
                    seal: Some(seal),
                    ..
                } = opened
                else {
                    panic!("{end}: {name}: {opened:?}")
                };
                let mut payload = bytes[place.clone()][packet.len() - payload_len(text)..].to_vec();
                assert!(!seal.holds(&payload));
                *payload.last_mut().expect("a payload") ^= 0x80;
                assert!(seal.holds(&payload), "{end}: {name}");
            }
            let (opened, bytes) = open(&mut opener, sealed, inner);
            match opened {
                Opened::Control { message, newest: true } => assert_eq!(bytes[message], *text),
                Opened::Segment { verdict: SegmentIntegrity::Intact, packet: place, newest, seal: None } => {
                    let mut arrived = bytes[place].to_vec();
                    if name.starts_with("compact") {
                        // Its CRCs are those of no payload.
                        let crcs = IP_HEADER + HEADER_CRC..IP_HEADER + HEADER_CRC + 8;
                        arrived[crcs.clone()].copy_from_slice(&packet[crcs]);
                    }
                    assert_eq!(arrived, packet, "{end}: {name}");
                    assert_eq!(newest, !has_payload, "a damaged one came before");
                }
                other => panic!("{end}: {name}: {other:?}"),
            }
            assert!(matches!(open(&mut opener, sealed, inner).0, Opened::Nothing));
        }
    }
}

fn payload_len(segment: &[u8]) -> usize {
    segment.len() - usize::from(segment[12] >> 4) * 4
}

fn in_ip(segment: &[u8], inner: Inner) -> Vec<u8> {
    let ip = IpHeader { ecn: inner.ecn, ..IpHeader::new(inner.src.into(), inner.dst.into()) };
    let mut packet = vec![0; IP_HEADER];
    packet.extend_from_slice(segment);
    ip.emit(&mut packet, 6, segment.len()).expect("a packet");
    packet
}

fn open(opener: &mut Opener, datagram: &[u8], inner: Inner) -> (Opened, Vec<u8>) {
    let Some(Message::Sealed { low, kind, .. }) = Message::parse(datagram) else {
        panic!("no sealed packet")
    };
    let mut room = [&[0; HEADROOM][..], datagram].concat();
    let opened = opener.open(&mut room, HEADROOM, (low, kind), inner);
    (opened, room)
}
