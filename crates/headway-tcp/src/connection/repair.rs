//! What a connection contributes to header repair ([`crate::hack::repair`]).

use headway_units::Instant;
use headway_wire::Segment;

use super::{Connection, State};
use crate::hack::repair::{Expectations, Knowledge, Seal};

impl Connection {
    /// A data segment arrived whose header was vouched for.
    pub(super) fn record_header(&mut self, now: Instant, segment: &Segment<'_>) {
        if self.profile.features.repair && !segment.payload.is_empty() {
            self.headers.record(now, segment);
        }
    }

    /// What is known of the next data segment; `None` where nothing may be repaired.
    pub(crate) fn knowledge(&self, now: Instant) -> Option<Knowledge> {
        if !self.profile.features.repair || !self.negotiated.hack || self.state == State::Closed {
            return None;
        }
        let expectations = Expectations {
            ports: (self.ends.remote.port(), self.ends.local.port()),
            seal: if self.negotiated.v2 { Seal::V2 } else { Seal::Classic },
            tsval: self.negotiated.timestamps.then(|| self.tsval(now)),
            sack: self.negotiated.sack,
            sent: (self.snd.una(), self.snd.nxt()),
            max_send_window: self.snd.window().max(),
            receive: &self.rcv,
        };
        self.headers.knowledge(now, &expectations)
    }
}
