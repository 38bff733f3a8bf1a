//! What a connection contributes to header repair ([`crate::hack::repair`]).

use headway_units::Instant;
use headway_wire::Segment;

use super::{Connection, State};
use crate::hack::repair::{Expectations, Knowledge, Seal};

impl Connection {
    /// A data segment arrived whose header was vouched for.
    pub(super) fn record_header(&mut self, now: Instant, segment: &Segment<'_>) {
        if (self.profile.features.repair || self.negotiated.v2) && segment.carries_data() {
            self.headers.record(now, segment);
        }
    }

    /// What is known of the next data segment; `None` where a header is neither repaired nor counted.
    pub(crate) fn knowledge(&self, now: Instant) -> Option<Knowledge> {
        let repairs = self.profile.features.repair && self.negotiated.hack;
        if !(repairs || self.negotiated.v2) || self.state == State::Closed {
            return None;
        }
        let expectations = Expectations {
            repairs,
            ports: (self.ends.remote.port(), self.ends.local.port()),
            seal: if self.negotiated.v2 { Seal::V2 } else { Seal::Classic },
            tsval: self.negotiated.timestamps.then(|| self.tsval(now)),
            sack: self.negotiated.sack,
            sent: (self.snd.una(), self.snd.nxt()),
            max_send_window: self.snd.window().max(),
            receive: &self.rcv,
        };
        Some(self.headers.knowledge(now, &expectations))
    }
}
