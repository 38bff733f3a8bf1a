//! Opening: SYNs, what they offer, and what is agreed (RFC 9293, 3.5 and 3.10.7.3).
//!
//! Data on a SYN is kept until the connection is ESTABLISHED, and acknowledged then; the SYN-ACK acknowledges the
//! SYN alone. Data and FIN on a SYN-ACK are taken at once. What is not kept is not acknowledged either, and the peer
//! sends it again: a FIN on a SYN, all that a SYN cookie answers, and data where HACK v2 is agreed, as no CRC covers it.

use alloc::sync::Arc;

use headway_units::{Duration, Instant};
use headway_wire::compact::LEFT_OUT;
use headway_wire::{Segment, SeqNumber, TcpFlags, TcpOptions, Timestamps};

use super::offer::{Negotiated, SynShape, agree, bare_headers, syn_options};
use super::{Connection, Context, Endpoints, Notification, State};
use crate::ConnectionError;
use crate::event::{Observer, Timer};
use crate::profile::{HackMode, Profile};

/// RFC 9293, 3.7.1: "If an MSS Option is not received at connection setup, TCP implementations
/// MUST assume a default send MSS of 536 for IPv4 or 1220 for IPv6".
const DEFAULT_MSS_V4: u16 = 536;
const DEFAULT_MSS_V6: u16 = 1220;
/// No peer can make segments smaller than this (as Linux does; a defence against tiny segments).
const MIN_MSS: u16 = 48;

impl Connection {
    /// OPEN, active.
    pub(crate) fn connect(
        profile: Arc<Profile>,
        ends: Endpoints,
        iss: SeqNumber,
        tsval_offset: u32,
        now: Instant,
    ) -> Self {
        Self::new(profile, ends, iss, tsval_offset, State::SynSent, now)
    }

    /// A SYN arrived at a listener.
    pub(crate) fn accept<O: Observer>(
        cx: &mut Context<'_, O>,
        profile: Arc<Profile>,
        ends: Endpoints,
        iss: SeqNumber,
        tsval_offset: u32,
        syn: &Segment<'_>,
    ) -> Self {
        let mut connection = Self::new(profile, ends, iss, tsval_offset, State::SynReceived, cx.now);
        connection.take_syn(cx, syn);
        connection
    }

    /// The SYN-ACK that answered `syn` has been sent, and its ACK is here (a SYN cookie).
    pub(crate) fn has_answered(&mut self) {
        self.pending.set_syn(false);
        self.snd.on_cookie_sent();
        self.rcv.advertise(true);
    }

    /// The IP and TCP headers without options.
    pub(super) fn bare_headers(&self) -> u16 {
        bare_headers(self.ends.local.is_ipv4())
    }

    /// Bytes of payload that the peer can put into a segment: what our MSS option asked for, less the
    /// timestamps.
    pub(super) fn longest_segment(&self) -> u32 {
        let options = if self.negotiated.timestamps { 12 } else { 0 };
        u32::from(self.profile.mtu.saturating_sub(self.bare_headers() + options).max(1)) + self.left_out()
    }

    /// By how many bytes the carrier shortens the header of every segment with data.
    pub(super) fn left_out(&self) -> u32 {
        if self.negotiated.compact { LEFT_OUT as u32 } else { 0 }
    }

    /// The largest packet that the path takes.
    pub(super) fn mtu<O>(&self, cx: &Context<'_, O>) -> u16 {
        self.profile.mtu.min(cx.path.largest_packet().unwrap_or(u16::MAX))
    }

    /// Bytes of the options of every segment with data.
    fn data_options(&self) -> u16 {
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        timestamps
            + match self.negotiated {
                Negotiated { v2: true, .. } => 12,
                Negotiated { hack: true, .. } => 4,
                _ => 0,
            }
    }

    /// How long a packet with that much data is.
    pub(super) fn packet_len(&self, payload: u32) -> u16 {
        let headers = u32::from(self.bare_headers() + self.data_options());
        (payload + headers - self.left_out()) as u16
    }

