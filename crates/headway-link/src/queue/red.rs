//! RED: random early detection (Floyd and Jacobson 1993), gentle (Floyd 2000).

use headway_units::{Duration, Instant, Share};

use super::fifo::{Fifo, waiting_in_fifo};
use super::mark::mark_capable;
use super::{EnqueueResult, QueueDiscipline, QueueLimit};
use crate::{Frame, LinkCounters, random::Stream};

/// Fractions are out of 2^32.
const SHIFT: u32 = 32;
const ONE: i64 = 1 << SHIFT;
/// The weight of the average is 2^-9: the paper's 0.002 as a power of two, as its section 11 advises.
const WEIGHT_SHIFT: u32 = 9;

/// Thresholds of [`Red`], in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thresholds {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) max_p: Share,
}

/// One queue whose arrivals are dropped, or marked, with a probability that grows with the average length of
/// the queue (S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
/// Transactions on Networking 1(4), 1993; the names are those of its figure 2).
///
/// Lengths are in packets, whatever the limit counts. Between the upper threshold and twice of it the
/// probability grows from the greatest one to 1 ("gentle", Floyd 2000). Above the upper threshold packets are
/// dropped and not marked (RFC 3168, section 7). While the link is idle the average decays as if packets of
/// 1500 bytes had passed an empty queue.
#[derive(Clone, Debug)]
pub struct Red<P> {
    limit: QueueLimit,
    fifo: Fifo<P>,
    estimate: Estimate,
    random: Stream,
}

#[derive(Clone, Debug)]
struct Estimate {
    min: i64,
    max: i64,
    max_p: i64,
    /// The time that a packet takes: "s, a typical transmission time".
    packet_time: u64,
    avg: i64,
    /// Packets since the last drop or mark; -1 below the lower threshold.
    count: i64,
}

/// What RED says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedDecision {
    Pass,
    /// By chance, while the average is between the thresholds.
    Notify,
    /// Above them.
    Drop,
}

impl Estimate {
    fn new(thresholds: Thresholds, packet_time: Duration) -> Self {
        let min = i64::from(thresholds.min) << SHIFT;
        Self {
            min,
            max: (i64::from(thresholds.max) << SHIFT).max(min + 1),
            max_p: (thresholds.max_p.value() * ONE as f64) as i64,
            packet_time: packet_time.as_nanos(),
            avg: 0,
            count: -1,
        }
    }

    /// A packet arrives and finds `queued` packets.
    fn on_arrival(&mut self, queued: usize) {
        // "avg <- (1 - w_q) avg + w_q q"
        let queued = (queued.min(1 << 30) as i64) << SHIFT;
        self.avg += (queued - self.avg) >> WEIGHT_SHIFT;
    }

    /// A packet arrives and finds the link idle for this long.
    fn on_idle_arrival(&mut self, idle: Duration) {
        // "m <- f(time - q_time); avg <- (1 - w_q)^m avg"
        let mut m = idle.as_nanos() / self.packet_time.max(1);
        let mut base = i128::from(ONE - (ONE >> WEIGHT_SHIFT));
        let mut avg = i128::from(self.avg);
        while m > 0 && avg > 0 {
            if m & 1 == 1 {
                avg = (avg * base) >> SHIFT;
            }
            base = (base * base) >> SHIFT;
            m >>= 1;
        }
        self.avg = avg as i64;
    }

    /// What becomes of an arrival, once the average is that of its time.
    fn judge(&mut self, random: &mut Stream) -> RedDecision {
        if self.avg < self.min {
            self.count = -1;
            return RedDecision::Pass;
        }
        self.count += 1;
        let p_b = if self.avg < self.max {
            part(self.max_p, self.avg - self.min, self.max - self.min)
        } else if self.avg < 2 * self.max {
            self.max_p + part(ONE - self.max_p, self.avg - self.max, self.max)
        } else {
            ONE
        };
        // "p_a <- p_b / (1 - count p_b)"
        let rest = ONE - self.count.saturating_mul(p_b);
        let notifies = rest <= p_b || (random.below(ONE as u64) as i64) < part(p_b, ONE, rest);
        if !notifies {
            return RedDecision::Pass;
        }
        self.count = 0;
        if self.avg < self.max { RedDecision::Notify } else { RedDecision::Drop }
    }
}

