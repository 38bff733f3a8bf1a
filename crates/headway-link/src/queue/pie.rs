//! PIE: proportional integral controller enhanced (RFC 8033).

use headway_units::{Duration, Instant};

use super::fifo::{Fifo, waiting_in_fifo};
use super::mark::mark_capable;
use super::{EnqueueResult, QueueDiscipline, QueueLimit};
use crate::{Frame, LinkCounters, random::Stream};

/// T_UPDATE of RFC 8033, section 4.2: 15 ms.
const T_UPDATE: u64 = 15_000_000;
/// MAX_BURST of RFC 8033, section 4.4: 150 ms.
const MAX_BURST: u64 = 150_000_000;
/// Probability 1.
const ONE: u64 = 1 << 56;
const NANOS: i128 = 1_000_000_000;

/// One queue whose arrivals are dropped, or marked, with a probability that a proportional integral
/// controller moves every 15 ms, so that the delay stays about a target (RFC 8033).
///
/// With the RFC's defaults: alpha 1/8 and beta 1 1/4 per second, no drops in the first 150 ms of congestion,
/// marks instead of drops below a probability of 10 % (section 5.1). The delay is how long the packet at
/// the head has waited (section 4.3 allows timestamps), so no departure rate is estimated. Random numbers are
/// de-randomised (section 5.4) and a step of the probability is capped (section 5.5), as in appendix B. It is
/// always active: section 5.3, which turns it off below a third of the buffer, is left out.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    limit: QueueLimit,
    fifo: Fifo<P>,
    max_packet: u64,
    controller: Controller,
    random: Stream,
}

/// What section 4 computes, with the names of its pseudocode; probabilities out of [`ONE`].
#[derive(Clone, Debug)]
struct Controller {
    qdelay_ref: u64,
    drop_prob: u64,
    qdelay_old: u64,
    burst_allowance: u64,
    accu_prob: u64,
    next_update: u64,
}

impl Controller {
    fn new(target: Duration) -> Self {
        Self {
            qdelay_ref: target.as_nanos(),
            drop_prob: 0,
            qdelay_old: 0,
            burst_allowance: MAX_BURST,
            accu_prob: 0,
            next_update: T_UPDATE,
        }
    }

    /// Makes the updates that are due by `now`. The queue is as it was since the last call.
    fn update_until<P>(&mut self, now: Instant, fifo: &Fifo<P>) {
        let now = now.as_nanos();
        while self.next_update <= now {
            self.update(fifo.head_delay(Instant::from_nanos(self.next_update)).as_nanos());
            self.next_update += T_UPDATE;
            if fifo.is_empty() && self.drop_prob == 0 && self.qdelay_old == 0 {
                // Nothing changes until the next packet.
                self.burst_allowance = MAX_BURST;
                self.next_update += (now.saturating_sub(self.next_update)) / T_UPDATE * T_UPDATE;
            }
        }
    }

    /// RFC 8033, sections 4.2, 4.4 and 5.5.
    fn update(&mut self, current_qdelay: u64) {
        let part = |delay: u64, other: u64| i128::from(delay) - i128::from(other);
        // "p = alpha*(current_qdelay-QDELAY_REF) + beta*(current_qdelay-PIE->qdelay_old_)", in eighths.
        let eighths = part(current_qdelay, self.qdelay_ref) + 10 * part(current_qdelay, self.qdelay_old);
        let mut p = eighths * i128::from(ONE) / (8 * NANOS);
        // "if (PIE->drop_prob_ < 0.000001) p /= 2048" and so on.
        p /= match ONE / self.drop_prob.max(1) {
            1_000_000.. => 2048,
            100_000.. => 512,
            10_000.. => 128,
            1_000.. => 32,
            100.. => 8,
            10.. => 2,
            _ => 1,
        };
        // "if (PIE->drop_prob_ >= 0.1 && p > 0.02) p = 0.02"
        if self.drop_prob >= ONE / 10 {
            p = p.min(i128::from(ONE / 50));
        }
        let mut drop_prob = i128::from(self.drop_prob) + p;
        // "Exponentially decay drop prob when congestion goes away"
        if current_qdelay == 0 && self.qdelay_old == 0 {
            drop_prob = drop_prob * 98 / 100;
        }
        self.drop_prob = drop_prob.clamp(0, i128::from(ONE)) as u64;
        self.burst_allowance = self.burst_allowance.saturating_sub(T_UPDATE);
        let is_low = |qdelay: u64| qdelay < self.qdelay_ref / 2;
        if self.drop_prob == 0 && is_low(current_qdelay) && is_low(self.qdelay_old) {
            self.burst_allowance = MAX_BURST;
        }
        self.qdelay_old = current_qdelay;
    }

