//! Whether a header that cannot be read resembles one of a connection's: evidence that it was the peer who
//! sent it.
//!
//! Whoever knows the addresses and the ports of a connection can send packets with a damaged header. Its
//! sequence number, its ACK number and its two timestamps, however, are unknown to a sender that sees no
//! packet of the connection, and damage leaves most of their bits as they were. Each of the four is compared
//! with what the connection expects ([`Knowledge`]); what agrees by chance with a probability of 2^-n is
//! evidence of n bits. `docs/repair.md` derives how often a blind sender reaches [`ENOUGH`].

use super::Span;
use super::knowledge::Knowledge;

/// Bits of evidence with which a header is taken for the connection's.
const ENOUGH: u32 = 40;

/// The logarithm, rounded up, of how many words of 32 bits differ from a given one in no more than so
/// many bits.
const BALLS: [u32; 7] = [0, 6, 10, 13, 16, 18, 21];

/// Says whether the TCP header at the start of `body` resembles what `known` expects.
pub(crate) fn resembles(known: &Knowledge, body: &[u8]) -> bool {
    /// Where the numbers are (RFC 9293, 3.1), and the timestamps that `headway_wire` writes behind them.
    const SEQ: usize = 4;
    const ACK: usize = 8;
    const TSVAL: usize = 24;
    let word = |at: usize| body.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    let mut evidence = 0;
    if let Some(seq) = word(SEQ) {
        let (first, end) = known.window_of_numbers;
        let range = Range { first: first.0, len: (end - first).max(0) as u32 };
        evidence += agreement(seq, known.seqs.iter().map(|seq| seq.0), range);
    }
    if let Some(ack) = word(ACK) {
        // Those that are acceptable (RFC 5961) are many more: what has not been seen acknowledged counts.
        let [una, .., nxt] = known.acks;
        let range = Range { first: una.0, len: (nxt - una).max(0) as u32 + 1 };
        evidence += agreement(ack, known.acks.iter().map(|ack| ack.0), range);
    }
    if let Some((tsval, tsecr)) = known.timestamps {
        for (at, span) in [(TSVAL, tsval), (TSVAL + 4, tsecr)] {
            evidence += word(at).map_or(0, |value| agreement(value, span.expected(), Range::of(span)));
        }
    }
    evidence >= ENOUGH
}

/// Consecutive values, any of which is possible.
#[derive(Clone, Copy)]
struct Range {
    first: u32,
    len: u32,
}

impl Range {
    fn of(span: Span) -> Self {
        let (first, len) = span.bounds();
        Self { first, len }
    }
}

/// Bits of evidence: how improbable it is that a random word is so near to one of `expected`, or lies in
/// `range`.
fn agreement(arrived: u32, expected: impl Iterator<Item = u32>, range: Range) -> u32 {
    let mut count = 0_u32;
    let mut nearest = u32::BITS;
    for value in expected {
        count += 1;
        nearest = nearest.min((value ^ arrived).count_ones());
    }
    let ball = BALLS.get(nearest as usize).map_or(u32::BITS, |ball| ball + log2(count));
    let within = arrived.wrapping_sub(range.first) < range.len;
    let span = if within { log2(range.len) } else { u32::BITS };
    u32::BITS.saturating_sub(ball.min(span))
}

/// The binary logarithm, rounded up.
fn log2(n: u32) -> u32 {
    u32::BITS - n.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use headway_wire::SeqNumber;

    use super::super::Seal;
    use super::*;

    const SEQ: u32 = 0x1234_5678;
    const ACK: u32 = 0x9abc_def0;

    /// What a receiver of data knows that has offered 16 MiB, and has nothing outstanding.
    fn known(timestamps: bool) -> Knowledge {
        let n = SeqNumber;
        let span = |newest| Span { newest, ahead: 100 };
        Knowledge {
            repairs: false,
            ports: (5000, 80),
            seal: Seal::V2,
            timestamps: timestamps.then(|| (span(70_000), span(90_000))),
            sack: true,
            seqs: (0..32).map(|place| n(SEQ + 1436 * place)).collect(),
            window_of_numbers: (n(SEQ), n(SEQ + (16 << 20))),
            acks: [n(ACK); 3],
            ack_range: (n(ACK - 65_535), n(ACK)),
            window: 502,
        }
    }

    fn header(words: [u32; 4]) -> [u8; 44] {
        let mut header = [0; 44];
        for (at, word) in [4, 8, 24, 28].into_iter().zip(words) {
            header[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        header
    }

    const SENT: [u32; 4] = [SEQ + 1436, ACK, 70_003, 90_001];

    #[test]
    fn a_damaged_header_resembles_what_was_sent() {
        assert!(resembles(&known(true), &header(SENT)));
        assert!(resembles(&known(false), &header(SENT)));
        let flipped = [SENT[0] ^ 0x8001, SENT[1] ^ 0x0101_0100, SENT[2] ^ 0x8000_0001, SENT[3] ^ 7];
        assert!(resembles(&known(true), &header(flipped)), "two or three bits in each");
        // A burst that leaves nothing of 8 bytes.
        assert!(resembles(&known(true), &header([SENT[0], SENT[1], 0x5555_1234, 0xaaaa_4321])));
        assert!(resembles(&known(true), &header([0x5555_1234, 0xaaaa_4321, SENT[2], SENT[3]])));
    }

    #[test]
    fn one_number_alone_is_no_evidence() {
        for right in 0..4 {
            let mut words = [0x5555_1234, 0x2aaa_4321, 0x5555_4321, 0x2aaa_1234];
            words[right] = SENT[right];
            assert!(!resembles(&known(true), &header(words)), "{right}");
            assert!(!resembles(&known(false), &header(words)), "{right}");
        }
        assert!(!resembles(&known(true), &[]));
        assert!(!resembles(&known(true), &header(SENT)[..8]), "nor is what was cut off");
    }

    /// A million blind packets, of which one in twenty million may resemble a header.
    #[test]
    fn noise_resembles_nothing() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as u32
        };
        let known = known(true);
        let resembling = (0..1 << 20)
            .filter(|_| resembles(&known, &header([random(), random(), random(), random()])))
            .count();
        assert_eq!(resembling, 0);
    }
}
