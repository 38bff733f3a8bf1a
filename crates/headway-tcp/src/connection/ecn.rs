//! Explicit congestion notification (RFC 3168, section 6.1): routers mark packets instead of dropping
//! them, the receiver echoes the mark, and the sender answers it as it answers a loss.
//!
//! ```text
//! sender           router           receiver
//!   | --- ECT(0) ---> | ---- CE -----> |
//!   | <------------- ECE ------------- |  with every ACK
//!   | ------------- CWR -------------> |  the window is reduced: ECE ends
//! ```

use headway_wire::{Ecn, Segment, SeqNumber, TcpFlags};

use super::{Connection, Context, State};
use crate::event::Observer;
use crate::profile::Profile;

/// Both sides' memory of marks.
#[derive(Default)]
pub(super) struct EcnState {
    /// Receiver: a mark arrived and CWR has not come yet.
    echoes: bool,
    /// Sender: the window was reduced, and the peer has not been notified.
    owes_cwr: bool,
    /// Sender: ECE says nothing new until more than this is acknowledged.
    answered: Option<SeqNumber>,
    /// Sender: what was answered last was a mark.
    marked: bool,
    /// The segment that carried CWR last.
    cwr_sent: Option<SeqNumber>,
}

impl EcnState {
    /// The window was reduced when `nxt` was SND.NXT.
    ///
    /// RFC 3168, 6.1.2: "When an ECN-Capable TCP sender reduces its congestion window for any reason
    /// [...], the TCP sender sets the CWR flag in the TCP header of the first new data packet sent
    /// after the window reduction."
    pub(super) fn on_reduction(&mut self, nxt: SeqNumber) {
        self.answered = Some(nxt);
        self.marked = false;
        self.owes_cwr = true;
    }

    /// A segment of new data leaves. Says whether it carries CWR.
    fn takes_cwr(&mut self, seq: SeqNumber) -> bool {
        let owed = core::mem::take(&mut self.owes_cwr);
        if owed {
            self.cwr_sent = Some(seq);
        }
        owed
    }

    /// The segment `seq` is retransmitted. If it carried CWR, the peer has not seen that, and retransmissions do not
    /// carry it: the next new segment does, and until then ECE reports the mark that was answered.
    pub(super) fn on_retransmitted(&mut self, seq: SeqNumber, nxt: SeqNumber) {
        if self.cwr_sent == Some(seq) {
            self.cwr_sent = None;
            self.on_reduction(nxt);
        }
    }
}

/// Whether `syn` and `profile` agree on ECN.
///
/// RFC 3168, 6.1.1: an ECN-setup SYN has both flags, an ECN-setup SYN-ACK "the ECE flag set and the
/// CWR flag not set": a peer that reflects flags that it does not know has both.
pub(super) fn agreed(profile: &Profile, syn: TcpFlags) -> bool {
    let wanted = if syn.contains(TcpFlags::ACK) { TcpFlags::ECE } else { TcpFlags::ECE | TcpFlags::CWR };
    profile.features.ecn && wanted == TcpFlags::from_bits(syn.bits() & (TcpFlags::ECE | TcpFlags::CWR).bits())
}

impl Connection {
    /// The ECN flags of our SYN or SYN-ACK.
    pub(super) fn ecn_syn_flags(&self) -> TcpFlags {
        // RFC 3168, 6.1.1.1: a host that gets no answer to an ECN-setup SYN "MAY resend the SYN and
        // any subsequent SYN retransmissions with CWR and ECE cleared". Where they follow one another
        // without backoff, the first half may have been lost for other reasons.
        let offers = self.profile.features.ecn && self.opening.retries() <= self.profile.syn_linear / 2;
        match self.state {
            State::SynSent if offers => TcpFlags::ECE | TcpFlags::CWR,
            State::SynReceived if self.negotiated.ecn => TcpFlags::ECE,
            _ => TcpFlags::NONE,
        }
    }

    /// The ECN flags and field of a segment that is being built. `fresh`: it carries new data.
    pub(super) fn ecn_marks(&mut self, seq: SeqNumber, flags: TcpFlags, fresh: bool) -> (TcpFlags, Ecn) {
        if !self.negotiated.ecn || flags.intersects(TcpFlags::SYN | TcpFlags::RST) {
            return (TcpFlags::NONE, Ecn::NotEct);
        }
        let mut marks = TcpFlags::NONE;
        // 6.1.3: the receiver "sets the ECN-Echo flag in the TCP header of the subsequent ACK packet",
        // and of all others "until it receives a CWR packet".
        if self.ecn.echoes {
            marks.insert(TcpFlags::ECE);
        }
        if fresh && self.ecn.takes_cwr(seq) {
            marks.insert(TcpFlags::CWR);
        }
        // 6.1.4 to 6.1.6: no pure ACK, no retransmission, no window probe.
        (marks, if fresh { Ecn::Ect0 } else { Ecn::NotEct })
    }

    /// New data within the window arrived, or a damaged segment that would be.
    pub(super) fn record_mark(&mut self, ecn: Ecn) {
        if self.negotiated.ecn && ecn == Ecn::Ce {
            self.ecn.echoes = true;
        }
    }

    /// What an acceptable segment with data says of marks: its sender has answered ours (CWR), and it
    /// may be marked itself.
    pub(super) fn take_mark(&mut self, segment: &Segment<'_>) {
        if segment.payload.is_empty() {
            return;
        }
        if segment.tcp.flags.contains(TcpFlags::CWR) {
            self.ecn.echoes = false;
        }
        self.record_mark(segment.ip.ecn);
    }

    /// The peer may echo a mark. `flight` is what was outstanding before its ACK.
    ///
    /// RFC 3168, 6.1.2: "TCP should not react to congestion indications more than once every window
    /// of data".
    pub(super) fn on_ecn_echo<O: Observer>(&mut self, cx: &mut Context<'_, O>, flags: TcpFlags, flight: u32) {
        let answered = self.ecn.answered.is_some_and(|point| !self.snd.una().gt(point));
        if !self.negotiated.ecn || !flags.contains(TcpFlags::ECE) || answered || flight == 0 {
            return;
        }
        self.statistics.congestion_echoes += 1;
        cx.path.ledger.on_mark();
        cx.domain.on_ecn(cx.id, cx.now, flight);
        self.ecn.on_reduction(self.snd.nxt());
        self.ecn.marked = true;
    }

    /// Whether a mark on what is still outstanding has been answered: a loss in the same window of
    /// data reports the same congestion.
    pub(super) fn has_answered_mark(&self) -> bool {
        self.ecn.marked && self.ecn.answered.is_some_and(|point| self.snd.una().lt(point))
    }

    /// Whether an ACK with these flags must not open the window.
    ///
    /// RFC 3168, 6.1.2: "the TCP source [...] should not increase the congestion window in response to
    /// the receipt of an ECN-Echo ACK packet".
    pub(super) fn holds_window(&self, flags: TcpFlags) -> bool {
        self.negotiated.ecn && flags.contains(TcpFlags::ECE)
    }

    /// The window was reduced because something was lost.
    pub(super) fn ecn_reduced(&mut self) {
        if self.negotiated.ecn {
            self.ecn.on_reduction(self.snd.nxt());
        }
    }
}