    /// Whether an arrival is to be dropped: RFC 8033, sections 4.1, 4.4 and 5.4.
    fn drop_early(&mut self, queued_bytes: u64, max_packet: u64, random: &mut Stream) -> bool {
        if self.burst_allowance > 0 {
            return false;
        }
        let is_light = self.qdelay_old < self.qdelay_ref / 2 && self.drop_prob < ONE / 5;
        if is_light || queued_bytes <= 2 * max_packet {
            return false;
        }
        if self.drop_prob == 0 {
            self.accu_prob = 0;
        }
        self.accu_prob = self.accu_prob.saturating_add(self.drop_prob);
        // PROB_LOW and PROB_HIGH: "0.85" and "8.5".
        if self.accu_prob < ONE / 100 * 85 {
            return false;
        }
        let drops = self.accu_prob >= ONE / 10 * 85 || random.below(ONE) < self.drop_prob;
        if drops {
            self.accu_prob = 0;
        }
        drops
    }
}

impl<P> Pie<P> {
    /// An empty queue of this limit; `target` is 15 ms in the RFC.
    pub(crate) fn new(limit: QueueLimit, target: Duration, random: Stream) -> Self {
        Self { limit, fifo: Fifo::default(), max_packet: 0, controller: Controller::new(target), random }
    }

    /// Whether an arrival passes the random drop: it may be marked instead.
    fn passes(&mut self, now: Instant, frame: &mut Frame<P>, counters: &mut LinkCounters) -> bool
    where
        P: AsMut<[u8]>,
    {
        self.controller.update_until(now, &self.fifo);
        self.max_packet = self.max_packet.max(frame.len as u64);
        if !self.controller.drop_early(self.fifo.bytes(), self.max_packet, &mut self.random) {
            return true;
        }
        // "PIE SHOULD mark packets ... if drop_prob is below MAX_ECNTH", 10 %.
        self.controller.drop_prob < ONE / 10 && mark_capable(frame, counters)
    }
}

impl<P: AsMut<[u8]>> QueueDiscipline<P> for Pie<P> {
    fn enqueue(
        &mut self,
        now: Instant,
        mut frame: Frame<P>,
        counters: &mut LinkCounters,
    ) -> EnqueueResult<P> {
        if !self.limit.admits(self.fifo.len(), self.fifo.bytes(), frame.len) {
            self.controller.update_until(now, &self.fifo);
            self.controller.accu_prob = 0;
            return EnqueueResult::Dropped(frame.packet);
        }
        if !self.passes(now, &mut frame, counters) {
            return EnqueueResult::Dropped(frame.packet);
        }
        self.fifo.push(now, frame);
        EnqueueResult::Queued
    }

    fn dequeue(&mut self, now: Instant, _counters: &mut LinkCounters) -> Option<Frame<P>> {
        self.controller.update_until(now, &self.fifo);
        self.fifo.pop().map(|(_, frame)| frame)
    }

    fn passes_idle(
        &mut self,
        now: Instant,
        _idle_since: Instant,
        frame: &mut Frame<P>,
        counters: &mut LinkCounters,
    ) -> bool {
        self.passes(now, frame, counters)
    }

    waiting_in_fifo!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::test_packets::{CAPABLE, NOT_CAPABLE, frame, us};
    use crate::random::Streams;

    const REF: u64 = 15_000_000;

    fn controller() -> Controller {
        Controller::new(Duration::from_nanos(REF))
    }

    fn share(prob: u64) -> f64 {
        prob as f64 / ONE as f64
    }

