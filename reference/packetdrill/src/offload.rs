//! PSH as Linux's segmentation offload sets it.
//!
//! With segmentation offload Linux passes several segments to the network card as one packet, and sets PSH
//! on the last of them. Scripts written for Linux check the flag, so it is set on the last segment of
//! each burst. It does not affect the receiver.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use headway_wire::{Segment, SeqNumber, TcpFlags};

/// The offset of the data offset and flags in a TCP header.
const FLAGS_AT: usize = 12;
const CHECKSUM_AT: usize = 16;

/// The highest byte sent of each connection: only new data is marked.
#[derive(Debug, Default)]
pub(crate) struct Offload {
    ends: BTreeMap<(SocketAddr, SocketAddr), SeqNumber>,
}

/// The relevant fields of a packet.
struct Piece {
    ends: (SocketAddr, SocketAddr),
    seq: SeqNumber,
    end: SeqNumber,
    len: usize,
    flags: TcpFlags,
    tcp_at: usize,
    /// It has a header checksum, which setting the flag would invalidate.
    is_sealed: bool,
}

impl Piece {
    fn read(packet: &[u8]) -> Option<Self> {
        let segment = Segment::parse(packet).ok()?;
        let tcp = &segment.tcp;
        let len = segment.payload.len();
        Some(Self {
            ends: (
                SocketAddr::new(segment.ip.src, tcp.src_port),
                SocketAddr::new(segment.ip.dst, tcp.dst_port),
            ),
            seq: tcp.seq,
            end: tcp.seq + len as u32,
            len,
            flags: tcp.flags,
            tcp_at: segment.ip_header_len,
            is_sealed: segment.options.hack.is_some(),
        })
    }

    /// Whether `next` would be in the same offloaded packet.
    fn is_continued_by(&self, next: &Self) -> bool {
        self.ends == next.ends
            && self.end == next.seq
            && next.len > 0
            && next.len <= self.len
            && !self.flags.intersects(TcpFlags::PSH | TcpFlags::FIN | TcpFlags::SYN)
    }
}

impl Offload {
    /// Marks the last segment of each run of new data in `burst`, in the order of sending.
    pub(crate) fn mark<'a>(&mut self, burst: impl Iterator<Item = &'a mut Vec<u8>>) {
        let mut run: Option<(Piece, &mut Vec<u8>, usize)> = None;
        for packet in burst {
            let Some(piece) = Piece::read(packet) else { continue };
            let before = self.ends.entry(piece.ends).or_insert(piece.seq);
            let is_new = piece.len > 0 && piece.seq.ge(*before) && !piece.is_sealed;
            if piece.end.gt(*before) || piece.flags.contains(TcpFlags::SYN) {
                *before = piece.end;
            }
            let count = match run.take() {
                Some((last, _, count)) if is_new && last.is_continued_by(&piece) => count + 1,
                over => {
                    finish(over);
                    1
                }
            };
            run = is_new.then_some((piece, packet, count));
        }
        finish(run);
    }
}

/// Ends a run: a single segment is not marked.
fn finish(run: Option<(Piece, &mut Vec<u8>, usize)>) {
    if let Some((piece, packet, 2..)) = run
        && !piece.flags.contains(TcpFlags::PSH)
    {
        set_push(packet, piece.tcp_at);
    }
}

/// Sets PSH in the TCP header at `tcp_at` and updates the checksum (RFC 1624, equation 3).
fn set_push(packet: &mut [u8], tcp_at: usize) {
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (flags_at, checksum_at) = (tcp_at + FLAGS_AT, tcp_at + CHECKSUM_AT);
    let old = word(packet, flags_at);
    let new = old | u16::from(TcpFlags::PSH.bits());
    // "HC' = ~(~HC + ~m + m')"
    let mut sum = u32::from(!word(packet, checksum_at)) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[flags_at..flags_at + 2].copy_from_slice(&new.to_be_bytes());
    packet[checksum_at..checksum_at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_wire::{Integrity, IpHeader, TcpHeader, TcpOptions, emit, judge};

    fn segment(seq: u32, len: usize) -> Vec<u8> {
        let ip = IpHeader::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let tcp = TcpHeader {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber(seq),
            ack: SeqNumber(0),
            flags: TcpFlags::ACK,
            window: 100,
            urgent: 0,
        };
        let mut packet = vec![0; 2000];
        let payload = vec![0xa5; len];
        let total = emit(&mut packet, &ip, &tcp, &TcpOptions::default(), (&payload, &[])).unwrap();
        packet.truncate(total);
        packet
    }

    fn marks(burst: &[Vec<u8>]) -> Vec<bool> {
        let is_marked = |packet: &Vec<u8>| {
            assert_eq!(judge(packet), Ok(Integrity::Intact), "the checksum was updated");
            Segment::parse(packet).unwrap().tcp.flags.contains(TcpFlags::PSH)
        };
        burst.iter().map(is_marked).collect()
    }

    #[test]
    fn the_last_of_a_run_is_marked() {
        let mut burst = vec![segment(1, 1000), segment(1001, 1000), segment(2001, 500), segment(2501, 1000)];
        Offload::default().mark(burst.iter_mut());
        assert_eq!(marks(&burst), [false, false, true, false], "the last one is longer: a new packet");
    }

    #[test]
    fn old_data_and_lone_segments_are_not() {
        let mut offload = Offload::default();
        let mut first = vec![segment(1, 1000), segment(1001, 1000)];
        offload.mark(first.iter_mut());
        assert_eq!(marks(&first), [false, true]);
        let mut again = vec![segment(1, 1000), segment(1001, 1000), segment(2001, 1000)];
        offload.mark(again.iter_mut());
        assert_eq!(marks(&again), [false, false, false]);
    }
}
