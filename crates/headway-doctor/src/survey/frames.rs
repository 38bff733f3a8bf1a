//! Frames that both ends know: what arrived shows which bits are wrong, also where the header is.
//!
//! A frame is a segment with data as headway sends them, with whole headers and the CRCs of HACK v2, on the addresses and ports of
//! the survey's connection. Each block of 32 bytes of its payload begins with the frame's numbers; both are hidden by a mask
//! of a random key and the block's place. Every bit of the numbers is what most blocks say.

use std::hash::Hasher as _;
use std::net::SocketAddr;
use std::ops::Range;

use headway_wire::options::V2;
use headway_wire::{IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, compact, emit};
use siphasher::sip::SipHasher24;

use super::record::BLOCK;

/// The length of the TCP header.
pub(super) const HEADER: usize = 44;
/// Where the header has TCP's checksum and the CRC of the header. A carrier that gives a segment other addresses changes them, and
/// where the rest of the header is damaged, it cannot.
const REWRITTEN: [Range<usize>; 2] = [16..18, 36..40];
/// The bytes of a block that say the frame's numbers.
const NUMBERS: usize = 8;
/// Where a TCP header has its data offset.
const OFFSET_AT: usize = 12;
/// Fewer trailing zeros than this are not taken for a tail that is missing.
const MISSING: usize = 8;
/// The longest header: carriers take up to that many bytes from the end of a frame whose header is not readable.
const UNSEEN: usize = 60;

/// The numbers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Its own, from 0.
    pub(super) number: u32,
    /// The number of the frame that it answers.
    pub(super) answers: u32,
}

/// The frames of one direction.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    key: u64,
    src: SocketAddr,
    dst: SocketAddr,
    len: usize,
    ip_len: usize,
}

/// A frame that arrived. Places are counted from the start of the IP header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) numbers: Numbers,
    /// The places of wrong bits, ascending.
    pub(super) bits: Vec<u32>,
    /// The bytes that arrived of it, all headers included.
    pub(super) seen: usize,
    /// It ended early.
    pub(super) is_cut: bool,
    /// It is longer than it was sent.
    pub(super) is_longer: bool,
}

impl Frames {
    /// Packets of `len` bytes from `src` to `dst`.
    pub(super) fn new(key: u64, src: SocketAddr, dst: SocketAddr, len: usize) -> Self {
        let ip_len = IpHeader::new(src.ip(), dst.ip()).emitted_len();
        Self { key, src, dst, len, ip_len }
    }

    /// Writes a frame to `place`; returns its length.
    pub(super) fn write(&self, numbers: Numbers, place: &mut [u8]) -> Option<usize> {
        let payload: Vec<u8> = (0_u64..)
            .flat_map(|block| self.block(block, numbers))
            .take(self.len - self.ip_len - HEADER)
            .collect();
        let ip = IpHeader::new(self.src.ip(), self.dst.ip());
        let seq = SeqNumber(self.hash(&[]) as u32 ^ numbers.number);
        let tcp = TcpHeader {
            src_port: self.src.port(),
            dst_port: self.dst.port(),
            seq,
            ack: seq,
            flags: TcpFlags::ACK,
            window: 0,
            urgent: 0,
        };
        let timestamps = Some(Timestamps { tsval: numbers.number, tsecr: numbers.answers });
        let options = TcpOptions { timestamps, v2: Some(V2::data()), ..TcpOptions::default() };
        emit(place, &ip, &tcp, &options, (&payload, &[])).ok().filter(|len| *len == self.len)
    }

    /// What `packet` is of these frames, if it is one. A packet whose header `is_readable` arrived with its true length, or with zeros
    /// in place of its end.
    pub(super) fn read(&self, packet: &[u8], is_readable: bool) -> Option<Found> {
        // A damaged data offset may have been taken for that of a compact header, and the header for one to restore.
        let shifts = [0, compact::LEFT_OUT, compact::MOST_LEFT_OUT];
        let tried = if is_readable { 1 } else { shifts.len() };
        shifts[..tried].iter().find_map(|shift| self.read_at(packet, *shift, is_readable))
    }

