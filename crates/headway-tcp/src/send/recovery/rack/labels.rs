//! Losses that were taken for damage, as long as the peer may show that what was lost arrived after all: by a D-SACK
//! block (RFC 2883), by acknowledging a transmission that was never repeated, or by what ends a spurious timeout.
//! Then the label is withdrawn in the [ledger](crate::path::ledger).

use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use super::Rack;
use crate::path::ledger::Label;
use crate::send::recovery::RecoveryContext;
use crate::send::sent_queue::SentQueue;

/// As many are kept; an older label stays what it is.
const MOST: usize = 1024;
/// And for so long, by which time no evidence is left that could be withdrawn.
const LASTS: Duration = Duration::from_secs(30);

/// A transmission that was taken for damaged.
pub(super) struct Labelled {
    start: SeqNumber,
    end: SeqNumber,
    /// Its number in the order of sending.
    order: u64,
    at: Instant,
    label: Label,
}

impl Labelled {
    pub(super) fn new(range: (SeqNumber, SeqNumber), order: u64, at: Instant, label: Label) -> Self {
        Self { start: range.0, end: range.1, order, at, label }
    }
}

/// See the module's documentation. In the order in which they were given.
#[derive(Default)]
pub(super) struct Labels {
    given: VecDeque<Labelled>,
}

impl Labels {
    pub(super) fn add(&mut self, labelled: Labelled) {
        let now = labelled.at;
        let is_old = |old: &Labelled| now.saturating_since(old.at) > LASTS;
        while self.given.len() >= MOST || self.given.front().is_some_and(is_old) {
            self.given.pop_front();
        }
        self.given.push_back(labelled);
    }

    /// A later transmission of the segment at `start` was lost to congestion: what a duplicate report means now is not
    /// known, and congestion is what it is asked about.
    pub(super) fn settle(&mut self, start: SeqNumber) {
        self.given.retain(|labelled| labelled.start != start);
    }

    /// The label that a report of `[start, end)` as a duplicate disproves: one at most, the latest, since one packet
    /// more arrived than was needed.
    fn take_duplicate(&mut self, start: SeqNumber, end: SeqNumber) -> Option<Labelled> {
        self.take_last(|labelled| labelled.start.ge(start) && labelled.end.le(end))
    }

    /// The label of that transmission.
    fn take_transmission(&mut self, order: u64) -> Option<Labelled> {
        self.take_last(|labelled| labelled.order == order)
    }

    /// A label that a timer gave at `at` to a segment that has not been retransmitted since.
    fn take_waiting(&mut self, at: Instant, queue: &SentQueue) -> Option<Labelled> {
        self.take_last(|labelled| {
            labelled.at == at
                && queue
                    .index_of(labelled.start)
                    .is_some_and(|index| queue.get(index).order == labelled.order)
        })
    }

    fn take_last(&mut self, is_meant: impl Fn(&Labelled) -> bool) -> Option<Labelled> {
        self.given.remove(self.given.iter().rposition(is_meant)?)
    }

    pub(super) fn allocated(&self) -> usize {
        size_of::<Self>() + self.given.capacity() * size_of::<Labelled>()
    }
}

impl Rack {
    /// A D-SACK block reports that `[start, end)` arrived twice. A connection believes that of one packet a block,
    /// and of ranges that it has labelled only.
    pub(super) fn withdraw_duplicate(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        start: SeqNumber,
        end: SeqNumber,
    ) {
        let labelled = self.labels.as_mut().and_then(|labels| labels.take_duplicate(start, end));
        if let Some(labelled) = labelled {
            self.withdraw(cx, labelled, true);
        }
    }

    /// These transmissions were acknowledged although they had been taken for lost, and no others of their segments
    /// had been sent.
    pub(super) fn withdraw_late(&mut self, cx: &mut RecoveryContext<'_>, late: &[u64]) {
        for &order in late {
            let labelled = self.labels.as_mut().and_then(|labels| labels.take_transmission(order));
            if let Some(labelled) = labelled {
                self.withdraw(cx, labelled, false);
            }
        }
    }

    /// The timeout at `at` was spurious: of what it took for damaged, nothing was lost.
    pub(super) fn withdraw_timeout(&mut self, cx: &mut RecoveryContext<'_>, at: Instant) {
        while let Some(labelled) = self.labels.as_mut().and_then(|labels| labels.take_waiting(at, cx.queue)) {
            self.withdraw(cx, labelled, false);
        }
    }

    /// `repeated`: a retransmission of it was reported as a duplicate.
    fn withdraw(&mut self, cx: &mut RecoveryContext<'_>, labelled: Labelled, repeated: bool) {
        let delay = cx.delay();
        if let Some(ledger) = &mut cx.ledger {
            ledger.withdraw(labelled.label, repeated, delay);
        }
        if self.labels.as_ref().is_some_and(|labels| labels.given.is_empty()) {
            self.labels = None;
        }
    }
}