    /// The pseudocode of section 4.2 in floating point, step by step.
    #[test]
    fn the_probability_is_that_of_the_pseudocode() {
        let mut controller = controller();
        let (mut drop_prob, mut old) = (0.0f64, 0.0f64);
        let delays = (0..400u64).map(|step| match step {
            0..100 => step * 300_000,
            100..200 => 60_000_000 - (step - 100) * 500_000,
            200..300 => 15_000_000,
            _ => 0,
        });
        for delay in delays {
            let current = delay as f64 / 1e9;
            let mut p = 0.125 * (current - 0.015) + 1.25 * (current - old);
            p /= match drop_prob {
                x if x < 1e-6 => 2048.0,
                x if x < 1e-5 => 512.0,
                x if x < 1e-4 => 128.0,
                x if x < 1e-3 => 32.0,
                x if x < 1e-2 => 8.0,
                x if x < 1e-1 => 2.0,
                _ => 1.0,
            };
            if drop_prob >= 0.1 {
                p = p.min(0.02);
            }
            drop_prob += p;
            if current == 0.0 && old == 0.0 {
                drop_prob *= 0.98;
            }
            drop_prob = drop_prob.clamp(0.0, 1.0);
            old = current;
            controller.update(delay);
            assert!((share(controller.drop_prob) - drop_prob).abs() < 1e-9, "{delay}");
        }
    }

    /// A source that does not respond sends `percent` of the rate of 1 packet of 1000 bytes a millisecond.
    /// Gives the mean delay of the second half in microseconds and the share that was dropped in it.
    fn overload(percent: u64, seconds: u64, tos: u8) -> (u64, f64, LinkCounters) {
        let random = Streams::new(3).queue;
        let mut queue = Pie::new(QueueLimit::Unlimited, Duration::from_nanos(REF), random);
        let mut counters = LinkCounters::default();
        let (mut next_arrival, mut delays, mut offered, mut dropped) = (0, Vec::new(), 0, 0);
        for tick in 1..=seconds * 1000 {
            let last = tick > seconds * 500;
            while next_arrival <= tick * 1000 {
                offered += u64::from(last);
                if let EnqueueResult::Dropped(_) =
                    queue.enqueue(us(next_arrival), frame(0, 1000, tos), &mut counters)
                {
                    dropped += u64::from(last);
                }
                next_arrival += 100_000 / percent;
            }
            if last {
                delays.push(queue.fifo.head_delay(us(tick * 1000)).as_micros());
            }
            let _ = queue.dequeue(us(tick * 1000), &mut counters);
        }
        (delays.iter().sum::<u64>() / delays.len() as u64, dropped as f64 / offered as f64, counters)
    }

    /// Whatever the overload, the delay settles about the target and the share dropped at what is too much.
    #[test]
    fn the_delay_converges_to_the_target() {
        for percent in [110, 150, 200] {
            let (delay, dropped, _) = overload(percent, 60, NOT_CAPABLE);
            let excess = 1.0 - 100.0 / percent as f64;
            println!("{percent} %: {delay} us, {dropped:.3} dropped, {excess:.3} too much");
            assert!((13_500..16_500).contains(&delay), "{percent} %: {delay} us");
            assert!((dropped - excess).abs() < 0.01, "{percent} %: {dropped:.3}, not {excess:.3}");
        }
    }

    #[test]
    fn marks_below_a_tenth_and_drops_above() {
        let (_, dropped, counters) = overload(150, 60, CAPABLE);
        assert!(counters.marked > 0 && dropped > 0.3, "{counters:?}");
        assert!(counters.marked < 2_000, "{counters:?}");
    }

    #[test]
    fn a_burst_passes() {
        let mut queue = Pie::new(QueueLimit::Unlimited, Duration::from_nanos(REF), Streams::new(3).queue);
        let mut counters = LinkCounters::default();
        // 140 ms of packets, twice as fast as they leave, from an idle start.
        for tick in 0..140 {
            for id in 0..2 {
                let result =
                    queue.enqueue(us(tick * 1000 + id * 500), frame(id, 1000, NOT_CAPABLE), &mut counters);
                assert!(matches!(result, EnqueueResult::Queued), "at {tick} ms");
            }
            let _ = queue.dequeue(us(tick * 1000 + 600), &mut counters);
        }
        assert_eq!(queue.len(), 140);
    }

