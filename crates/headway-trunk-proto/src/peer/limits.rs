//! What is due and when, what is kept and how much of it.

use super::*;
use crate::handshake::SessionKeys;
use crate::keys::SecretKey;
use crate::secret::Secret;

fn millis(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 7))
}

/// A peer at a known address; `inner`: the last numbers of our inner address and of its.
fn peer_with(inner: (u16, u16)) -> Peer {
    let inner =
        (Ipv6Addr::from([0, 0, 0, 0, 0, 0, 0, inner.0]), Ipv6Addr::from([0, 0, 0, 0, 0, 0, 0, inner.1]));
    let mut peer = Peer::new(PublicKey::from_bytes([1; 32]), PresharedKey::none(), inner, 1472);
    peer.paths = Paths::new(Some(address(1)));
    peer
}

fn peer() -> Peer {
    peer_with((1, 2))
}

fn session(index: u32, initiated: bool, since: Instant, own_time: u64, (boot, time): (u8, u64)) -> Session {
    let keys = SessionKeys::new(Secret::new(&[2; 32]), Secret::new(&[3; 32]));
    Session::new(&keys, (index, index), since, (own_time, Introduction { boot: [boot; 8], time }), initiated)
}

/// A peer with a session that began at the start of time.
fn connected() -> Peer {
    let mut peer = peer();
    peer.start(session(1, true, Instant::ZERO, 1, (1, 1)));
    peer
}

fn initiate(peer: &mut Peer, now: Instant, index: u32) {
    let (secret, introduction) = (SecretKey::from_bytes([1; 32]), Introduction { boot: [1; 8], time: 1 });
    let theirs = SecretKey::from_bytes([2; 32]).public();
    let keys = (&theirs, &PresharedKey::none());
    let mut random: crate::Random = Box::new(|bytes| bytes.fill(7));
    let begun = Initiator::begin(&secret, keys, index, introduction, None, &mut random);
    peer.on_initiation(now, begun.expect("an initiation").0);
}

#[test]
fn of_sessions_whose_handshakes_crossed_that_of_the_lower_address_is_used() {
    for inner in [(1, 2), (2, 1)] {
        for ours_first in [true, false] {
            let mut peer = peer_with(inner);
            let ours = || session(1, true, Instant::ZERO, 1, (1, 3));
            let theirs = || session(2, false, Instant::ZERO, 3, (1, 1));
            let (first, second) = if ours_first { (ours(), theirs()) } else { (theirs(), ours()) };
            peer.start(first);
            peer.start(second);
            let used = peer.current.as_ref().map(|session| session.initiated);
            assert_eq!(used, Some(inner.0 < inner.1), "{inner:?}, {ours_first}");
            assert!(peer.previous.is_some(), "what comes under the other is opened");
        }
    }
}

#[test]
fn initiations_are_superseded_by_a_session_of_another() {
    let mut peer = peer();
    for index in 1..=3 {
        initiate(&mut peer, Instant::ZERO, index);
    }
    assert!((1..=3).all(|index| !peer.is_superseded(index)));
    peer.start(session(2, true, Instant::ZERO, 1, (1, 1)));
    let superseded: Vec<_> = (0..=5).filter(|&index| peer.is_superseded(index)).collect();
    assert_eq!(superseded, [1, 3]);
}

#[test]
fn the_last_initiations_are_kept() {
    let mut peer = peer();
    for index in 1..=20 {
        initiate(&mut peer, Instant::ZERO, index);
        assert!(peer.initiations.len() <= INITIATIONS);
    }
    let kept: Vec<_> = peer.initiations.iter().map(|initiation| initiation.index).collect();
    assert_eq!(kept, [15, 16, 17, 18, 19, 20]);
}

