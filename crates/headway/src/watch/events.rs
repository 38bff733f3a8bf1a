//! The history as a stream of server-sent events, from where a page is.
//!
//! `GET /events`: the first event has the name `start` and describes the pictures; each further one has the name `items`, an
//! identifier, and a list in JSON:
//!
//! | item | meaning |
//! |---|---|
//! | `["begin", ID, {"group": NAME, "label": TEXT}]` | something new is measured: a run (its label is the seed), a direction, a peer |
//! | `["sample", ID, [SECONDS, VALUE, ...]]` | a sample; the description says which value is which; `null`: unknown |
//! | `["end", ID, TEXT]` | it is over |
//! | `["progress", TEXT]` | how far the command is |
//! | `["finish", TEXT]` | the command is over; the stream ends |

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Shared;

/// How often a page is told what is new.
const EVERY: Duration = Duration::from_millis(200);
/// After as many times with nothing new a comment is sent: who is gone is noticed.
const SILENT_TIMES: u32 = 50;
/// Bytes of an event, about.
const PIECE: usize = 1 << 16;
/// How long a browser waits before it connects again.
const RETRY: Duration = Duration::from_secs(1);

/// See the module's documentation. It is asked for the next event when the last has left: a page that does not read
/// is told later, and only what is still there.
pub(super) struct Events {
    shared: Arc<Shared>,
    /// The number of the last item that was sent.
    after: u64,
    has_begun: bool,
    /// The last event was as long as one may be.
    has_more: bool,
    silent_times: u32,
    ticks: Interval,
    /// Pages at once are limited.
    _place: OwnedSemaphorePermit,
}

impl Events {
    /// Begins behind `last_event_id`, if that is one of this process.
    pub(super) fn new(shared: Arc<Shared>, last_event_id: Option<&str>, place: OwnedSemaphorePermit) -> Self {
        let session = shared.history().session();
        let after = last_event_id.and_then(|id| number(id, session)).unwrap_or(0);
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { shared, after, has_begun: false, has_more: false, silent_times: 0, ticks, _place: place }
    }

    /// The event that each stream begins with.
    fn beginning(&self) -> String {
        let history = self.shared.history();
        let (limits, session) = (history.limits(), format!("{:x}", history.session()));
        let limits = json!({ "samples": limits.samples(), "sources": limits.sources() });
        let data = json!({ "session": session, "limits": limits, "description": self.shared.description });
        format!("retry: {}\nevent: start\ndata: {data}\n\n", RETRY.as_millis())
    }

    /// What is new.
    fn next(&mut self) -> Option<String> {
        let history = self.shared.history();
        let (last, items) = history.since(self.after, PIECE)?;
        self.after = last;
        self.has_more = items.len() > PIECE / 2;
        Some(format!("id: {:x}-{last}\nevent: items\ndata: {items}\n\n", history.session()))
    }
}

/// The number in an identifier of this session.
fn number(id: &str, session: u64) -> Option<u64> {
    let (of_session, number) = id.split_once('-')?;
    (u64::from_str_radix(of_session, 16) == Ok(session)).then(|| number.parse().ok()).flatten()
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let frame = |text: String| Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
        if !this.has_begun {
            this.has_begun = true;
            return frame(this.beginning());
        }
        loop {
            if !this.has_more {
                ready!(this.ticks.poll_tick(cx));
            }
            this.has_more = false;
            // Asked first: what comes between the two is told.
            let is_finished = this.shared.history().is_finished();
            if let Some(event) = this.next() {
                this.silent_times = 0;
                return frame(event);
            }
            if is_finished {
                return Poll::Ready(None);
            }
            this.silent_times += 1;
            if this.silent_times >= SILENT_TIMES {
                this.silent_times = 0;
                return frame(":\n\n".into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_counts_in_its_own_session() {
        assert_eq!(number("ff-12", 255), Some(12));
        for other in ["fe-12", "ff", "ff-", "-12", "ff-x", "ff-99999999999999999999", ""] {
            assert_eq!(number(other, 255), None, "{other}");
        }
    }
}