/// `of` times `numerator / denominator`.
fn part(of: i64, numerator: i64, denominator: i64) -> i64 {
    (i128::from(of) * i128::from(numerator) / i128::from(denominator)) as i64
}

impl<P> Red<P> {
    /// An empty queue of this limit, before a link that transmits a packet in `packet_time`.
    pub(crate) fn new(
        limit: QueueLimit,
        thresholds: Thresholds,
        packet_time: Duration,
        random: Stream,
    ) -> Self {
        Self { limit, fifo: Fifo::default(), estimate: Estimate::new(thresholds, packet_time), random }
    }

    /// Whether an arrival passes: it may be marked instead of dropped.
    fn passes(&mut self, frame: &mut Frame<P>, counters: &mut LinkCounters) -> bool
    where
        P: AsMut<[u8]>,
    {
        match self.estimate.judge(&mut self.random) {
            RedDecision::Pass => true,
            RedDecision::Notify => mark_capable(frame, counters),
            RedDecision::Drop => false,
        }
    }
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for Red<P> {
    fn enqueue(
        &mut self,
        now: Instant,
        mut frame: Frame<P>,
        counters: &mut LinkCounters,
    ) -> EnqueueResult<P> {
        self.estimate.on_arrival(self.fifo.len());
        if !self.passes(&mut frame, counters) {
            return EnqueueResult::Dropped(frame.packet);
        }
        if !self.limit.admits(self.fifo.len(), self.fifo.bytes(), frame.len) {
            self.estimate.count = 0;
            return EnqueueResult::Dropped(frame.packet);
        }
        self.fifo.push(now, frame);
        EnqueueResult::Queued
    }

    fn dequeue(&mut self, _now: Instant, _counters: &mut LinkCounters) -> Option<Frame<P>> {
        self.fifo.pop().map(|(_, frame)| frame)
    }

    fn passes_idle(
        &mut self,
        now: Instant,
        idle_since: Instant,
        frame: &mut Frame<P>,
        counters: &mut LinkCounters,
    ) -> bool {
        self.estimate.on_idle_arrival(now.saturating_since(idle_since));
        self.passes(frame, counters)
    }

    waiting_in_fifo!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::test_packets::{CAPABLE, NOT_CAPABLE, frame, us};
    use crate::random::Streams;

    const PAPER: (u32, u32) = (5, 15);

    fn thresholds(max_p: f64) -> Thresholds {
        let (min, max) = PAPER;
        Thresholds { min, max, max_p: Share::new(max_p).expect("a share") }
    }

    fn estimate(max_p: f64) -> Estimate {
        Estimate::new(thresholds(max_p), Duration::from_millis(1))
    }

    fn packets(average: f64) -> i64 {
        (average * ONE as f64) as i64
    }

    /// Section 6: "avg = 1 - (1 - w_q)^L ..." for a queue that grows by one with each arrival (equation 2).
    #[test]
    fn the_average_is_that_of_the_paper() {
        let (mut estimate, weight) = (estimate(0.02), 1.0 / 512.0f64);
        for arrivals in 1..=200u32 {
            estimate.on_arrival(arrivals as usize);
            let l = f64::from(arrivals);
            let expected = l + 1.0 + ((1.0 - weight).powf(l + 1.0) - 1.0) / weight;
            let average = estimate.avg as f64 / ONE as f64;
            assert!((average - expected).abs() < 1e-6, "{arrivals}: {average}, not {expected}");
        }
    }

    #[test]
    fn an_idle_link_forgets() {
        for milliseconds in [0, 1, 7, 512, 5_000, 10_000_000] {
            let mut estimate = Estimate { avg: packets(12.0), ..estimate(0.02) };
            estimate.on_idle_arrival(Duration::from_millis(milliseconds));
            let expected = 12.0 * (1.0 - 1.0 / 512.0f64).powf(milliseconds as f64);
            let average = estimate.avg as f64 / ONE as f64;
            assert!((average - expected).abs() < 1e-6, "{milliseconds}: {average}, not {expected}");
        }
    }

    /// Section 7, method 2: at a constant average the distances of notifications are uniform. They go from 1 to
    /// 1 / p_b - 1 with figure 2, which counts an arrival before it computes p_a.
    #[test]
    fn the_distance_of_drops_is_uniform() {
        // The middle of the thresholds: p_b = 1/2 of 1/25 = 1/50.
        let mut estimate = Estimate { avg: packets(10.0), ..estimate(0.04) };
        let mut random = Streams::new(5).queue;
        let drops: Vec<usize> =
            (0..1_000_000).filter(|_| estimate.judge(&mut random) == RedDecision::Notify).collect();
        let mut distances = [0u32; 51];
        drops.windows(2).for_each(|pair| distances[pair[1] - pair[0]] += 1);
        assert_eq!((distances[0], distances[50]), (0, 0));
        let each = (drops.len() - 1) as f64 / 49.0;
        assert!(distances[1..=49].iter().all(|&n| (f64::from(n) / each - 1.0).abs() < 0.2), "{distances:?}");
    }

    #[test]
    fn the_probability_grows_gently_to_one() {
        let mut random = Streams::new(5).queue;
        let mut share = |average: f64| {
            // Without the count, each arrival has p_b.
            let dropped = |_: &i32| {
                let mut estimate = Estimate { avg: packets(average), ..estimate(0.1) };
                estimate.judge(&mut random) != RedDecision::Pass
            };
            f64::from((0..20_000).filter(dropped).count() as u32) / 20_000.0
        };
        for (average, expected) in [
            (4.9, 0.0),
            (5.0, 0.0),
            (10.0, 0.05),
            (14.99, 0.1),
            (15.0, 0.1),
            (22.5, 0.55),
            (30.0, 1.0),
            (99.0, 1.0),
        ] {
            assert!((share(average) - expected).abs() < 0.015, "{average}");
        }
    }

    #[test]
    fn marks_between_the_thresholds_and_drops_above() {
        for (tos, average, notified) in
            [(CAPABLE, 10.0, true), (NOT_CAPABLE, 10.0, false), (CAPABLE, 40.0, false)]
        {
            let mut queue = Red::new(
                QueueLimit::Packets(1000),
                thresholds(1.0),
                Duration::from_millis(1),
                Streams::new(1).queue,
            );
            for id in 0..average as u64 {
                queue.fifo.push(us(0), frame(id, 1000, tos));
            }
            queue.estimate.avg = packets(average);
            queue.estimate.count = 5;
            let mut counters = LinkCounters::default();
            let result = queue.enqueue(us(1), frame(0, 1000, tos), &mut counters);
            assert_eq!(matches!(result, EnqueueResult::Queued), notified);
            assert_eq!(counters.marked, u64::from(notified));
        }
    }

    #[test]
    fn what_waits_is_told_by_its_lengths() {
        let time = Duration::from_millis(1);
        let mut queue = Red::new(QueueLimit::Unlimited, thresholds(0.02), time, Streams::new(1).queue);
        let mut counters = LinkCounters::default();
        for len in [100, 300, 200] {
            let _ = queue.enqueue(us(0), frame(0, len, NOT_CAPABLE), &mut counters);
        }
        assert!(queue.lengths().eq([100, 300, 200]));
        assert!(queue.dequeue(us(1), &mut counters).is_some() && queue.lengths().eq([300, 200]));
    }
}