    fn read_at(&self, packet: &[u8], shift: usize, is_readable: bool) -> Option<Found> {
        let payload_at = self.ip_len + HEADER;
        let payload = packet.get(payload_at + shift..).filter(|payload| payload.len() >= BLOCK)?;
        let numbers = self.vote(payload);
        let mut expected = vec![0; self.len];
        self.write(numbers, &mut expected)?;
        // A header that was restored is not what arrived, nor is another one than this that a carrier took for readable.
        let is_ours = packet.get(self.ip_len..payload_at) == expected.get(self.ip_len..payload_at);
        let is_known = if is_readable { is_ours } else { shift == 0 };
        let is_readable = is_readable && is_ours;
        let from = if is_known { self.ip_len } else { payload_at };
        let arrived = packet.get(from + shift..)?;
        let mut len = arrived.len().min(self.len - from);
        if is_readable {
            let zeros = arrived[..len].iter().rev().take_while(|byte| **byte == 0).count();
            if zeros >= MISSING {
                len -= zeros;
                len += expected[from + len..].iter().take_while(|byte| **byte == 0).count();
            }
        }
        let is_compared = |at: &usize| {
            let is_rewritten = |field: &Range<usize>| field.contains(&(at - self.ip_len));
            is_readable || !REWRITTEN.iter().any(is_rewritten)
        };
        let mut bits: Vec<u32> = (from..from + len)
            .filter(is_compared)
            .flat_map(|at| {
                let wrong = expected[at] ^ arrived[at - from];
                (0..8).filter(move |bit| wrong & (0x80 >> bit) != 0).map(move |bit| at as u32 * 8 + bit)
            })
            .collect();
        let seen = from + len;
        let is_cut = self.len - seen > if is_readable { 0 } else { UNSEEN };
        let is_longer = packet.len() - shift > self.len + if is_readable { 0 } else { UNSEEN };
        // A header is not readable because it has wrong bits, or because of another length. Where no wrong one is seen, it is in what
        // is not known.
        let has_seen = bits.first().is_some_and(|first| (*first as usize) < payload_at * 8);
        if !(is_readable || has_seen || is_cut || is_longer) {
            let at = if shift > 0 { OFFSET_AT } else { REWRITTEN[0].start };
            bits.insert(0, 8 * (self.ip_len + at) as u32);
        }
        is_one(&expected[payload_at..seen], payload).then_some(Found {
            numbers,
            bits,
            seen,
            is_cut,
            is_longer,
        })
    }

    /// What most blocks say.
    fn vote(&self, payload: &[u8]) -> Numbers {
        let mut votes = [0_i32; 64];
        for (block, bytes) in (0_u64..).zip(payload.chunks(BLOCK)) {
            let Some(said) = bytes.first_chunk() else { continue };
            let said = u64::from_be_bytes(*said) ^ self.mask(block);
            votes
                .iter_mut()
                .enumerate()
                .for_each(|(bit, votes)| *votes += if said >> bit & 1 == 1 { 1 } else { -1 });
        }
        let said = (0..64).filter(|bit| votes[*bit] > 0).fold(0_u64, |said, bit| said | 1 << bit);
        Numbers { number: (said >> 32) as u32, answers: said as u32 }
    }

    fn block(&self, block: u64, numbers: Numbers) -> [u8; BLOCK] {
        let said = u64::from(numbers.number) << 32 | u64::from(numbers.answers);
        let mut bytes = [0; BLOCK];
        // No zeros: a tail of them is one that is missing.
        let word = |index| self.hash(&[block, said, index]) | 0x0101_0101_0101_0101;
        let words = [said ^ self.mask(block), word(0), word(1), word(2)];
        bytes.chunks_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_be_bytes()));
        bytes
    }

    fn mask(&self, block: u64) -> u64 {
        self.hash(&[block])
    }

    /// What only the two ends know of these words.
    fn hash(&self, words: &[u64]) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.key, 0);
        words.iter().for_each(|word| hasher.write(&word.to_le_bytes()));
        hasher.finish()
    }
}

