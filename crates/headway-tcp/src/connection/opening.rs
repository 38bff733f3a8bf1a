//! How the opening of a connection goes: how often our SYN was sent, and which SYNs offer HACK.

use alloc::boxed::Box;

use headway_wire::icmp::IcmpKind;

use crate::ConnectionError;
use crate::profile::Profile;

/// Half of the repeats of our SYN that are allowed, and this many at most, offer HACK; of those that
/// follow every other one does without. On a path that damages two of three packets a SYN is lost
/// several times in a row for that reason alone.
const BARE_SYN_AFTER: u32 = 6;

/// A SYN without the offer that is answered shows that the path is open, and leaves two reasons why the
/// others were not: damage, or a middlebox that drops options that it does not know. Damage spares one
/// of this many.
const OFFERS_AFTER_ANSWER: u8 = 8;

/// See the module's documentation.
pub(super) struct Opening {
    /// Opened by a SYN from the peer (RFC 9293, 3.10.7.4 distinguishes the cases).
    passive: bool,
    /// Times that the timer had our SYN retransmitted; answers to repeats of the peer's do not count.
    retries: u32,
    /// Timeouts since the first SYN, or since the peer answered.
    unanswered: u32,
    /// A SYN without the offer of HACK was answered: this many more SYNs make it.
    offers_left: Option<u8>,
    /// The text of the peer's SYN.
    text: Option<Box<[u8]>>,
    /// Why routers say that SYNs do not arrive.
    soft_error: Option<IcmpKind>,
}

impl Opening {
    pub(super) fn new(passive: bool) -> Self {
        Self { passive, retries: 0, unanswered: 0, offers_left: None, text: None, soft_error: None }
    }

    pub(super) fn is_passive(&self) -> bool {
        self.passive
    }

    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    /// RFC 9293, 3.9.2.2, of soft errors: TCP "MUST NOT abort the connection", "and it SHOULD make the information
    /// available to the application": if no SYN is answered, this is why.
    pub(super) fn set_soft_error(&mut self, kind: IcmpKind) {
        self.soft_error = Some(kind);
    }

    /// Why no SYN was answered.
    pub(super) fn failure(&self) -> ConnectionError {
        self.soft_error.map_or(ConnectionError::TimedOut, ConnectionError::Unreachable)
    }

    /// RFC 9293, 3.10.7.3: "If there are other controls or text in the segment, queue them for processing after
    /// the ESTABLISHED state has been reached."
    pub(super) fn keep_text(&mut self, text: &[u8]) {
        self.text = (!text.is_empty()).then(|| text.into());
    }

    /// Takes what [`Self::keep_text`] kept.
    pub(super) fn take_text(&mut self) -> Option<Box<[u8]>> {
        self.text.take()
    }

    /// Whether our next SYN goes without the offer. A middlebox that drops SYNs with options that it
    /// does not know drops all of them.
    pub(super) fn is_syn_bare(&self, profile: &Profile) -> bool {
        match self.offers_left {
            Some(left) => left == 0,
            None => self.retries.saturating_sub(offering_repeats(profile)) % 2 == 1,
        }
    }

    pub(super) fn on_syn_sent(&mut self) {
        self.offers_left = self.offers_left.map(|left| left.saturating_sub(1));
    }

    /// The retransmission timer expired; `limit`: retries that are allowed. Says whether the SYN is repeated.
    pub(super) fn on_timeout(&mut self, limit: u32) -> bool {
        self.unanswered += 1;
        // The peer has answered: these repeats are not those that end an attempt without an answer.
        if self.offers_left.is_some_and(|left| left > 0) {
            return true;
        }
        if self.retries >= limit {
            return false;
        }
        self.retries += 1;
        true
    }

    /// Timeouts since the first SYN, or since the peer answered.
    pub(super) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Whether a SYN-ACK without the offer has come before that may have answered a SYN without it.
    pub(super) fn was_answered(&self) -> bool {
        self.offers_left.is_some()
    }

    /// A SYN-ACK without the offer arrived. Says whether it may answer a SYN that made none: then it is
    /// treated as if it had been lost, and the offer is made again.
    pub(super) fn offers_again(&mut self, profile: &Profile) -> bool {
        if self.offers_left.is_none() {
            if self.retries <= offering_repeats(profile) {
                return false;
            }
            self.offers_left = Some(OFFERS_AFTER_ANSWER);
            self.unanswered = 0;
            // The peer has answered: what follows has as many repeats as SYNs without the offer have.
            self.retries = offering_repeats(profile);
        }
        self.offers_left != Some(0)
    }
}

/// Repeats of our SYN that make the offer before one does without.
fn offering_repeats(profile: &Profile) -> u32 {
    BARE_SYN_AFTER.min(profile.syn_limit() / 2)
}
