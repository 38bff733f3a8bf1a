//! Building segments.

use headway_wire::{EmitError, IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, V2, emit};

use super::options::OPTION_SPACE;
use super::{Connection, Context};
use crate::event::{Event, Observer};
use crate::send::DataSegment;

/// A segment about to be built.
pub(super) struct Outgoing<'a> {
    seq: SeqNumber,
    flags: TcpFlags,
    /// Payload: `len` bytes from this offset in the send buffer.
    offset: usize,
    len: usize,
    options: &'a TcpOptions,
    /// In the place of a payload: what concerns a segment's blocks.
    blocks: &'a [u8],
    /// It carries data that was never sent before, within the peer's window.
    fresh: bool,
}

impl<'a> Outgoing<'a> {
    /// A segment without data.
    pub(super) fn control(seq: SeqNumber, flags: TcpFlags, options: &'a TcpOptions) -> Self {
        Self { seq, flags, offset: 0, len: 0, options, blocks: &[], fresh: false }
    }

    /// A special ACK.
    pub(super) fn special(seq: SeqNumber, options: &'a TcpOptions, report: &'a [u8]) -> Self {
        Self { blocks: report, ..Self::control(seq, TcpFlags::ACK, options) }
    }
}

impl Connection {
    /// The IP header of its packets, without ECN.
    pub(crate) fn ip_header(&self) -> IpHeader {
        self.profile.ip_header(self.ends.local.ip(), self.ends.remote.ip())
    }

    /// `fresh`: it was never sent before, and lies within the peer's window.
    pub(super) fn build_data<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        data: &DataSegment,
        fresh: bool,
    ) -> Option<usize> {
        if !data.patch.is_none() {
            return self.build_patch(cx, buffer, data);
        }
        let &DataSegment { seq, offset, fin, push, .. } = data;
        let len = data.len as usize;
        let mut flags = TcpFlags::ACK;
        if fin {
            flags.insert(TcpFlags::FIN);
        }
        if push && len > 0 {
            flags.insert(TcpFlags::PSH);
        }
        let mut options = self.fixed_options(cx, len > 0);
        // Whatever of the packet and of the option space is left may report holes of our own.
        let left_out = if len > 0 { self.left_out() as usize } else { 0 };
        let packet = usize::from(self.mtu(cx)) + left_out;
        let spare = packet.saturating_sub(usize::from(self.bare_headers()) + len).min(OPTION_SPACE);
        self.add_sack_blocks(&mut options, spare);
        cx.domain.on_data_sent(cx.now, data.len);
        self.build(cx, buffer, &Outgoing { seq, flags, offset, len, options: &options, blocks: &[], fresh })
    }

    /// The blocks of `data` that the peer lacks.
    #[inline(never)]
    fn build_patch<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        data: &DataSegment,
    ) -> Option<usize> {
        let mut options = self.fixed_options(cx, true);
        options.v2 = Some(V2::patch());
        let blocks = self.snd.patch(data);
        let len = blocks.len();
        cx.domain.on_data_sent(cx.now, len as u32);
        let control = Outgoing::control(data.seq, TcpFlags::ACK, &options);
        self.build(cx, buffer, &Outgoing { len, blocks: &blocks, ..control })
    }

    pub(super) fn build<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        outgoing: &Outgoing<'_>,
    ) -> Option<usize> {
        self.build_segment(cx, buffer, outgoing, true)
    }

    /// `carries_ack`: an ACK that is owed is sent with it.
    pub(super) fn build_segment<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        outgoing: &Outgoing<'_>,
        carries_ack: bool,
    ) -> Option<usize> {
        let (marks, ecn) = self.ecn_marks(outgoing.seq, outgoing.flags, outgoing.fresh);
        let flags = outgoing.flags | marks;
        self.recall_receive_window(cx);
        let window = self.rcv.advertise(flags.contains(TcpFlags::SYN));
        let has_ack = flags.contains(TcpFlags::ACK);
        let header = TcpHeader {
            src_port: self.ends.local.port(),
            dst_port: self.ends.remote.port(),
            seq: outgoing.seq,
            ack: if has_ack { self.rcv.nxt() } else { SeqNumber::default() },
            flags,
            window,
            urgent: 0,
        };
        let ip = IpHeader { ecn, identification: self.statistics.segments_sent as u16, ..self.ip_header() };
        let payload = match outgoing.blocks {
            [] => self.snd.payload(outgoing.offset, outgoing.len),
            blocks => (blocks, &[][..]),
        };
        let built: Result<usize, EmitError> = emit(buffer, &ip, &header, outgoing.options, payload);
        let len = match built {
            Ok(len) => len,
            // The host checks the buffer's size and options are chosen to fit.
            Err(error) => unreachable!("a segment that fits its buffer: {error}"),
        };
        if has_ack && carries_ack && !flags.contains(TcpFlags::RST) {
            self.rcv.on_ack_sent();
        }
        self.statistics.segments_sent += 1;
        self.statistics.bytes_sent += outgoing.len as u64;
        cx.emit(|| Event::Sent { seq: outgoing.seq, len: outgoing.len as u32, ack: header.ack, flags });
        Some(len)
    }
}
