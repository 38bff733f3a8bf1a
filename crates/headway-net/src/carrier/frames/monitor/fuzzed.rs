//! Any bytes as what Wi-Fi cards in monitor mode hand up.

use headway_units::{Duration, Instant};

use super::diversity::Diversity;
use super::header::{Direction, Reception};
use super::radiotap;

/// What one read has at most.
const LONGEST: usize = 4096;

/// Of the frames that are received.
fn direction() -> Direction {
    Direction::new(b"10.77.2.1", b"10.77.2.2")
}

/// As packets of two cards, each behind its length (2 bytes). Whatever they were, a frame that follows arrives as it was sent.
pub(crate) fn check_monitor(bytes: &[u8]) {
    let (mut cards, mut now) = (Diversity::new(2), Instant::ZERO);
    let mut take = |now, card, packet: &[u8]| {
        let captured = radiotap::parse(packet)?;
        cards.take_overdue(now).or_else(|| cards.take(now, card, &Reception::new(captured, &direction())?))
    };
    let mut rest = bytes;
    for card in [0, 1].into_iter().cycle() {
        let Some(([high, low], more)) = rest.split_first_chunk() else { break };
        let (packet, more) =
            more.split_at(more.len().min((usize::from(*high) << 8 | usize::from(*low)) % LONGEST));
        rest = more;
        now += Duration::from_micros(100);
        assert!(take(now, card, packet).is_none_or(|frame| frame.len() <= packet.len().max(LONGEST)));
    }
    // What waits is handed up meanwhile.
    now += Duration::from_secs(1);
    let mut sent = radiotap::header(None);
    direction().write(bytes.len() as u16, &mut sent);
    sent.extend(bytes);
    for _ in 0..=bytes.len() {
        match take(now, 0, &sent) {
            Some(frame) if frame == bytes => return,
            waited => assert!(waited.is_some()),
        }
    }
    panic!("the frame was not handed up");
}

#[cfg(test)]
#[test]
fn the_corpus_holds() {
    headway_test_fixture::corpus::replay("monitor_frames", check_monitor);
}

#[cfg(test)]
#[test]
fn any_packets_are_followed_by_a_frame() {
    let seed = 80_211;
    eprintln!("seed {seed}");
    let mut rng = headway_test_fixture::rng::Rng::new(seed);
    for _ in 0..2000 {
        check_monitor(&packets(&mut rng));
    }
}

/// Some packets: noise, and frames that are damaged, cut, or come twice.
#[cfg(test)]
fn packets(rng: &mut headway_test_fixture::rng::Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut packet = Vec::new();
    for _ in 0..rng.below(12) {
        if packet.is_empty() || rng.one_in(2) {
            let flags = rng.pick(&[0, 0x10, 0x40, 0x50]);
            packet = vec![0, 0, 9, 0, 2, 0, 0, 0, flags];
            direction().write(rng.below(4_u32) as u16, &mut packet);
            packet.extend((0..rng.below(60)).map(|at| at as u8));
            if rng.coin() {
                packet.extend(crc32fast::hash(&packet[9..]).to_le_bytes());
            }
        }
        let mut hit = packet.clone();
        (0..rng.below(6)).for_each(|_| rng.flip_bit(&mut hit));
        if rng.one_in(8) {
            rng.fill(&mut hit);
        }
        hit.truncate(if rng.one_in(4) { rng.below(hit.len()) } else { hit.len() });
        bytes.extend((hit.len() as u16).to_be_bytes());
        bytes.extend(hit);
    }
    bytes
}