    /// How much data a packet of `len` bytes carries.
    pub(super) fn payload_of(&self, len: u16) -> u32 {
        u32::from(len.saturating_sub(self.bare_headers() + self.data_options())) + self.left_out()
    }

    /// The longest packet that the interface, routers and the peer's MSS option allow.
    pub(super) fn longest_allowed<O>(&self, cx: &Context<'_, O>) -> u16 {
        let path = self.profile.mtu.min(cx.path.mtu.unwrap_or(u16::MAX));
        path.min(self.peer_mss.saturating_add(self.bare_headers()))
    }

    /// The options of our SYN or SYN-ACK.
    pub(super) fn syn_options(&self, now: Instant) -> TcpOptions {
        // A SYN offers what the profile wants; a SYN-ACK what was agreed.
        let offer = if self.state == State::SynSent {
            Negotiated {
                sack: self.profile.sack,
                timestamps: self.profile.timestamps,
                window_scaling: self.profile.window_scaling,
                hack: self.profile.offers_hack(),
                xhack: false,
                v2: self.profile.hack == HackMode::V2 && self.profile.sack,
                partial: self.profile.features.partial,
                compact: self.profile.compact_headers && self.profile.timestamps,
                ecn: self.profile.features.ecn,
            }
        } else {
            self.negotiated
        };
        let shape = SynShape {
            bare: self.state == State::SynSent && self.opening.is_syn_bare(&self.profile),
            answers: self.state == State::SynReceived,
            v4: self.ends.local.is_ipv4(),
        };
        let timestamps = Timestamps { tsval: self.tsval(now), tsecr: self.rcv.ts_recent() };
        syn_options(&self.profile, offer, shape, timestamps)
    }

    /// A SYN-ACK that takes no offer, and may be the answer to a SYN that made none: it is treated as if
    /// it had been lost, and the offer made again, at once. Says whether that is so.
    fn offers_again(&mut self, now: Instant, syn_ack: &Segment<'_>) -> bool {
        if !self.profile.offers_hack() || agree(&self.profile, syn_ack).hack {
            return false;
        }
        let is_first = !self.opening.was_answered();
        if !self.opening.offers_again(&self.profile) {
            return false;
        }
        if is_first {
            self.snd.rtt_mut().clear_backoff();
            if let (true, Some(sample)) = (self.profile.timestamps, self.echo_age(now, syn_ack)) {
                self.snd.rtt_mut().sample(sample, 1);
            }
        }
        self.pending.set_syn(true);
        true
    }

    /// The peer's SYN came again, and offers what the first one did not: that one was sent in case the
    /// offer was why SYNs were lost. Nothing has followed yet that depends on the difference.
    #[inline(never)]
    pub(super) fn take_better_offer<O: Observer>(&mut self, cx: &mut Context<'_, O>, syn: &Segment<'_>) {
        if self.opening.is_passive() && !self.negotiated.hack && agree(&self.profile, syn).hack {
            self.take_syn(cx, syn);
        }
    }

    /// Learns the peer's sequence number, options and sizes from its SYN.
    fn take_syn<O: Observer>(&mut self, cx: &mut Context<'_, O>, syn: &Segment<'_>) {
        self.rcv.start(syn.tcp.seq);
        let options = &syn.options;
        self.negotiated = agree(&self.profile, syn);
        let mut scale = 0;
        if self.negotiated.window_scaling {
            self.rcv.start_scaling(self.profile.receive_buffer);
            // RFC 7323, 2.3: "If a Window Scale option is received with a shift.cnt value larger
            // than 14, the TCP SHOULD log the error but MUST use 14".
            scale = options.window_scale.unwrap_or(0).min(14);
        }
        if let (true, Some(timestamps)) = (self.negotiated.timestamps, options.timestamps) {
            self.rcv.start_timestamps(timestamps.tsval, cx.now);
        }
        self.snd.on_peer_syn(&self.profile, &syn.tcp, scale, self.negotiated.sack);
        let default = if self.ends.local.is_ipv4() { DEFAULT_MSS_V4 } else { DEFAULT_MSS_V6 };
        self.peer_mss = options.mss.unwrap_or(default).max(MIN_MSS);
        self.update_mss(cx, true);
        self.recall(cx);
        if !syn.tcp.flags.contains(TcpFlags::ACK) {
            let most = if self.takes_syn_text() { usize::from(self.profile.mtu) } else { 0 };
            self.opening.keep_text(&syn.payload[..syn.payload.len().min(most)]);
        }
    }

