//! FQ-CoDel: a queue for each flow, each with CoDel (RFC 8290).

use std::collections::VecDeque;

use headway_units::{Duration, Instant};

use super::control_law::{ControlLaw, Parameters};
use super::fifo::Fifo;
use super::{EnqueueResult, QueueDiscipline, QueueLimit};
use crate::{Frame, LinkCounters};

/// The number of queues that RFC 8290, section 5.2, has by default.
const FLOWS: usize = 1024;
/// The quantum that RFC 8290, section 5.2, has by default: a frame of Ethernet.
const QUANTUM: i64 = 1514;

/// Packets of different flows in queues of their own, chosen by a hash of [`Frame::flow`], that a deficit
/// round robin serves, those of new flows first; CoDel manages each queue (RFC 8290).
///
/// 1024 queues, a quantum of 1514 bytes. The limit holds for all queues together: beyond it the oldest packet
/// of the longest queue in bytes is dropped. As everywhere in a link, layer-2 overhead is not counted.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    limit: QueueLimit,
    /// So that which flows collide depends on the seed.
    perturbation: u64,
    queues: Vec<FlowQueue<P>>,
    new_queues: VecDeque<usize>,
    old_queues: VecDeque<usize>,
    packets: usize,
    bytes: u64,
    max_packet: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    fifo: Fifo<P>,
    control: ControlLaw,
    /// "byte credits": what it may still send in this round.
    credits: i64,
    /// Whether it is in a list.
    is_active: bool,
}

impl<P> FqCodel<P> {
    /// Empty queues; `target` and `interval` are 5 ms and 100 ms in the RFC. `perturbation` goes into the hash.
    pub fn new(limit: QueueLimit, target: Duration, interval: Duration, perturbation: u64) -> Self {
        let queue = || FlowQueue {
            fifo: Fifo::default(),
            control: ControlLaw::new(Parameters { target, interval }),
            credits: 0,
            is_active: false,
        };
        Self {
            limit,
            perturbation,
            queues: std::iter::repeat_with(queue).take(FLOWS).collect(),
            new_queues: VecDeque::new(),
            old_queues: VecDeque::new(),
            packets: 0,
            bytes: 0,
            max_packet: 0,
        }
    }

    /// The queue of a flow.
    fn place(&self, flow: u64) -> usize {
        // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
        let mut hash = flow ^ self.perturbation;
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((hash ^ (hash >> 31)) % FLOWS as u64) as usize
    }

    /// A packet goes to this queue: one that was not active becomes a new one.
    fn activate(&mut self, place: usize) {
        let queue = &mut self.queues[place];
        if !queue.is_active {
            queue.is_active = true;
            queue.credits = QUANTUM;
            self.new_queues.push_back(place);
        }
    }

