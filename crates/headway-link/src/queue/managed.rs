//! The queue that a configuration asks for.

use headway_units::{Duration, Instant};

use super::red::Thresholds;
use super::{Aqm, Codel, DropTail, EnqueueResult, FqCodel, Pie, QueueDiscipline, Red};
use crate::{Frame, LinkConfig, LinkCounters, random::Streams};

/// Bytes of the packet whose transmission time RED counts idle time in.
const IDLE_PACKET: u64 = 1_500;

/// A queue of the discipline that [`LinkConfig::aqm`] names.
#[derive(Clone, Debug)]
pub struct ManagedQueue<P>(PacketQueue<P>);

/// The plain queue apart from the others: most links have it, and every packet passes through several of its
/// functions. So these are inlined, and those of the others are not.
#[derive(Clone, Debug)]
enum PacketQueue<P> {
    DropTail(DropTail<P>),
    Active(Box<Active<P>>),
}

/// A queue that drops or marks before it is full.
#[derive(Clone, Debug)]
enum Active<P> {
    Codel(Codel<P>),
    FqCodel(FqCodel<P>),
    Pie(Pie<P>),
    Red(Red<P>),
}

impl<P> ManagedQueue<P> {
    /// An empty queue, as [`LinkConfig::aqm`], [`LinkConfig::queue`] and [`LinkConfig::mark`] say. All its
    /// randomness comes from `seed`.
    pub fn new(config: &LinkConfig, seed: u64) -> Self {
        let limit = config.queue;
        let random = || Streams::new(seed).queue;
        let active = match config.aqm {
            Aqm::None => return Self(PacketQueue::DropTail(DropTail::new(config))),
            Aqm::Codel { target, interval } => Active::Codel(Codel::new(limit, target, interval)),
            Aqm::FqCodel { target, interval } => {
                Active::FqCodel(FqCodel::new(limit, target, interval, random().below(u64::MAX)))
            }
            Aqm::Pie { target } => Active::Pie(Pie::new(limit, target, random())),
            Aqm::Red { min, max, max_p } => {
                let bytes = IDLE_PACKET + u64::from(config.overhead);
                let packet_time =
                    config.nominal_rate().map_or(Duration::ZERO, |rate| rate.transmit_time(bytes));
                Active::Red(Red::new(limit, Thresholds { min, max, max_p }, packet_time, random()))
            }
        };
        Self(PacketQueue::Active(Box::new(active)))
    }
}

/// The same expression for whichever queue it is.
macro_rules! either {
    ($self:ident, $queue:ident => $what:expr) => {
        match $self {
            ManagedQueue(PacketQueue::DropTail($queue)) => $what,
            ManagedQueue(PacketQueue::Active($queue)) => $what,
        }
    };
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for ManagedQueue<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, frame: Frame<P>, counters: &mut LinkCounters) -> EnqueueResult<P> {
        either!(self, queue => queue.enqueue(now, frame, counters))
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Frame<P>> {
        either!(self, queue => queue.dequeue(now, counters))
    }

    #[inline]
    fn passes_idle(
        &mut self,
        now: Instant,
        idle_since: Instant,
        frame: &mut Frame<P>,
        counters: &mut LinkCounters,
    ) -> bool {
        either!(self, queue => queue.passes_idle(now, idle_since, frame, counters))
    }

    #[inline]
    fn len(&self) -> usize {
        either!(self, queue => queue.len())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        either!(self, queue => queue.bytes())
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        let lengths: Box<dyn Iterator<Item = usize> + '_> = either!(self, queue => Box::new(queue.lengths()));
        lengths
    }
}

/// As [`either`], for the active ones.
macro_rules! each {
    ($self:ident, $queue:ident => $what:expr) => {
        match $self {
            Active::Codel($queue) => $what,
            Active::FqCodel($queue) => $what,
            Active::Pie($queue) => $what,
            Active::Red($queue) => $what,
        }
    };
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for Active<P> {
    #[inline(never)]
    fn enqueue(&mut self, now: Instant, frame: Frame<P>, counters: &mut LinkCounters) -> EnqueueResult<P> {
        each!(self, queue => queue.enqueue(now, frame, counters))
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Frame<P>> {
        each!(self, queue => queue.dequeue(now, counters))
    }

    #[inline(never)]
    fn passes_idle(
        &mut self,
        now: Instant,
        idle_since: Instant,
        frame: &mut Frame<P>,
        counters: &mut LinkCounters,
    ) -> bool {
        each!(self, queue => queue.passes_idle(now, idle_since, frame, counters))
    }

    #[inline(never)]
    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    #[inline(never)]
    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        let lengths: Box<dyn Iterator<Item = usize> + '_> = each!(self, queue => Box::new(queue.lengths()));
        lengths
    }
}