    /// Section 5.4: "no two drops are closer than" 0.85 of the mean distance, nor further than 8.5.
    #[test]
    fn drops_keep_their_distance() {
        let mut controller =
            Controller { drop_prob: ONE / 20, burst_allowance: 0, qdelay_old: REF, ..controller() };
        let mut random = Streams::new(9).queue;
        let drops: Vec<u64> =
            (0..200_000).filter(|_| controller.drop_early(100_000, 1000, &mut random)).collect();
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap)), "{:?}", gaps.iter().max());
    }

    /// An hour without packets costs no loop over its updates, and leaves nothing.
    #[test]
    fn long_silence_forgets_everything() {
        let mut controller =
            Controller { drop_prob: ONE / 2, qdelay_old: REF, burst_allowance: 0, ..controller() };
        let fifo: Fifo<Vec<u8>> = Fifo::default();
        controller.update_until(Instant::from_nanos(3_600_000_000_000), &fifo);
        assert_eq!((controller.drop_prob, controller.burst_allowance), (0, MAX_BURST));
        assert!(controller.next_update > 3_600_000_000_000);
        assert!(controller.next_update <= 3_600_000_000_000 + T_UPDATE);
    }

    /// RFC 8033, 4.1, 4.4 and 5.4: what is dropped for certain, and what never is.
    #[test]
    fn a_drop_needs_a_queue_and_its_distance() {
        let mut random = Streams::new(1).queue;
        let mut drops = |change: &dyn Fn(&mut Controller), queued: u64| {
            let mut controller = controller();
            (controller.burst_allowance, controller.qdelay_old) = (0, REF);
            (controller.drop_prob, controller.accu_prob) = (1, 9 * ONE);
            change(&mut controller);
            (controller.drop_early(queued, 1000, &mut random), controller.accu_prob)
        };
        assert_eq!(drops(&|_| (), 2001), (true, 0));
        assert_eq!(drops(&|_| (), 2000), (false, 9 * ONE), "two packets");
        assert!(!drops(&|controller| controller.burst_allowance = 1, 9000).0);
        assert_eq!(drops(&|controller| controller.drop_prob = 0, 9000), (false, 0));
        let light = |delay, prob| {
            move |controller: &mut Controller| {
                (controller.qdelay_old, controller.drop_prob) = (delay, prob);
            }
        };
        assert!(!drops(&light(REF / 2 - 1, ONE / 5 - 1), 9000).0);
        assert!(drops(&light(REF / 2, ONE / 5 - 1), 9000).0 && drops(&light(REF / 2 - 1, ONE / 5), 9000).0);
        // Between 0.85 and 8.5 chance decides, which hardly ever drops at this probability; below it never does.
        let after = |accu| move |controller: &mut Controller| controller.accu_prob = accu;
        assert!(drops(&after(ONE / 10 * 85 - 1), 9000).0 && !drops(&after(ONE / 10 * 85 - 2), 9000).0);
        let certain = |accu| {
            move |controller: &mut Controller| (controller.drop_prob, controller.accu_prob) = (ONE, accu)
        };
        assert!(drops(&certain(0), 9000).0);
        let half = |accu| {
            move |controller: &mut Controller| (controller.drop_prob, controller.accu_prob) = (ONE / 2, accu)
        };
        assert!((0..100).all(|_| !drops(&half(ONE / 100 * 85 - ONE / 2 - 1), 9000).0));
        assert!((0..100).any(|_| drops(&half(ONE / 100 * 85 - ONE / 2), 9000).0));
    }

    /// Updates keep their times, whatever the silence between two packets.
    #[test]
    fn updates_are_each_15_ms() {
        for now in [14_999, 15_000, 15_001, 1_000_000, 7_654_321] {
            let mut controller = controller();
            controller.update_until(us(now), &Fifo::<Vec<u8>>::default());
            let next = controller.next_update;
            assert!(
                next > now * 1000 && next <= now * 1000 + T_UPDATE && next.is_multiple_of(T_UPDATE),
                "{now}: {next}"
            );
        }
    }
}
