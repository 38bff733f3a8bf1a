//! What to send next.
//!
//! The order: SYN or RST that is owed; special ACKs, and an ACK with a new count of damaged packets, at once;
//! retransmissions (a head left behind, what special ACKs reported, what loss recovery wants); new data; and last an
//! ACK that nothing carried.
//! [`super::data`] chooses among the data, [`super::options`] says which options a segment carries,
//! [`super::build`] writes it.

use headway_wire::TcpFlags;

use super::build::Outgoing;
use super::options::SpecialAckOptions;
use super::pending_output::Control;
use super::{Connection, Context, State};
use crate::event::{Event, Observer};
use crate::hack::classic::receiver::PendingSpecialAck;

impl Connection {
    /// Builds the next segment that the connection has to send now, if any, into `buffer` and
    /// returns its length.
    pub(crate) fn poll_transmit<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        match self.pending.take_control() {
            Some(Control::Reset) => return self.send_reset(cx, buffer),
            Some(Control::Syn) => return self.send_syn(cx, buffer),
            Some(Control::SpecialAck(special_ack)) => return self.send_special_ack(cx, buffer, special_ack),
            None => {}
        }
        if !self.state.is_synchronized() {
            // RFC 9293, 3.10.7.4: in SYN-RECEIVED unacceptable segments are answered too.
            let owes_ack = self.state == State::SynReceived && self.rcv.is_ack_due();
            return if owes_ack { self.send_ack(cx, buffer) } else { None };
        }
        if self.pending.take_count() {
            return self.send_ack(cx, buffer);
        }
        if !matches!(self.state, State::TimeWait | State::FinWait2)
            && let Some(sent) = self.send_data(cx, buffer)
        {
            return Some(sent);
        }
        if self.rcv.is_ack_due() {
            return self.send_ack(cx, buffer);
        }
        // Data written since the timer expired asks as well.
        if self.pending.take_keep_alive() && !self.snd.has_outstanding() {
            return self.send_keep_alive(cx, buffer);
        }
        None
    }

    /// Whether [`Self::poll_transmit`] surely has nothing to send, and nothing else to do.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.state.is_synchronized()
            && !self.rcv.is_ack_due()
            && !self.snd.has_outstanding()
            && !self.snd.has_unsent()
            && !self.snd.has_tail_copies()
            && self.pending.is_empty()
    }

    #[inline(never)]
    fn send_reset<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let flags = TcpFlags::RST | TcpFlags::ACK;
        // RFC 7323, 3.2: a TSopt "SHOULD be sent in an <RST> segment".
        let options = self.fixed_options(cx, false);
        self.build(cx, buffer, &Outgoing::control(self.snd.nxt(), flags, &options))
    }

    #[inline(never)]
    fn send_syn<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let mut flags = TcpFlags::SYN;
        if self.state == State::SynReceived {
            flags.insert(TcpFlags::ACK);
        }
        flags |= self.ecn_syn_flags();
        let options = self.syn_options(cx.now);
        self.opening.on_syn_sent();
        self.snd.on_syn_sent(cx.now);
        self.arm_retransmit(cx.now);
        self.arm_user_timeout();
        self.build(cx, buffer, &Outgoing::control(self.snd.iss(), flags, &options))
    }

    fn send_ack<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        self.pending.take_count();
        let options = self.ack_options(cx);
        self.build(cx, buffer, &Outgoing::control(self.snd.acceptable_seq(), TcpFlags::ACK, &options))
    }

    /// RFC 9293, 3.8.4: a segment with SEG.SEQ = SND.NXT-1 and no data. The peer answers it and takes
    /// nothing from it, as it is not acceptable: an ACK that is owed stays so.
    #[inline(never)]
    fn send_keep_alive<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let options = self.fixed_options(cx, false);
        let outgoing = Outgoing::control(self.snd.nxt() - 1, TcpFlags::ACK, &options);
        self.build_segment(cx, buffer, &outgoing, false)
    }

    /// Paper 000, section 3.2 (3): "the 'special' ACK is sent to the sender of the corrupted
    /// packet".
    #[inline(never)]
    fn send_special_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        special_ack: PendingSpecialAck,
    ) -> Option<usize> {
        self.pending.take_count();
        let SpecialAckOptions { options, count } = self.special_ack_options(cx, special_ack);
        self.statistics.special_acks_sent += 1;
        cx.emit(|| Event::SpecialAckSent { seq: special_ack.seq, count: count as u8 });
        let headers = usize::from(self.bare_headers()) + options.encoded_len();
        let room = usize::from(self.mtu(cx)).saturating_sub(headers);
        let report = self.block_report(special_ack.seq, room);
        let outgoing = Outgoing::special(self.snd.acceptable_seq(), &options, &report);
        // Read by the paper's rules, a special ACK acknowledges nothing: one that is owed stays so.
        self.build_segment(cx, buffer, &outgoing, !self.literal())
    }
}
