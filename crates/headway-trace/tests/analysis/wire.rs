//! Captured segments between two hosts.

use headway_test_fixture::packet;
use headway_trace::analysis::{Analyser, Analysis, Graphs, Offload, Options};
use headway_trace::reader::{LinkType, Packet};
use headway_units::Instant;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions};

/// A segment to be captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seg {
    pub(crate) from_server: bool,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: TcpFlags,
    pub(crate) window: u16,
    pub(crate) len: usize,
    pub(crate) options: TcpOptions,
}

/// A segment of the client.
pub(crate) fn client(flags: TcpFlags, seq: u32, ack: u32, len: usize) -> Seg {
    Seg { from_server: false, seq, ack, flags, window: 1000, len, options: TcpOptions::default() }
}

/// A segment of the server.
pub(crate) fn server(flags: TcpFlags, seq: u32, ack: u32, len: usize) -> Seg {
    Seg { from_server: true, ..client(flags, seq, ack, len) }
}

impl Seg {
    pub(crate) fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    pub(crate) fn options(self, options: TcpOptions) -> Self {
        Self { options, ..self }
    }

    /// The packet.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let ends = [([192, 0, 2, 1], 40_000).into(), ([192, 0, 2, 2], 80).into()];
        let [from, to] = if self.from_server { [ends[1], ends[0]] } else { ends };
        let (ip, tcp) = packet::headers(from, to, self.flags);
        let (seq, ack) = (SeqNumber(self.seq), SeqNumber(self.ack));
        let tcp = TcpHeader { seq, ack, window: self.window, ..tcp };
        packet::segment(&ip, &tcp, &self.options, &vec![0x5a; self.len])
    }
}

/// A packet and the interface that captured it. Packets are a millisecond apart.
pub(crate) type Captured = (usize, Vec<u8>);

/// The analysis of packets captured at one interface.
pub(crate) fn analyse(segments: &[Seg]) -> Analysis {
    let packets: Vec<Captured> = segments.iter().map(|segment| (0, segment.bytes())).collect();
    analyse_packets(&packets, None)
}

/// The analysis of packets.
pub(crate) fn analyse_packets(packets: &[Captured], interface: Option<usize>) -> Analysis {
    let mut offload = Offload::new();
    each(packets, |packet| offload.packet(&packet));
    let graphs = Some(Graphs { points: 100, connections: 0..10 });
    let mut analyser = Analyser::new(Options { interface, offload, graphs });
    each(packets, |packet| analyser.packet(&packet));
    analyser.finish()
}

fn each(packets: &[Captured], mut take: impl FnMut(Packet<'_>)) {
    for ((interface, bytes), millis) in packets.iter().zip(0..) {
        take(Packet {
            interface: *interface,
            link: LinkType::RAW,
            at: Instant::from_nanos(millis * 1_000_000),
            bytes,
            original_len: bytes.len() as u32,
            direction: None,
            comment: None,
        });
    }
}

pub(crate) const ACK: TcpFlags = TcpFlags::ACK;
pub(crate) const SYN: TcpFlags = TcpFlags::SYN;

/// SYN and FIN with ACK.
pub(crate) fn with_ack(mut flags: TcpFlags) -> TcpFlags {
    flags.insert(TcpFlags::ACK);
    flags
}

/// A handshake of client number 100 and server number 500.
pub(crate) fn handshake() -> Vec<Seg> {
    vec![client(SYN, 100, 0, 0), server(with_ack(SYN), 500, 101, 0), client(ACK, 101, 501, 0)]
}

/// A handshake and then `more`.
pub(crate) fn after_handshake(more: &[Seg]) -> Vec<Seg> {
    [&handshake()[..], more].concat()
}