/// Whether a payload is the expected one: at least a block is intact, or fewer than 30 % of the bits that are no numbers are wrong. Of
/// what someone sends without the key, 44 % are.
fn is_one(expected: &[u8], payload: &[u8]) -> bool {
    let (mut wrong, mut bits) = (0, 0);
    for (expected, arrived) in expected.chunks(BLOCK).zip(payload.chunks(BLOCK)) {
        if expected.len() == BLOCK && expected == arrived {
            return true;
        }
        for (expected, arrived) in expected.iter().zip(arrived).skip(NUMBERS) {
            wrong += (expected ^ arrived).count_ones();
            bits += 8;
        }
    }
    bits >= 8 * BLOCK as u32 && u64::from(wrong) * 100 < u64::from(bits) * 30
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::rng::Rng;

    use super::*;

    fn frames(key: u64) -> Frames {
        Frames::new(key, "10.0.0.1:7".parse().unwrap(), "10.0.0.2:9".parse().unwrap(), 500)
    }

    fn frame(numbers: Numbers) -> Vec<u8> {
        let mut packet = vec![0; 500];
        assert_eq!(frames(4).write(numbers, &mut packet), Some(500));
        packet
    }

    #[test]
    fn every_wrong_bit_is_found_where_it_is() {
        let seed = 5;
        eprintln!("seed {seed}");
        let mut rng = Rng::new(seed);
        for hits in [0, 1, 20, 400] {
            let numbers = Numbers { number: rng.next() as u32 % 5000, answers: rng.next() as u32 % 5000 };
            let mut packet = frame(numbers);
            // The IP header is the carrier's. A bit of the sequence number makes the header unreadable.
            let mut bits: Vec<u32> = (0..hits).map(|_| rng.between(512, 3999_u32)).chain([200]).collect();
            bits.sort_unstable();
            bits.dedup();
            bits.iter().for_each(|bit| packet[*bit as usize / 8] ^= 0x80 >> (bit % 8));
            let expected = Found { numbers, bits, seen: 500, is_cut: false, is_longer: false };
            assert_eq!(frames(4).read(&packet, false), Some(expected), "{hits} hits");
            assert_eq!(frames(5).read(&packet, false), None, "another key");
        }
        let noise: Vec<u8> = (0..500).map(|_| rng.next() as u8).collect();
        assert_eq!(frames(4).read(&noise, false), None);
    }

    #[test]
    fn a_cut_frame_ends_where_zeros_begin() {
        let numbers = Numbers { number: 3, answers: 0 };
        let mut packet = frame(numbers);
        assert_ne!(packet[299], 0);
        let cut = |packet: &[u8], is_readable| {
            frames(4).read(packet, is_readable).map(|found| (found.seen, found.is_cut, found.bits.len()))
        };
        assert_eq!(cut(&packet[..300], false), Some((300, true, 0)));
        assert_eq!(cut(&packet[..470], false), Some((470, false, 1)), "a carrier took a header from its end");
        let damaged = frames(4).read(&packet[..470], false).map(|found| found.bits);
        assert_eq!(damaged, Some(vec![8 * 36]), "its header has a wrong bit where none is known");
        packet[300..].fill(0);
        assert_eq!(cut(&packet, true).map(|(seen, ..)| (300..303).contains(&seen)), Some(true));
    }

    /// No other bytes differ where a carrier changes the addresses.
    #[test]
    fn carriers_rewrite_what_is_not_known() {
        let numbers = Numbers { number: 3, answers: 0 };
        let mut packet = frame(numbers);
        let ip = |src: [u8; 4], dst: [u8; 4]| IpHeader::new(src.into(), dst.into());
        let (ours, others) = (ip([10, 0, 0, 1], [10, 0, 0, 2]), ip([0; 4], [0; 4]));
        headway_wire::change_addresses(&mut packet[20..], &ours, &others);
        let differ: Vec<usize> = (0..480).filter(|at| packet[20 + at] != frame(numbers)[20 + at]).collect();
        assert!(
            differ.len() > 3 && differ.iter().all(|at| REWRITTEN.iter().any(|field| field.contains(at))),
            "{differ:?}"
        );
    }
}
