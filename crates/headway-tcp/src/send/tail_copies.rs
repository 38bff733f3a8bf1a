//! Copies of the tail: what is in the network at the end of what there is to send is sent once more, where the path
//! damages packets, and in shared domains. Nothing that is sent later shows that the tail is lost, and its repair costs a round trip and more
//! each time ("Proactive" of Flach and others: "Reducing Web Latency: the Virtue of Gentle Aggression", SIGCOMM 2013,
//! which copies everything; here a budget bounds the copies to a small part of what is sent).
//!
//! A copy is the segment as it was sent. Only the original counts as in the network, with its time; its ACK may be that of the
//! copy, and is no sample of the round-trip time (Karn).

use headway_units::Duration;
use headway_wire::SeqNumber;

use super::SendSide;
use super::bundling::REACH;
use super::transmissions::TransmissionLog;
use super::transmit::DataSegment;

/// A tail has no more segments than this in the network.
const LONGEST: u32 = 32;

/// Which D-SACK blocks (RFC 2883) copies explain: as many as were sent, in ascending order.
#[derive(Clone, Copy)]
pub(super) struct Copied {
    /// Up to here they have been reported.
    reported: SeqNumber,
    end: SeqNumber,
    unreported: u8,
}

impl Copied {
    pub(super) fn none(iss: SeqNumber) -> Self {
        Self { reported: iss, end: iss, unreported: 0 }
    }

    /// Copies are sent again, from `una` on.
    fn begin(&mut self, una: SeqNumber) {
        if una.ge(self.end) {
            *self = Self::none(una);
        }
        self.reported = una;
    }

    fn add(&mut self, end: SeqNumber) {
        self.end = self.end.max(end);
        self.unreported = self.unreported.saturating_add(1);
    }

    /// Whether a copy explains that the peer has twice what ends at `end`.
    pub(super) fn explain(&mut self, end: SeqNumber) -> bool {
        let explains = self.unreported > 0 && end.gt(self.reported) && end.le(self.end);
        if explains {
            self.reported = end;
            self.unreported -= 1;
        }
        explains
    }

    /// `SND.UNA` moved: numbers wrap.
    pub(super) fn advance(&mut self, una: SeqNumber) {
        if self.end.lt(una - REACH) {
            *self = Self::none(una);
        }
    }
}

impl SendSide {
    /// How long after the last transmission the tail is copied: the sooner, the likelier one burst of damage hits both;
    /// what is written until then makes it no tail. `None`: what is in the network is no tail.
    pub(crate) fn tail_copy_delay(&self) -> Option<Duration> {
        const SHORTEST: Duration = Duration::from_millis(1);
        let is_tail = !self.has_data_to_send() && self.queue.pipe() <= LONGEST * self.mss;
        is_tail.then(|| (self.rtt.smoothed() / 8).max(SHORTEST))
    }

    /// Everything in the network that was not copied is to be.
    pub(crate) fn begin_tail_copies(&mut self) {
        self.copied.begin(self.una);
        if let Some(log) = self.queue.log_mut() {
            log.begin_copies();
        }
    }

    /// Nothing that has been sent so far is copied any more.
    pub(crate) fn end_tail_copies(&mut self) {
        if let Some(log) = self.queue.log_mut() {
            log.end_copies();
        }
    }

    /// Whether copies are to be sent.
    pub(crate) fn has_tail_copies(&self) -> bool {
        self.queue.log().is_some_and(TransmissionLog::has_copies)
    }

    /// How many bytes are in the network and were not copied.
    pub(crate) fn uncopied(&self) -> u32 {
        self.queue.log().map_or(0, TransmissionLog::uncopied)
    }

    /// Takes the segment that is to be copied next.
    pub(crate) fn next_tail_copy(&mut self) -> Option<DataSegment> {
        if self.tail_copy_delay().is_none() {
            self.end_tail_copies();
        }
        let index = loop {
            let sent = self.queue.log_mut()?.take_copy()?;
            if let Some(index) = self.queue.segment_of(&sent) {
                break index;
            }
        };
        self.queue.mark_copied(index);
        let segment = self.segment_at(index);
        self.copied.add(segment.seq + segment.len);
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use headway_units::Instant;

    use super::*;
    use crate::Profile;
    use crate::send::NextSegment;

    fn sender() -> SendSide {
        let mut side = SendSide::new(SeqNumber(0), &Arc::new(Profile::modern()), Instant::ZERO);
        (side.una, side.nxt, side.mss) = (SeqNumber(1), SeqNumber(1), 1000);
        side
    }

    fn send(side: &mut SendSide, segments: usize) {
        for _ in 0..segments {
            side.write(&[0; 1000]);
            let next = NextSegment { len: 1000, fin: false, unsent: 1000, usable: 1000, mss: 1000 };
            side.send(&next, Instant::ZERO, 0);
        }
    }

    fn copies(side: &mut SendSide) -> Vec<u32> {
        side.begin_tail_copies();
        core::iter::from_fn(|| side.next_tail_copy()).map(|segment| segment.seq.0).collect()
    }

    #[test]
    fn each_transmission_of_a_tail_is_copied_once() {
        let mut side = sender();
        send(&mut side, 3);
        side.take_sack_blocks(&[(SeqNumber(1001), SeqNumber(2001))], SeqNumber(1));
        assert_eq!(copies(&mut side), [1, 2001]);
        send(&mut side, 1);
        assert_eq!(copies(&mut side), [3001]);
        // The peer reports below its ACK what it has twice. Of the second segment there is no copy.
        let duplicates = [1, 1, 1001, 3001, 3001].map(|start| {
            side.take_sack_blocks(&[(SeqNumber(start), SeqNumber(start + 1000))], SeqNumber(5001));
            side.sacks.has_duplicate()
        });
        assert_eq!(duplicates, [false, true, false, false, true], "one for each copy, or in its place");
        assert!(copies(&mut side).is_empty());
    }

    #[test]
    fn more_than_a_tail_is_not_copied() {
        let mut side = sender();
        send(&mut side, LONGEST as usize + 1);
        assert!(side.tail_copy_delay().is_none() && copies(&mut side).is_empty());
    }

    #[test]
    fn what_follows_ends_the_copies() {
        let mut side = sender();
        send(&mut side, 2);
        side.begin_tail_copies();
        assert!(side.next_tail_copy().is_some());
        side.write(&[0; 10]);
        assert!(side.next_tail_copy().is_none() && !side.has_tail_copies());
    }
}
