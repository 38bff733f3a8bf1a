//! Any bytes as a received stream of frames.

use super::ax25::Header;
use super::framing::{Framing, SHORTEST};
use super::kiss::Kiss;
use super::marks::Marks;

const LONGEST: usize = 1500;

/// As the stream of a TNC.
pub(crate) fn check_kiss(bytes: &[u8]) {
    let callsign = |text: &str| text.parse().expect("a callsign");
    let header = Header::new(callsign("N0CALL-1"), callsign("N0CALL-2"));
    check(&mut Kiss::new(header, header, LONGEST), bytes);
}

/// As the stream of a serial line.
pub(crate) fn check_marks(bytes: &[u8]) {
    check(&mut Marks::new(LONGEST), bytes);
}

/// Whatever was received, both of two frames that follow arrive as they were sent.
fn check(framing: &mut impl Framing, bytes: &[u8]) {
    for byte in bytes {
        if let Some(frame) = framing.push(*byte) {
            assert!((SHORTEST..2 * LONGEST).contains(&frame.len()));
        }
    }
    let mut frame = bytes[..bytes.len().min(LONGEST)].to_vec();
    frame.resize(frame.len().max(SHORTEST), 0);
    let frames = [frame.clone(), frame.into_iter().rev().collect()];
    let mut stream = Vec::new();
    frames.iter().for_each(|frame| framing.encode(frame, &mut stream));
    let mut received = Vec::new();
    for byte in stream {
        received.extend(framing.push(byte).map(<[u8]>::to_vec));
    }
    assert!(received.ends_with(&frames), "{received:?}");
}

#[cfg(test)]
#[test]
fn the_corpus_holds() {
    headway_test_fixture::corpus::replay("kiss_frames", check_kiss);
    headway_test_fixture::corpus::replay("serial_frames", check_marks);
}

#[cfg(test)]
#[test]
fn any_bytes_are_followed_by_frames() {
    let mut rng = headway_test_fixture::rng::Rng::new(2400);
    for len in (0..400).chain([1500, 3000, 9000]) {
        // Bytes that mean something are frequent.
        let mut byte = || {
            let any = rng.next() as u8;
            if rng.one_in(2) { any } else { [0, 0xc0, 0xdb, 0xdc, 0xdd, 1][rng.below(6_usize)] }
        };
        let bytes: Vec<u8> = (0..len).map(|_| byte()).collect();
        check_kiss(&bytes);
        check_marks(&bytes);
    }
}
