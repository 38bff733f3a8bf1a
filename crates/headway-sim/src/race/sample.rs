//! The state of a run at a moment, for those who watch it.

use headway_tcp::ledger::Attributed;
use headway_tcp::{Observer, Statistics};
use headway_units::{Duration, Instant};

use super::arena::Arena;
use crate::network::Tap;

/// What a run is like at a moment. Counts begin with the run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// When, from the beginning of the run.
    pub at: Duration,
    /// Bytes that the receiver of the flow that is raced has delivered in order.
    pub delivered_bytes: u64,
    /// Packets in the queue of the forward link, of all flows; of several hops in all queues.
    pub queue_packets: usize,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Packets that did not pass the forward link unharmed, of all flows; of several hops on all of them.
    pub losses: LinkLosses,
    /// What the sender's connection counted.
    pub sender: Statistics,
    /// What the sender took losses for.
    pub causes: LossCauses,
}

/// Packets that did not pass a link unharmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkLosses {
    /// Dropped in front of the transmitter, by the queue or the policer.
    pub queue_drops: u64,
    /// Transmissions that were damaged.
    pub damaged: u64,
    /// Lost without a trace.
    pub lost: u64,
}

/// Segments that did not arrive intact, by the cause that the sender's ledger found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LossCauses {
    /// Damage: reported by the receiver, or taken for it.
    pub damage: u64,
    /// Congestion.
    pub congestion: u64,
    /// No evidence: answered like congestion.
    pub unknown: u64,
}

/// Sees samples of a run: the first that can be had at or after each time that it names. It cannot change the run.
/// `()` wants none and costs nothing.
pub trait Sampler {
    /// Whether samples are wanted at all.
    const ENABLED: bool = true;

    /// When the next sample is wanted, from the beginning of the run.
    fn next(&self) -> Duration;

    /// A sample. The one at the end of the run comes whether it is wanted or not.
    fn sample(&mut self, sample: &Sample);
}

impl Sampler for () {
    const ENABLED: bool = false;
    fn next(&self) -> Duration {
        Duration::MAX
    }
    fn sample(&mut self, _sample: &Sample) {}
}

impl<S: Sampler> Sampler for Option<S> {
    const ENABLED: bool = S::ENABLED;

    fn next(&self) -> Duration {
        self.as_ref().map_or(Duration::MAX, S::next)
    }

    fn sample(&mut self, sample: &Sample) {
        if let Some(sampler) = self {
            sampler.sample(sample);
        }
    }
}

/// The samples of a run: when the run began, and what had been counted then.
pub(super) struct Sampling<'a, S> {
    sampler: &'a mut S,
    start: Instant,
    losses: LinkLosses,
    causes: LossCauses,
}

impl<'a, S: Sampler> Sampling<'a, S> {
    /// The run begins now.
    pub(super) fn begin<O: Observer + 'static, T: Tap>(sampler: &'a mut S, arena: &Arena<O, T>) -> Self {
        Self { sampler, start: arena.network.now(), losses: losses(arena), causes: causes(arena) }
    }

    /// An event has happened.
    #[inline]
    pub(super) fn after_event<O: Observer + 'static, T: Tap>(&mut self, arena: &Arena<O, T>) {
        if S::ENABLED && arena.network.now().saturating_since(self.start) >= self.sampler.next() {
            self.sample(arena);
        }
    }

    /// The run is over.
    pub(super) fn end<O: Observer + 'static, T: Tap>(mut self, arena: &Arena<O, T>) {
        if S::ENABLED {
            self.sample(arena);
        }
    }

    fn sample<O: Observer + 'static, T: Tap>(&mut self, arena: &Arena<O, T>) {
        let queues = arena.forward.iter().map(|&link| arena.network.link_queue(link));
        let (queue_packets, queue_bytes) =
            queues.fold((0, 0), |sum, queue| (sum.0 + queue.0, sum.1 + queue.1));
        let (losses, causes) = (losses(arena), causes(arena));
        self.sampler.sample(&Sample {
            at: arena.network.now().saturating_since(self.start),
            delivered_bytes: arena.receiver(0).report().delivered,
            queue_packets,
            queue_bytes,
            losses: LinkLosses {
                queue_drops: losses.queue_drops - self.losses.queue_drops,
                damaged: losses.damaged - self.losses.damaged,
                lost: losses.lost - self.losses.lost,
            },
            sender: arena.sender(0).statistics(arena.network.host(arena.flows[0].sender).0),
            causes: LossCauses {
                damage: causes.damage.saturating_sub(self.causes.damage),
                congestion: causes.congestion.saturating_sub(self.causes.congestion),
                unknown: causes.unknown.saturating_sub(self.causes.unknown),
            },
        });
    }
}

fn losses<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> LinkLosses {
    arena.forward.iter().fold(LinkLosses::default(), |sum, &link| {
        let link = arena.network.link_counters(link);
        LinkLosses {
            queue_drops: sum.queue_drops + link.queue_drops,
            damaged: sum.damaged + link.hit,
            lost: sum.lost + link.lost,
        }
    })
}

/// The path is forgotten with its last connection.
fn causes<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> LossCauses {
    let Attributed { reported, damage, congestion, unknown, .. } = arena.attributed();
    LossCauses { damage: reported + damage, congestion, unknown }
}
