//! The queue that a configuration asks for.

use headway_units::{Duration, Instant};

use super::red::Thresholds;
use super::{Aqm, Codel, DropTail, EnqueueResult, FqCodel, Pie, QueueDiscipline, Red};
use crate::{Frame, LinkConfig, LinkCounters, random::Streams};

/// Bytes of the packet whose transmission time RED counts idle time in.
const IDLE_PACKET: u64 = 1_500;

/// A queue of the discipline that [`LinkConfig::aqm`] names.
#[derive(Clone, Debug)]
pub enum ManagedQueue<P> {
    /// The plain queue.
    DropTail(DropTail<P>),
    /// CoDel.
    Codel(Codel<P>),
    /// FQ-CoDel.
    FqCodel(Box<FqCodel<P>>),
    /// PIE.
    Pie(Pie<P>),
    /// RED.
    Red(Red<P>),
}

impl<P> ManagedQueue<P> {
    /// An empty queue, as [`LinkConfig::aqm`], [`LinkConfig::queue`] and [`LinkConfig::mark`] say. All its
    /// randomness comes from `seed`.
    pub fn new(config: &LinkConfig, seed: u64) -> Self {
        let limit = config.queue;
        let mut random = Streams::new(seed).queue;
        match config.aqm {
            Aqm::None => Self::DropTail(DropTail::new(config)),
            Aqm::Codel { target, interval } => Self::Codel(Codel::new(limit, target, interval)),
            Aqm::FqCodel { target, interval } => {
                Self::FqCodel(Box::new(FqCodel::new(limit, target, interval, random.below(u64::MAX))))
            }
            Aqm::Pie { target } => Self::Pie(Pie::new(limit, target, random)),
            Aqm::Red { min, max, max_p } => {
                let bytes = IDLE_PACKET + u64::from(config.overhead);
                let packet_time =
                    config.nominal_rate().map_or(Duration::ZERO, |rate| rate.transmit_time(bytes));
                Self::Red(Red::new(limit, Thresholds { min, max, max_p }, packet_time, random))
            }
        }
    }
}

/// The same expression for whichever queue it is.
macro_rules! each {
    ($self:ident, $queue:ident => $what:expr) => {
        match $self {
            Self::DropTail($queue) => $what,
            Self::Codel($queue) => $what,
            Self::FqCodel($queue) => $what,
            Self::Pie($queue) => $what,
            Self::Red($queue) => $what,
        }
    };
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for ManagedQueue<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, frame: Frame<P>, counters: &mut LinkCounters) -> EnqueueResult<P> {
        each!(self, queue => queue.enqueue(now, frame, counters))
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Frame<P>> {
        each!(self, queue => queue.dequeue(now, counters))
    }

    #[inline]
    fn passes_idle(
        &mut self,
        now: Instant,
        idle_since: Instant,
        frame: &mut Frame<P>,
        counters: &mut LinkCounters,
    ) -> bool {
        each!(self, queue => queue.passes_idle(now, idle_since, frame, counters))
    }

    #[inline]
    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        let lengths: Box<dyn Iterator<Item = usize> + '_> = each!(self, queue => Box::new(queue.lengths()));
        lengths
    }
}
