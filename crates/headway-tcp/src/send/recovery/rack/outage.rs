//! Outages: the path is interrupted for seconds (a handover, rain, a lost carrier), and comes back.
//!
//! A queue that overflows loses a part of what it is sent. Where the path is known to damage packets, and the
//! timer expires over [`WINDOW`] segments or more in the pipe that are not all taken for damaged, or a second time in silence,
//! the path itself was interrupted. Then one segment is sent per round trip, without backoff, and after a while per share
//! of the time that the outage has lasted: the return of the path is noticed soon beside that. The first answer restores the window, if as much arrived before as the ledger asks for: a
//! peer that answers one timeout after another has its window once.

use headway_units::{Duration, Instant};

use super::Rack;
use crate::rules::Rule;
use crate::send::recovery::{RecoveryContext, RecoveryOutcome};

/// Segments in the pipe from which on a silence is an outage at the first timeout.
pub(super) const WINDOW: u32 = 16;
/// Segments outstanding up to which a connection is thin, and its timeouts in a row without backoff (as Linux has with
/// `tcp_thin_linear_timeouts`).
const THIN: u32 = 4;
const THIN_TIMEOUTS: u32 = 6;

/// An outage, if there is one: since when.
#[derive(Clone, Copy, Default)]
pub(super) struct Outage(Option<Instant>);

impl Outage {
    /// The timer expired. `silence`: the path damages packets, and a queue does not explain it. Says how long the outage
    /// has lasted, if it is one.
    pub(super) fn on_timeout(&mut self, now: Instant, silence: bool) -> Option<Duration> {
        if silence {
            self.0.get_or_insert(now);
        }
        self.0.map(|since| now.saturating_since(since))
    }

    fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}

impl Rack {
    /// Whether the timer goes on without backoff for a few messages of a connection that shares its window: the window
    /// is for all, and at first no damage is known that might be the reason.
    pub(super) fn is_thin(&self, cx: &RecoveryContext<'_>) -> bool {
        self.features.rules_off.hold(Rule::ThinStreams)
            && cx.ledger.is_some()
            && cx.domain.is_shared()
            && cx.queue.outstanding() <= THIN * cx.mss
            && self.timeouts < THIN_TIMEOUTS
    }

    /// Something arrived: an outage is over, and the window was not too large.
    pub(super) fn end_outage(&mut self, cx: &mut RecoveryContext<'_>, outcome: &mut RecoveryOutcome) {
        if !self.outage.end() {
            return;
        }
        let outstanding = cx.queue.outstanding();
        if !cx.ledger.as_mut().is_some_and(|ledger| ledger.believes_interruption(outstanding)) {
            return;
        }
        cx.domain.on_spurious(cx.member);
        cx.rtt.clear_backoff();
        self.episode = None;
        self.phase = super::Phase::Open;
        outcome.phase = Some(crate::event::RecoveryPhase::Over);
    }
}
