//! The plain queue: first in, first out, and what finds it full is dropped.

use std::collections::VecDeque;

use headway_units::Instant;

use super::mark::mark;
use super::{EnqueueResult, QueueDiscipline, QueueLimit};
use crate::{Frame, LinkConfig, LinkCounters};

/// A drop-tail queue. A packet that finds it longer than a threshold can be marked (RFC 3168).
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    limit: QueueLimit,
    mark: Option<QueueLimit>,
    waiting: VecDeque<Frame<P>>,
    bytes: u64,
}

impl<P> DropTail<P> {
    /// An empty queue, as [`LinkConfig::queue`] and [`LinkConfig::mark`] say.
    pub fn new(config: &LinkConfig) -> Self {
        Self { limit: config.queue, mark: config.mark, waiting: VecDeque::new(), bytes: 0 }
    }

    #[inline]
    fn has_room(&self, limit: QueueLimit, len: usize) -> bool {
        limit.admits(self.waiting.len(), self.bytes, len)
    }
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for DropTail<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Instant,
        mut frame: Frame<P>,
        counters: &mut LinkCounters,
    ) -> EnqueueResult<P> {
        if !self.has_room(self.limit, frame.len) {
            return EnqueueResult::Dropped(frame.packet);
        }
        if let Some(threshold) = self.mark
            && !self.has_room(threshold, frame.len)
            && mark(frame.bytes_mut())
        {
            counters.marked += 1;
        }
        self.bytes += frame.len as u64;
        self.waiting.push_back(frame);
        EnqueueResult::Queued
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _counters: &mut LinkCounters) -> Option<Frame<P>> {
        let frame = self.waiting.pop_front()?;
        self.bytes -= frame.len as u64;
        Some(frame)
    }

    #[inline]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().map(|frame| frame.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::test_packets::{CAPABLE, NOT_CAPABLE, frame, ms};

    /// Packets that find as many as the threshold are marked if they can be, those before them are not.
    #[test]
    fn what_finds_the_queue_beyond_the_threshold_is_marked() {
        let config = LinkConfig {
            queue: QueueLimit::Packets(5),
            mark: Some(QueueLimit::Packets(2)),
            ..LinkConfig::default()
        };
        let (mut queue, mut counters) = (DropTail::new(&config), LinkCounters::default());
        for (id, tos) in [CAPABLE, CAPABLE, CAPABLE, NOT_CAPABLE, CAPABLE, CAPABLE].into_iter().enumerate() {
            let result = queue.enqueue(ms(0), frame(id as u64, 100, tos), &mut counters);
            assert_eq!(matches!(result, EnqueueResult::Queued), id < 5, "{id}");
        }
        assert_eq!((counters.marked, queue.len(), queue.bytes()), (2, 5, 500));
        let mut left = Vec::new();
        while let Some(frame) = queue.dequeue(ms(1), &mut counters) {
            left.push(frame.packet[1]);
        }
        assert_eq!((left, queue.bytes()), (vec![CAPABLE, CAPABLE, 3, NOT_CAPABLE, 3], 0));
    }
}