    /// Drops the oldest packet of the longest queue: the place of that queue, and the packet.
    fn drop_from_longest(&mut self) -> Option<(usize, Frame<P>)> {
        // Of several the first, so that the choice is the same everywhere.
        let longest = (0..FLOWS).rev().max_by_key(|&place| self.queues[place].fifo.bytes())?;
        let (_, frame) = self.queues[longest].fifo.pop()?;
        self.packets -= 1;
        self.bytes -= frame.len as u64;
        Some((longest, frame))
    }
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Instant, frame: Frame<P>, counters: &mut LinkCounters) -> EnqueueResult<P> {
        let place = self.place(frame.flow);
        self.max_packet = self.max_packet.max(frame.len as u64);
        self.packets += 1;
        self.bytes += frame.len as u64;
        self.queues[place].fifo.push(now, frame);
        self.activate(place);
        while !self.limit.holds(self.packets, self.bytes) {
            let Some((longest, dropped)) = self.drop_from_longest() else { break };
            if longest == place && self.queues[place].fifo.is_empty() {
                // It was this packet, the last of its queue.
                return EnqueueResult::Dropped(dropped.packet);
            }
            counters.queue_drops += 1;
            counters.queue_left += 1;
        }
        EnqueueResult::Queued
    }

    /// RFC 8290, section 4.2.
    fn dequeue(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Frame<P>> {
        loop {
            // "the scheduler first looks at the list of new queues; ... if the list of new queues is empty, the
            // scheduler proceeds down the list of old queues"
            let is_new = !self.new_queues.is_empty();
            let list = if is_new { &mut self.new_queues } else { &mut self.old_queues };
            let place = *list.front()?;
            let queue = &mut self.queues[place];
            // "if that queue has a negative number of credits (i.e., it has already dequeued at least a quantum of
            // bytes), it is given an additional quantum of credits, the queue is put onto _the end of_ the list
            // of old queues"
            if queue.credits <= 0 {
                queue.credits += QUANTUM;
                list.pop_front();
                self.old_queues.push_back(place);
                continue;
            }
            let (packets, bytes) = (queue.fifo.len(), queue.fifo.bytes());
            let frame = queue.control.dequeue(now, &mut queue.fifo, self.max_packet, counters);
            self.packets -= packets - queue.fifo.len();
            self.bytes -= bytes - queue.fifo.bytes();
            let Some(frame) = frame else {
                // "If the queue was a new one ..., it is moved to the end of the list of old queues", so that a
                // flow cannot stay new by sending whenever its queue is empty.
                queue.control.on_empty();
                list.pop_front();
                if is_new {
                    self.old_queues.push_back(place);
                } else {
                    queue.is_active = false;
                }
                continue;
            };
            queue.credits -= frame.len as i64;
            return Some(frame);
        }
    }

    fn passes_idle(
        &mut self,
        _now: Instant,
        _idle_since: Instant,
        frame: &mut Frame<P>,
        _counters: &mut LinkCounters,
    ) -> bool {
        // The scheduler found every queue empty when the transmitter became idle.
        for list in [&mut self.new_queues, &mut self.old_queues] {
            for place in list.drain(..) {
                self.queues[place].is_active = false;
                self.queues[place].control.on_empty();
            }
        }
        self.max_packet = self.max_packet.max(frame.len as u64);
        let place = self.place(frame.flow);
        self.activate(place);
        self.queues[place].credits -= frame.len as i64;
        true
    }

    #[inline]
    fn len(&self) -> usize {
        self.packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        self.queues.iter().flat_map(|queue| queue.fifo.lengths())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::test_packets::{NOT_CAPABLE, frame, ms, us};

    fn queue_of(limit: QueueLimit) -> FqCodel<Vec<u8>> {
        FqCodel::new(limit, Duration::from_millis(5), Duration::from_millis(100), 1)
    }

    fn of_flow(flow: u64, id: u64, len: usize) -> Frame<Vec<u8>> {
        Frame { flow, ..frame(id, len, NOT_CAPABLE) }
    }

    fn flow_and_id(frame: Option<Frame<Vec<u8>>>) -> (u64, u8) {
        frame.map(|frame| (frame.flow, frame.packet[4])).expect("a packet")
    }

    #[test]
    fn a_sparse_flow_is_served_first() {
        let (mut queue, mut counters) = (queue_of(QueueLimit::Unlimited), LinkCounters::default());
        for id in 0..20 {
            let _ = queue.enqueue(ms(0), of_flow(1, id, 1500), &mut counters);
        }
        // The bulk flow has used its first quantum, so it is an old one.
        assert_eq!(flow_and_id(queue.dequeue(us(100), &mut counters)), (1, 0));
        assert_eq!(flow_and_id(queue.dequeue(us(200), &mut counters)), (1, 1));
        let _ = queue.enqueue(us(250), of_flow(2, 0, 100), &mut counters);
        assert_eq!(flow_and_id(queue.dequeue(us(300), &mut counters)), (2, 0));
        assert_eq!(flow_and_id(queue.dequeue(us(400), &mut counters)), (1, 2));
        // It has not sent for a round, but its queue is still known: it takes its turn as an old one.
        let _ = queue.enqueue(us(450), of_flow(2, 1, 100), &mut counters);
        assert_eq!(flow_and_id(queue.dequeue(us(500), &mut counters)), (2, 1));
    }

    /// Deficit round robin: flows of short and of long packets get the same bytes.
    #[test]
    fn flows_get_the_same_bytes() {
        let (mut queue, mut counters) = (queue_of(QueueLimit::Unlimited), LinkCounters::default());
        for id in 0..2000 {
            let _ = queue.enqueue(ms(0), of_flow(1, id, 1500), &mut counters);
            let _ = queue.enqueue(ms(0), of_flow(2, id, 300), &mut counters);
            let _ = queue.enqueue(ms(0), of_flow(3, id, 700), &mut counters);
        }
        let mut bytes = [0i64; 4];
        for tick in 0..1200 {
            let frame = queue.dequeue(us(tick), &mut counters).expect("a packet");
            bytes[frame.flow as usize] += frame.len as i64;
        }
        for flow in [2, 3] {
            assert!((bytes[flow] - bytes[1]).abs() <= QUANTUM + 1500, "{bytes:?}");
        }
    }

    #[test]
    fn the_longest_queue_pays_for_the_limit() {
        let (mut queue, mut counters) = (queue_of(QueueLimit::Packets(10)), LinkCounters::default());
        let _ = queue.enqueue(ms(0), of_flow(2, 0, 100), &mut counters);
        for id in 0..20 {
            assert!(matches!(
                queue.enqueue(ms(0), of_flow(1, id, 1500), &mut counters),
                EnqueueResult::Queued
            ));
            assert!(queue.len() <= 10);
        }
        assert_eq!((queue.len(), counters.queue_drops), (10, 11));
        let left: Vec<(u64, u8)> =
            (0..10).map(|_| flow_and_id(queue.dequeue(us(1), &mut counters))).collect();
        // The oldest of the long flow are gone.
        assert_eq!(left[..3], [(2, 0), (1, 11), (1, 12)]);
        assert!(queue.dequeue(us(1), &mut counters).is_none());
        assert_eq!((queue.len(), queue.bytes()), (0, 0));

        // With no room at all each packet comes back.
        let mut none = queue_of(QueueLimit::Packets(0));
        assert!(matches!(none.enqueue(ms(0), of_flow(1, 7, 100), &mut counters), EnqueueResult::Dropped(_)));
        assert_eq!((none.len(), none.bytes()), (0, 0));
    }

    #[test]
    fn queues_are_chosen_evenly() {
        let queue = queue_of(QueueLimit::Unlimited);
        let mut used = [0u32; FLOWS];
        for flow in 0..FLOWS as u64 * 100 {
            used[queue.place(flow)] += 1;
        }
        assert!(used.iter().all(|&flows| (55..150).contains(&flows)), "{used:?}");
    }

    /// What passes an idle link has its share of the quantum too.
    #[test]
    fn a_flow_pays_for_what_passes_an_idle_link() {
        for (passes, expected) in [(600, [1, 1, 2, 2, 2, 1]), (1300, [1, 2, 2, 2, 1, 1])] {
            let (mut queue, mut counters) = (queue_of(QueueLimit::Unlimited), LinkCounters::default());
            assert!(queue.passes_idle(ms(0), ms(0), &mut of_flow(1, 0, passes), &mut counters));
            for flow in [1, 2, 1, 2, 1, 2] {
                let _ = queue.enqueue(ms(0), of_flow(flow, flow, 600), &mut counters);
            }
            let left: Vec<u8> =
                std::iter::from_fn(|| Some(queue.dequeue(ms(1), &mut counters)?.packet[4])).collect();
            assert_eq!(left, expected, "{passes} bytes");
        }
    }
}