#[test]
fn an_initiation_is_answered_at_a_few_addresses_and_each_is_asked_once() {
    let mut peer = peer();
    let introduction = Introduction { boot: [1; 8], time: 5 };
    let offered = session(1, false, Instant::ZERO, 1, (1, 5));
    peer.offer(offered, 9, vec![4], (address(1), 100));
    for last in [1, 2, 3, 3, 4, 5, 6] {
        assert_eq!(peer.response_to(9, introduction, (address(last), 100)), Some(&[4][..]));
    }
    let asked: Vec<_> = [1, 2, 3, 4].map(|last| (address(last), 100)).into();
    assert_eq!(asked.len(), ADDRESSES);
    assert_eq!(peer.confirm(1), Some(asked));
}

#[test]
fn a_session_that_is_used_leaves_later_ones_of_the_same_process_alone() {
    let mut peer = peer();
    for (index, introduction) in
        [(1, (1, 5)), (2, (1, 5)), (3, (1, 6)), (4, (1, 4)), (5, (2, 9)), (6, (2, 1))]
    {
        let from = (address(1), 0);
        peer.offer(session(index, false, Instant::ZERO, 1, introduction), index, Vec::new(), from);
    }
    assert!(peer.confirm(1).is_some());
    assert_eq!(peer.indices().collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn what_arrives_ends_a_handshake_that_is_not_due() {
    for (at, is_due) in [(119_999, false), (120_000, true), (120_001, true)] {
        let mut peer = connected();
        initiate(&mut peer, millis(119_000), 7);
        assert_eq!(peer.trying_since(), Some(millis(119_000)));
        peer.on_received(millis(at));
        assert_eq!((peer.next_attempt.is_some(), peer.attempts), (is_due, u32::from(is_due)), "{at}");
        assert_eq!((peer.trying_since(), peer.last_received), (None, Some(millis(at))));
    }
}

#[test]
fn a_silence_after_data_ends_with_what_arrives() {
    for (heard, is_silence) in [(6_999, false), (7_000, true), (7_001, true)] {
        let mut peer = connected();
        peer.on_sent(millis(4_000), false);
        peer.on_sent(millis(5_000), true);
        peer.on_sent(millis(6_000), true);
        assert_eq!(peer.on_received(millis(heard)), is_silence, "{heard}");
        assert!(!peer.on_received(millis(20_000)));
    }
}

#[test]
fn who_does_not_answer_is_asked_once_a_round_trip_between_bounds() {
    let mut peer = connected();
    assert_eq!(peer.ask_at(), None);
    peer.on_sent(millis(5_000), true);
    assert_eq!(peer.ask_at(), Some(millis(7_000)));
    // It was asked before the silence was long enough.
    peer.last_asked = Some(millis(5_500));
    assert_eq!(peer.ask_at(), Some(millis(7_000)));
    peer.on_asked(millis(7_000));
    for (rtt, next) in [(None, 8_000), (Some(10), 7_050), (Some(300), 7_300), (Some(1_001), 8_000)] {
        peer.min_rtt = rtt.map(Duration::from_millis);
        assert_eq!(peer.ask_at(), Some(millis(next)), "{rtt:?}");
    }
    // On a long path nothing is missed before two round trips are over.
    peer.last_asked = None;
    for (rtt, first) in [(1_000, 7_000), (1_001, 7_002), (4_000, 13_000)] {
        peer.min_rtt = Some(Duration::from_millis(rtt));
        assert_eq!((peer.ask_at(), peer.handshake_at()), (Some(millis(first)), Some(millis(first))), "{rtt}");
    }
    peer.current = None;
    assert_eq!(peer.ask_at(), None);
}

#[test]
fn who_receives_data_asks_after_a_silence_once() {
    let mut peer = connected();
    let mut packet = [0; IP_HEADER + 21];
    packet[IP_HEADER + 12] = 5 << 4;
    peer.on_segment(millis(1_000), &packet[..IP_HEADER + 20]);
    assert_eq!(peer.ask_at(), None);
    peer.on_segment(millis(1_000), &packet);
    assert_eq!(peer.ask_at(), Some(millis(3_000)));
    peer.on_received(millis(2_000));
    assert_eq!(peer.ask_at(), Some(millis(4_000)));
    peer.on_asked(millis(4_000));
    peer.on_received(millis(4_100));
    assert_eq!(peer.ask_at(), None);
}

#[test]
fn initiations_follow_one_another_in_twice_the_time_until_there_is_a_session() {
    let mut peer = peer();
    assert_eq!(peer.handshake_at(), Some(Instant::ZERO));
    for (attempt, wait) in [1, 2, 4, 5, 5, 5].into_iter().chain([5; 300]).enumerate() {
        initiate(&mut peer, millis(1_000), 1);
        assert_eq!(peer.handshake_at(), Some(millis(1_000 + 1_000 * wait)), "{attempt}");
    }
    assert_eq!(peer.trying_since(), Some(millis(1_000)));
    let mut peer = connected();
    for _ in 0..10 {
        initiate(&mut peer, millis(200_000), 1);
        assert_eq!(peer.handshake_at(), Some(millis(201_000)));
    }
}

#[test]
fn a_handshake_is_due_by_age_or_after_a_silence() {
    let mut peer = connected();
    assert_eq!(peer.handshake_at(), Some(millis(120_000)));
    peer.on_sent(millis(50_000), true);
    assert_eq!(peer.handshake_at(), Some(millis(52_000)));
    peer.unanswered = Some(millis(119_000));
    assert_eq!(peer.handshake_at(), Some(millis(120_000)));
    // The first attempts do not make it earlier.
    peer.next_attempt = Some(millis(3_000));
    assert_eq!(peer.handshake_at(), Some(millis(120_000)));
    peer.paths = Paths::default();
    assert_eq!(peer.handshake_at(), None);
}

#[test]
fn what_is_due_of_a_session() {
    let mut peer = peer();
    (peer.keep_alive, peer.last_sent) = (Some(Duration::from_secs(25)), Some(millis(2_000)));
    assert_eq!((peer.expiry(), peer.keep_alive_at()), (None, None));
    peer.start(session(1, false, millis(3_000), 1, (1, 1)));
    assert_eq!((peer.expiry(), peer.keep_alive_at()), (Some(millis(903_000)), Some(millis(27_000))));
    assert_eq!(peer.probe_at(), Some(millis(3_000)));
    peer.last_sent = None;
    assert_eq!(peer.keep_alive_at(), None);
}

#[test]
fn a_peer_that_has_moved_is_found_out_about_anew() {
    let mut peer = connected();
    assert!(peer.checksum.on_probe_seen());
    peer.min_rtt = Some(Duration::ZERO);
    peer.move_to(millis(12_000), address(9));
    assert_eq!((peer.paths.endpoint(), peer.min_rtt), (Some(address(9)), None));
    assert_eq!(peer.checksum, UdpChecksum::probing(millis(12_000)));
}

#[test]
fn headers_without_a_compact_form_need_room() {
    let mut peer = peer();
    let longest = peer.inner_mtu();
    assert_eq!(longest, inner_mtu(1472).min(inner_mtu(peer.mtu.used())));
    peer.has_long_headers = true;
    assert_eq!(usize::from(peer.inner_mtu()), usize::from(longest) - LONGER);
}

#[test]
fn data_and_syn_and_fin_ask_for_an_answer() {
    let packet = |words: u8, flags: TcpFlags, len: usize| {
        let mut packet = vec![0; IP_HEADER + len];
        (packet[IP_HEADER + 12], packet[IP_HEADER + 13]) = (words << 4 | 0xf, flags.bits());
        packet
    };
    for (words, len) in [(5, 20), (8, 32), (15, 60)] {
        assert!(!asks(&packet(words, TcpFlags::ACK, len)));
        assert!(!asks(&packet(words, TcpFlags::ACK | TcpFlags::PSH | TcpFlags::RST, len)));
        assert!(asks(&packet(words, TcpFlags::ACK, len + 1)));
        assert!(asks(&packet(words, TcpFlags::SYN, len)) && asks(&packet(words, TcpFlags::FIN, len)));
    }
    let syn = packet(5, TcpFlags::SYN, 20);
    assert!(asks(&syn[..IP_HEADER + 14]) && !asks(&syn[..IP_HEADER + 13]) && !asks(&[]));
}