    /// With version 2 no data is taken that no CRC covers, and a SYN has none.
    fn takes_syn_text(&self) -> bool {
        !self.negotiated.v2
    }

    /// The peer does without HACK after all.
    #[inline(never)]
    pub(super) fn give_up_hack<O>(&mut self, cx: &mut Context<'_, O>) {
        self.negotiated = Negotiated {
            hack: false,
            xhack: false,
            v2: false,
            partial: false,
            compact: false,
            ..self.negotiated
        };
        self.update_mss(cx, true);
    }

    /// RFC 9293, 3.7.1: "Eff.snd.MSS = min(SendMSS+20, MMS_S) - TCPhdrsize - IPoptionsize", with
    /// the options of every data segment counted as header (RFC 6691).
    pub(super) fn fitting_mss<O>(&self, cx: &Context<'_, O>) -> u32 {
        let fits = self.mtu(cx).saturating_sub(self.bare_headers());
        u32::from(self.peer_mss.min(fits).max(MIN_MSS) - self.data_options()) + self.left_out()
    }

    /// Segments are as long as is known now that they may be.
    pub(super) fn update_mss<O>(&mut self, cx: &mut Context<'_, O>, initial: bool) {
        let mss = self.fitting_mss(cx);
        self.snd.set_mss(mss);
        cx.domain.set_mss(mss, initial);
    }

