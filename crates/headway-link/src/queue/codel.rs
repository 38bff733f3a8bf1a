//! CoDel: controlled delay (RFC 8289).

use headway_units::{Duration, Instant};

use super::control_law::{ControlLaw, Parameters};
use super::fifo::{Fifo, waiting_in_fifo};
use super::{EnqueueResult, QueueDiscipline, QueueLimit};
use crate::{Frame, LinkCounters};

/// One queue from which packets are dropped, or marked, once none has waited less than a target for an
/// interval, ever more often until the delay falls below the target (RFC 8289).
///
/// It decides when a packet leaves. What finds the queue at its limit is dropped too. The RFC's "maxpacket" is
/// the longest packet so far.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    limit: QueueLimit,
    control: ControlLaw,
    fifo: Fifo<P>,
    max_packet: u64,
}

impl<P> Codel<P> {
    /// An empty queue of this limit; `target` and `interval` are 5 ms and 100 ms in the RFC.
    pub fn new(limit: QueueLimit, target: Duration, interval: Duration) -> Self {
        let control = ControlLaw::new(Parameters { target, interval });
        Self { limit, control, fifo: Fifo::default(), max_packet: 0 }
    }
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for Codel<P> {
    fn enqueue(&mut self, now: Instant, frame: Frame<P>, _counters: &mut LinkCounters) -> EnqueueResult<P> {
        self.max_packet = self.max_packet.max(frame.len as u64);
        if !self.limit.admits(self.fifo.len(), self.fifo.bytes(), frame.len) {
            return EnqueueResult::Dropped(frame.packet);
        }
        self.fifo.push(now, frame);
        EnqueueResult::Queued
    }

    fn dequeue(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Frame<P>> {
        self.control.dequeue(now, &mut self.fifo, self.max_packet, counters)
    }

    fn passes_idle(
        &mut self,
        _now: Instant,
        _idle_since: Instant,
        frame: &mut Frame<P>,
        _counters: &mut LinkCounters,
    ) -> bool {
        self.max_packet = self.max_packet.max(frame.len as u64);
        self.control.on_empty();
        true
    }

    waiting_in_fifo!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::test_packets::{CAPABLE, NOT_CAPABLE, frame, ms};

    fn codel() -> Codel<Vec<u8>> {
        Codel::new(QueueLimit::Unlimited, Duration::from_millis(5), Duration::from_millis(100))
    }

    /// Drops of a queue that one packet enters and one leaves each 100 us, after `backlog` packets at once: an
    /// unresponsive flow, whose queue stands.
    fn drops_of_standing_queue(backlog: u64, until: u64) -> Vec<u64> {
        let (mut queue, mut counters) = (codel(), LinkCounters::default());
        for id in 0..backlog {
            assert!(matches!(
                queue.enqueue(ms(0), frame(id, 1000, NOT_CAPABLE), &mut counters),
                EnqueueResult::Queued
            ));
        }
        let mut drops = Vec::new();
        for tick in 1..=until * 10 {
            let now = Instant::from_nanos(tick * 100_000);
            // Enough for what is dropped too, so that only the law decides.
            for id in 0..3 {
                let _ = queue.enqueue(now, frame(id, 1000, NOT_CAPABLE), &mut counters);
            }
            let before = counters.queue_drops;
            assert!(queue.dequeue(now, &mut counters).is_some());
            drops.extend((before..counters.queue_drops).map(|_| tick));
        }
        drops
    }

    /// RFC 8289, section 5.6: the first drop when the delay has been above the target for an interval, the
    /// following at interval / sqrt(count).
    #[test]
    fn drops_follow_the_inverse_square_root() {
        // All packets have waited more than 5 ms from tick 50 on, so the interval ends at tick 1050.
        let drops = drops_of_standing_queue(1000, 600);
        let mut expected = vec![1050u64];
        let mut next = 1050.0;
        for count in 1u32.. {
            next += 1000.0 / f64::from(count).sqrt();
            if next > 6000.0 {
                break;
            }
            expected.push(next.ceil() as u64);
        }
        assert_eq!(drops, expected);
        assert_eq!(drops[..4], [1050, 2050, 2758, 3335]);
    }

    #[test]
    fn a_short_burst_passes() {
        let (mut queue, mut counters) = (codel(), LinkCounters::default());
        for id in 0..500 {
            let _ = queue.enqueue(ms(0), frame(id, 1000, NOT_CAPABLE), &mut counters);
        }
        // 500 packets in 100 ms: above the target from 5 ms on, for 95 ms.
        for id in 0..500u64 {
            let now = Instant::from_nanos(id * 200_000);
            assert_eq!(queue.dequeue(now, &mut counters).map(|frame| frame.packet[4]), Some(id as u8));
        }
        assert_eq!(counters.queue_drops, 0);
        assert!(queue.dequeue(ms(100), &mut counters).is_none());
    }

    /// "bytes() <= maxpacket": the last packet is never dropped, however long it waited.
    #[test]
    fn the_last_packet_is_never_dropped() {
        let (mut queue, mut counters) = (codel(), LinkCounters::default());
        for second in 0..10 {
            let _ = queue.enqueue(ms(1000 * second), frame(0, 1000, NOT_CAPABLE), &mut counters);
            assert!(queue.dequeue(ms(1000 * second + 900), &mut counters).is_some());
        }
        assert_eq!(counters.queue_drops, 0);
    }

    #[test]
    fn capable_packets_are_marked_at_the_times_of_the_drops() {
        let (mut queue, mut counters) = (codel(), LinkCounters::default());
        for id in 0..10_000 {
            let _ = queue.enqueue(ms(0), frame(id, 1000, CAPABLE), &mut counters);
        }
        let mut marks = Vec::new();
        for tick in 1..=6000u64 {
            let mut frame =
                queue.dequeue(Instant::from_nanos(tick * 100_000), &mut counters).expect("a packet");
            if frame.bytes_mut()[1] & 3 == 3 {
                marks.push(tick);
            }
        }
        assert_eq!(marks, drops_of_standing_queue(1000, 600));
        assert_eq!((counters.marked, counters.queue_drops), (marks.len() as u64, 0));
    }

    /// A queue that comes back soon starts with the drop rate that controlled it before.
    #[test]
    fn a_cycle_remembers_the_rate_of_the_last() {
        let (mut queue, mut counters) = (codel(), LinkCounters::default());
        let fill = |queue: &mut Codel<Vec<u8>>, at: u64, counters: &mut LinkCounters| {
            for id in 0..3000 {
                let _ = queue.enqueue(ms(at), frame(id, 1000, NOT_CAPABLE), counters);
            }
        };
        fill(&mut queue, 0, &mut counters);
        for tick in 1..=300 {
            let _ = queue.dequeue(ms(2 * tick), &mut counters);
        }
        // 105, 205, 275.7, 333.4, 383.4, 428.2, 469.0, 506.8, 542.1, 575.5 ms.
        assert_eq!(counters.queue_drops, 10);
        while queue.len() > 0 {
            let _ = queue.dequeue(ms(600), &mut counters);
        }
        let first = counters.queue_drops;
        fill(&mut queue, 700, &mut counters);
        for tick in 1..=100 {
            let _ = queue.dequeue(ms(700 + 2 * tick), &mut counters);
        }
        // One drop at 806 ms; at the rate of the last cycle the next comes within 100 ms / sqrt(9).
        assert!(counters.queue_drops >= first + 3, "{}", counters.queue_drops - first);
    }

    /// A packet that finds the link idle counts for "maxpacket": no more bytes than it has are a standing queue.
    #[test]
    fn what_passes_an_idle_link_may_be_the_longest() {
        for (idle_len, drops) in [(1500, 0), (1499, 1)] {
            let (mut queue, mut counters) = (codel(), LinkCounters::default());
            assert!(queue.passes_idle(ms(0), ms(0), &mut frame(0, idle_len, NOT_CAPABLE), &mut counters));
            for id in 0..4 {
                let _ = queue.enqueue(ms(0), frame(id, 500, NOT_CAPABLE), &mut counters);
            }
            assert!(queue.dequeue(ms(10), &mut counters).is_some());
            let _ = queue.enqueue(ms(10), frame(4, 500, NOT_CAPABLE), &mut counters);
            // Both times 1500 bytes are left, an interval apart.
            assert!(queue.dequeue(ms(120), &mut counters).is_some());
            assert_eq!(counters.queue_drops, drops, "{idle_len}");
        }
    }
}
