//! The other end of a connection, and the numbers that the script's are relative to.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use headway_tcp::{ConnectionId, Notification};
use headway_test_fixture::packet;
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::two_hosts::PATTERNS;
use headway_wire::patch::{self, Choice};
use headway_wire::{
    Ecn, IpHeader, SackBlocks, Segment, SeqList, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2,
    blocks, emit,
};

use super::packet::{Flip, Packet};

/// The first peer's port; the others follow.
const FIRST_PORT: u16 = 40_000;
/// Near the wrap, so that ordinary scripts cross it.
const FIRST_ISN: u32 = 0xffff_f000;

/// What the two ends write; the first byte of a stream has sequence number 1.
pub(crate) const HOST_WRITES: Pattern = PATTERNS[0];
pub(crate) const PEER_WRITES: Pattern = PATTERNS[1];

pub(crate) struct Peer {
    pub(crate) local: SocketAddr,
    pub(crate) host: SocketAddr,
    pub(crate) connection: Option<ConnectionId>,
    /// The peer's initial sequence number.
    pub(crate) isn: SeqNumber,
    /// The host's, once it has sent a SYN.
    pub(crate) iss: Option<SeqNumber>,
    /// The host's on the connection before.
    pub(crate) former_iss: Option<SeqNumber>,
    /// What the host's timestamps are relative to.
    stamp_base: Option<u32>,
    /// Window field of the last packet it sent.
    window: u16,
    /// Bytes that the host's application wrote and read.
    pub(crate) written: u32,
    pub(crate) read: u32,
    pub(crate) told: Vec<Notification>,
    /// Timestamp value of its SYN, for `open` and `dial`.
    pub(crate) syn_stamp: Option<u32>,
    /// The host's latest timestamp, relative.
    pub(crate) heard_stamp: u32,
    /// Lengths of the segments that it sent and received last, by their first number.
    sent: BTreeMap<u32, u32>,
    received: BTreeMap<u32, u32>,
}