    /// RFC 9293, 3.10.7.3: SYN-SENT STATE.
    #[inline(never)]
    pub(super) fn syn_sent<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) -> Reply {
        let flags = segment.tcp.flags;
        let has_ack = flags.contains(TcpFlags::ACK);
        // First: "If SEG.ACK =< ISS or SEG.ACK > SND.NXT, send a reset (unless the RST bit is set
        // [...]) and discard the segment."
        if has_ack && (segment.tcp.ack.le(self.snd.iss()) || segment.tcp.ack.gt(self.snd.nxt())) {
            return if flags.contains(TcpFlags::RST) { Reply::Nothing } else { Reply::Reset };
        }
        // Second: "If the RST bit is set, a potential blind reset attack is described in
        // RFC 5961": only one that acknowledges our SYN counts.
        if flags.contains(TcpFlags::RST) {
            if has_ack {
                self.fail(cx, ConnectionError::Refused);
            }
            return Reply::Nothing;
        }
        if !flags.contains(TcpFlags::SYN) {
            return Reply::Nothing;
        }
        // Fourth: the SYN bit.
        if has_ack && self.offers_again(cx.now, segment) {
            return Reply::Nothing;
        }
        self.take_syn(cx, segment);
        if has_ack {
            self.take_syn_ack(cx, segment);
        } else {
            // "Otherwise, enter SYN-RECEIVED, form a SYN,ACK segment": simultaneous open.
            self.set_state(cx, State::SynReceived);
            self.pending.set_syn(true);
        }
        Reply::Nothing
    }

    fn take_syn_ack<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        self.acknowledge_syn(cx, segment);
        self.set_state(cx, State::Established);
        self.rcv.ack_at_once();
        self.established(cx);
        // RFC 9293, 3.10.7.3: "If there are other controls or text in the segment, then continue processing at
        // the sixth step".
        if self.takes_syn_text() {
            self.take_text(cx, segment);
        }
    }

    /// Our SYN is acknowledged: the first round-trip sample.
    #[inline(never)]
    pub(super) fn acknowledge_syn<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        // A copy of the peer's SYN may have come just before and asked for ours once more.
        self.pending.set_syn(false);
        let since_syn = self.snd.oldest_sent_at().map(|sent| cx.now.saturating_since(sent));
        let acknowledged = self.snd.on_syn_acknowledged(cx.now);
        self.timers.stop(Timer::Retransmit);
        self.timers.stop(Timer::User);
        let is_cookie = acknowledged.bytes == 0;
        let is_late = self.negotiated.v2 && !segment.payload.is_empty();
        let sample = if self.opening.is_passive() && (is_cookie || is_late) {
            // When a cookie was sent is not known, and its timestamp carries other things. Data acknowledges our SYN where
            // the ACK was lost, and may be a retransmission: the sample would be of its timeouts, and while it is the only one,
            // special ACKs of version 2 would seem to come too soon.
            None
        } else if self.negotiated.timestamps {
            self.echoed_sample(cx.now, segment)
        } else {
            acknowledged.sent_at.map(|sent| cx.now.saturating_since(sent))
        };
        // The echo of a SYN before the last: the answer to it was late, or lost, and the last SYN was answered. The second is usual where
        // packets arrive damaged; the timeout allows for the first.
        let is_doubtful = |sample: Duration| {
            self.negotiated.v2 && since_syn.is_some_and(|since| sample > since + self.profile.clock)
        };
        let (sample, doubtful) = match sample {
            Some(sample) if is_doubtful(sample) => (None, Some(sample)),
            sample => (sample, None),
        };
        if let Some(doubtful) = doubtful {
            self.snd.rtt_mut().recall(doubtful, Duration::ZERO);
        }
        let segments = cx.domain.window() / self.snd.mss().max(1);
        if let Some(sample) = sample {
            self.snd.rtt_mut().sample(sample, segments);
            self.recall_variation(cx);
            if self.profile.features.ledger {
                // Others may keep the queue full from now on.
                cx.path.ledger.on_rtt(cx.now, sample, Duration::ZERO, false);
            }
        }
        self.snd.rtt_mut().clear_backoff();
        // RFC 5681, 3.1 asks for a window of one segment after a lost SYN. One lost SYN may be bad luck,
        // and costs a second already: like Linux, today's TCP begins cautiously after two.
        if self.opening.retries() > self.profile.tolerated_syn_losses() {
            self.snd.rtt_mut().on_syn_loss();
            cx.domain.on_syn_loss();
        }
        cx.domain.on_established(cx.now, self.snd.rtt().estimate());
        // Without a sample the time since our SYN bounds it. Whether the path carries a rate is seen by its ACKs.
        if let Some(rtt) = self.snd.rtt().estimate().or(since_syn)
            && let Some(expected) = cx.domain.start(cx.now, rtt)
        {
            self.rcv.expect(expected);
        }
    }

    pub(super) fn syn_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let profile = &self.profile;
        let limit = if self.state == State::SynSent { profile.syn_limit() } else { profile.syn_retries };
        if !self.opening.on_timeout(limit) {
            return self.fail(cx, self.opening.failure());
        }
        // RFC 6298, 5.5: "The host MUST set RTO <- RTO * 2", which Linux does from the fifth SYN on.
        if self.state == State::SynReceived || self.opening.unanswered() > self.profile.syn_linear {
            self.snd.rtt_mut().back_off();
        }
        self.statistics.timeouts += 1;
        self.statistics.retransmissions += 1;
        self.pending.set_syn(true);
    }

    #[inline(never)]
    pub(super) fn established<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.arm_keep_alive(cx.now);
        self.notify(Notification::Connected);
        self.take_syn_text(cx);
    }
}

/// What a segment calls for beyond what the connection itself will send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Nothing,
    /// A RST as RFC 9293, 3.10.7.1 gives to a segment without a connection.
    Reset,
}
