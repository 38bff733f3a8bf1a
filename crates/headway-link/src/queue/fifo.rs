//! Packets in the order in which they came, each with the time.

use std::collections::VecDeque;

use headway_units::{Duration, Instant};

use crate::Frame;

/// A first-in-first-out queue without a limit whose packets have timestamps.
#[derive(Clone, Debug)]
pub(super) struct Fifo<P> {
    waiting: VecDeque<(Instant, Frame<P>)>,
    bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0 }
    }
}

impl<P> Fifo<P> {
    pub(super) fn push(&mut self, now: Instant, frame: Frame<P>) {
        self.bytes += frame.len as u64;
        self.waiting.push_back((now, frame));
    }

    /// The oldest packet, and when it came.
    pub(super) fn pop(&mut self) -> Option<(Instant, Frame<P>)> {
        let (at, frame) = self.waiting.pop_front()?;
        self.bytes -= frame.len as u64;
        Some((at, frame))
    }

    /// How long the oldest packet has waited; zero if none waits.
    pub(super) fn head_delay(&self, now: Instant) -> Duration {
        self.waiting.front().map_or(Duration::ZERO, |(at, _)| now.saturating_since(*at))
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().map(|(_, frame)| frame.len)
    }
}

/// What a [`QueueDiscipline`](super::QueueDiscipline) says of the packets that wait, where all wait in the [`Fifo`] that
/// is its field `fifo`.
macro_rules! waiting_in_fifo {
    () => {
        #[inline]
        fn len(&self) -> usize {
            self.fifo.len()
        }

        #[inline]
        fn bytes(&self) -> u64 {
            self.fifo.bytes()
        }

        fn lengths(&self) -> impl Iterator<Item = usize> {
            self.fifo.lengths()
        }
    };
}
pub(super) use waiting_in_fifo;