impl Peer {
    pub(crate) fn new(index: usize, address: IpAddr, host: SocketAddr) -> Self {
        Self {
            local: SocketAddr::new(address, FIRST_PORT + index as u16),
            host,
            connection: None,
            isn: SeqNumber(FIRST_ISN) + index as u32 * 0x1000_0000,
            iss: None,
            former_iss: None,
            stamp_base: None,
            window: u16::MAX,
            written: 0,
            read: 0,
            told: Vec::new(),
            syn_stamp: None,
            heard_stamp: 0,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    /// A new connection between the same ends begins: the peer's initial number is `ahead` of its
    /// last one, the host's is not known yet.
    pub(crate) fn renumber(&mut self, ahead: i64) {
        self.isn += ahead as u32;
        self.former_iss = self.iss.take();
        self.stamp_base = None;
        self.connection = None;
        self.written = 0;
        self.read = 0;
    }

    /// Window field of the last packet that it sent.
    pub(crate) fn window(&self) -> u16 {
        self.window
    }

    /// The packet that the script describes: built, summed, and then damaged.
    pub(crate) fn build(&mut self, packet: &Packet) -> Result<Vec<u8>, String> {
        let iss = self.iss.unwrap_or_default();
        let has_ack = packet.flags.contains(TcpFlags::ACK);
        if let Some(window) = packet.window {
            self.window = window;
        }
        let tcp = TcpHeader {
            src_port: self.local.port(),
            dst_port: self.host.port(),
            seq: self.isn + packet.seq,
            ack: if has_ack { iss + packet.ack } else { SeqNumber(packet.ack) },
            flags: packet.flags,
            window: self.window,
            urgent: packet.urgent,
        };
        let mut options = shifted(&packet.options, iss);
        let is_patch = options.v2.as_ref().is_some_and(|v2| v2.as_patch().is_some());
        if !is_patch {
            self.sent.insert(packet.seq, packet.len);
        }
        if let Some(stamps) = &mut options.timestamps
            && has_ack
        {
            stamps.tsecr = stamps.tsecr.wrapping_add(self.stamp_base.unwrap_or(0));
        }
        // The first byte of the stream is number 1.
        // The stream begins behind the SYN.
        let before = u32::from(!packet.flags.contains(TcpFlags::SYN));
        let mut payload = PEER_WRITES.bytes(packet.seq.wrapping_sub(before) as usize, packet.len as usize);
        if is_patch {
            let len =
                self.sent.get(&packet.seq).ok_or_else(|| format!("no segment was sent at {}", packet.seq))?;
            let chosen = packet.blocks.as_ref().ok_or("a patch without blocks")?;
            payload = patch(&segment_bytes(PEER_WRITES, packet.seq, *len), chosen);
        } else if let Some(damaged) = &packet.blocks {
            let seq = packet.ack.wrapping_add(reported(&options).ok_or("blocks of no segment")?);
            let len = self.received.get(&seq).ok_or_else(|| format!("no segment was received at {seq}"))?;
            payload = report(&segment_bytes(HOST_WRITES, seq, *len), damaged);
        }
        let mut bytes = vec![0; 120 + payload.len()];
        let len = emit(&mut bytes, &self.ip(packet.ecn), &tcp, &options, (&payload, &[]))
            .map_err(|error| format!("the packet cannot be built: {error}"))?;
        bytes.truncate(len);
        self.flip(&mut bytes, &packet.flips)?;
        Ok(bytes)
    }

    fn flip(&self, bytes: &mut [u8], flips: &[Flip]) -> Result<(), String> {
        let layout = headway_wire::layout(bytes).ok_or("the packet has no TCP header")?;
        for flip in flips {
            let (part, bit) = match *flip {
                Flip::Payload(bit) => (&mut bytes[layout.header_len..], bit),
                Flip::Header(bit) => (&mut bytes[layout.ip_header_len..layout.header_len], bit),
            };
            let place = part.get_mut(bit / 8).ok_or_else(|| format!("bit {bit} is not there to flip"))?;
            *place ^= 0x80 >> (bit % 8);
        }
        Ok(())
    }

    fn ip(&self, ecn: Ecn) -> IpHeader {
        IpHeader { ecn, ..packet::ip(self.local.ip(), self.host.ip()) }
    }

    /// What the host sent, as a script would write it. `ticks` is the host's clock since the
    /// script began.
    pub(crate) fn translate(&mut self, segment: &Segment<'_>, ticks: u32) -> Packet {
        let tcp = &segment.tcp;
        if tcp.flags.contains(TcpFlags::SYN) {
            self.iss.get_or_insert(tcp.seq);
        }
        let iss = self.iss.unwrap_or_default();
        let has_ack = tcp.flags.contains(TcpFlags::ACK);
        let mut options = shifted(&segment.options, SeqNumber(self.isn.0.wrapping_neg()));
        if let Some(stamps) = &mut options.timestamps {
            let base = *self.stamp_base.get_or_insert(stamps.tsval.wrapping_sub(ticks));
            stamps.tsval = stamps.tsval.wrapping_sub(base);
            self.heard_stamp = stamps.tsval;
        }
        let (seq, len) = (tcp.seq.0.wrapping_sub(iss.0), segment.payload.len() as u32);
        let ack = if has_ack { tcp.ack.0.wrapping_sub(self.isn.0) } else { tcp.ack.0 };
        if !segment.is_patch() {
            self.received.insert(seq, len);
        }
        // The blocks of a payload that a choice names, of `len` bytes.
        let numbers = |choice: Choice, len: usize| -> Vec<usize> {
            let parts: Vec<_> = choice.parts(len).map(|(range, _)| range).collect();
            blocks::blocks(len)
                .zip(1..)
                .filter(|(range, _)| parts.contains(range))
                .map(|(_, number)| number)
                .collect()
        };
        let patched = self.received.get(&seq).filter(|_| segment.is_patch()).and_then(|len| {
            let len = *len as usize;
            patch::read(segment.blocks, len).map(|(choice, _)| numbers(choice, len))
        });
        let damaged = reported(&options).filter(|_| !segment.blocks.is_empty()).map(|offset| {
            let asked = ack.wrapping_add(offset);
            let sent = segment_bytes(PEER_WRITES, asked, self.sent.get(&asked).copied().unwrap_or(0));
            numbers(Choice::by_report((&sent, &[]), segment.blocks), sent.len())
        });
        Packet {
            ecn: segment.ip.ecn,
            flags: tcp.flags,
            seq,
            len,
            ack,
            window: Some(tcp.window),
            urgent: tcp.urgent,
            options,
            blocks: damaged.or(patched),
            open: false,
            flips: Vec::new(),
        }
    }

    /// Timestamps for a packet that `open` or `dial` writes by itself, `millis` after the SYN.
    pub(crate) fn own_stamps(&self, millis: u32) -> Option<Timestamps> {
        Some(Timestamps { tsval: self.syn_stamp?.wrapping_add(millis), tsecr: self.heard_stamp })
    }
}

/// The offset of the first segment that a special ACK reports.
fn reported(options: &TcpOptions) -> Option<u32> {
    options.v2.as_ref().and_then(V2::as_ack).and_then(|ack| ack.reported.first().copied())
}

/// A segment as it was written.
fn segment_bytes(pattern: Pattern, seq: u32, len: u32) -> Vec<u8> {
    pattern.bytes(seq.wrapping_sub(1) as usize, len as usize)
}

/// The sums of a payload, the blocks with these numbers damaged.
fn report(payload: &[u8], damaged: &[usize]) -> Vec<u8> {
    let sums = blocks::sums((payload, &[])).zip(1..);
    sums.flat_map(|((_, sum), number)| if damaged.contains(&number) { !sum } else { sum }.to_be_bytes())
        .collect()
}

/// A patch with the blocks of a payload that have these numbers.
fn patch(payload: &[u8], numbers: &[usize]) -> Vec<u8> {
    let chosen = numbers.iter().fold(0, |all, number| all | 1 << (number - 1));
    let mut bytes = Vec::new();
    patch::write((payload, &[]), Choice::new(chosen, 0), |piece| bytes.extend_from_slice(piece));
    bytes
}

/// `options` with every sequence number in it moved by `base`.
fn shifted(options: &TcpOptions, base: SeqNumber) -> TcpOptions {
    let mut sack = SackBlocks::default();
    for &(from, to) in &options.sack {
        sack.push((from + base.0, to + base.0));
    }
    let mut xhack_ack = SeqList::default();
    for &seq in &options.xhack_ack {
        xhack_ack.push(seq + base.0);
    }
    TcpOptions { sack, xhack_ack, hack_ack: options.hack_ack.map(|seq| seq + base.0), ..*options }
}
