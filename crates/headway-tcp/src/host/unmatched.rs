//! Replies to segments without a connection (RFC 9293, 3.10.7.1: CLOSED STATE), and to SYNs that are
//! answered without keeping state.

use alloc::collections::VecDeque;

use headway_wire::{IpHeader, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};

/// Replies that wait to be sent at most; more are dropped.
const MAX_WAITING: usize = 64;

/// A segment that is sent without a connection.
pub(super) struct StatelessReply {
    pub(super) seq: SeqNumber,
    pub(super) ack: SeqNumber,
    pub(super) flags: TcpFlags,
    pub(super) window: u16,
    pub(super) options: TcpOptions,
}

/// Replies that wait to be sent.
#[derive(Default)]
pub(super) struct UnmatchedReplies {
    waiting: VecDeque<(IpHeader, TcpHeader, TcpOptions)>,
}

impl UnmatchedReplies {
    /// Replies to `segment` with a RST, unless it is one; says whether it does. `ip` is the header of the reply.
    pub(super) fn refuse(&mut self, ip: IpHeader, segment: &Segment<'_>) -> bool {
        let flags = segment.tcp.flags;
        if flags.contains(TcpFlags::RST) {
            return false;
        }
        // "If the ACK bit is off, sequence number zero is used, <SEQ=0><ACK=SEG.SEQ+SEG.LEN>
        // <CTL=RST,ACK>. If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>."
        let (seq, ack, reply) = if flags.contains(TcpFlags::ACK) {
            (segment.tcp.ack, SeqNumber::default(), TcpFlags::RST)
        } else {
            let ack = segment.tcp.seq + segment.sequence_len();
            (SeqNumber::default(), ack, TcpFlags::RST | TcpFlags::ACK)
        };
        let options = TcpOptions::default();
        let ports = (segment.tcp.dst_port, segment.tcp.src_port);
        self.push((ip, ports), StatelessReply { seq, ack, flags: reply, window: 0, options })
    }

    /// Adds a reply with an IP header and from one port to another; says whether there was room.
    pub(super) fn push(
        &mut self,
        (ip, (src_port, dst_port)): (IpHeader, (u16, u16)),
        reply: StatelessReply,
    ) -> bool {
        if self.waiting.len() >= MAX_WAITING {
            return false;
        }
        let StatelessReply { seq, ack, flags, window, options } = reply;
        let tcp = TcpHeader { src_port, dst_port, seq, ack, flags, window, urgent: 0 };
        self.waiting.push_back((ip, tcp, options));
        true
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if self.waiting.is_empty() { None } else { self.transmit(buffer) }
    }

    fn transmit(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (ip, tcp, options) = self.waiting.pop_front()?;
        match emit(buffer, &ip, &tcp, &options, (&[], &[])) {
            Ok(len) => Some(len),
            Err(error) => unreachable!("a reply that fits its buffer: {error}"),
        }
    }
}
