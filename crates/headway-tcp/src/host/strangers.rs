//! Answers to segments that belong to nobody (RFC 9293, 3.10.7.1: CLOSED STATE).

use alloc::collections::VecDeque;

use headway_wire::{Ecn, IpHeader, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};

use crate::connection::Endpoints;

/// RSTs that wait to be sent at most; more are not owed to anybody.
const MAX_WAITING: usize = 64;

const HOP_LIMIT: u8 = 64;

#[derive(Default)]
pub(super) struct Strangers {
    resets: VecDeque<(IpHeader, TcpHeader)>,
}

impl Strangers {
    /// Answers `segment` with a RST, unless it is one; says whether it does.
    pub(super) fn refuse(&mut self, ends: &Endpoints, segment: &Segment<'_>) -> bool {
        let flags = segment.tcp.flags;
        if flags.contains(TcpFlags::RST) || self.resets.len() >= MAX_WAITING {
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
        let ip = IpHeader {
            src: ends.local.ip(),
            dst: ends.remote.ip(),
            ecn: Ecn::NotEct,
            hop_limit: HOP_LIMIT,
            identification: 0,
        };
        let tcp = TcpHeader {
            src_port: ends.local.port(),
            dst_port: ends.remote.port(),
            seq,
            ack,
            flags: reply,
            window: 0,
            urgent: 0,
        };
        self.resets.push_back((ip, tcp));
        true
    }

    pub(super) fn poll_transmit(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (ip, tcp) = self.resets.pop_front()?;
        match emit(buffer, &ip, &tcp, &TcpOptions::default(), (&[], &[])) {
            Ok(len) => Some(len),
            Err(error) => unreachable!("a RST that fits its buffer: {error}"),
        }
    }
}
