//! PCC Vivace: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey and Schapira, "PCC Vivace: Online-Learning Congestion Control",
//! NSDI 2018; written from what others quote of it, not from the whole paper.
//!
//! It sends at two rates for a short time each, and moves the rate in the direction of the higher utility
//! u(x) = x^0.9 - 900 x d(RTT)/dT - 11.35 x L, where x is the rate in Mbit/s, d(RTT)/dT the slope of the round-trip time, and L the share
//! that was lost. From the paper: the utility and its constants (3), slow start, steps by the gradient with the confidence amplifier
//! and the dynamic change boundary (4.2, [`step`]), the slope by linear regression, its filter of 0.01, the second look at an abnormal
//! result and the answer to silence (4.3).
//!
//! Where the paper leaves a choice:
//!
//! * *A monitor interval* lasts the smoothed round-trip time, at least ten segments. Its results are complete when something has arrived
//!   that was sent a quarter of the minimum RTT after its end: the reordering that RACK allows for (RFC 8985, 6.2). Of one that the
//!   application, or the receiver's window, kept below three quarters of its rate, nothing is learnt.
//! * *Slow start* begins with the initial window in a round trip, and each interval has twice the rate of the one before. When a
//!   utility is below the one before, the rate is that of the one before. Intervals behind it are under way then.
//! * *A pair* has the rates r (1 ± 0.05), in an order drawn at random. Until its results are complete segments leave at r.
//! * *The step* (its numbers are ours: the paper's were not at hand) is 0.2 Mbit/s for a gradient of one (θ0 = 0.2), times m(τ) = τ, above three 2 τ - 3, after τ steps in a row in this direction;
//!   ω0 = 0.05 and δ = 0.1. No step takes more than half of the rate, and no rate is below two segments in a round trip.
//! * *An abnormal result*: fewer losses or a lower slope at the higher rate. Then a second pair is sent, and the
//!   mean of both gradients counts.
//! * *Losses by chance*: the loss shares of two intervals count as one where they differ by less than two standard errors. The paper has
//!   a filter for the RTT gradient only. In an interval of a hundred segments, of which 5 % are lost, the number varies by half: divided
//!   by a difference in rates of a tenth that would be all that is seen.
//! * *Silence*: a retransmission timeout halves the rate, and the measurement begins anew with a pair.
//! * *The window* is twice what the rate fills the smoothed round-trip time with: it holds only where ACKs stay away.
//! * *An ECN mark* counts as a lost segment. Corrupted segments (HACK) are no losses.

mod interval;
mod step;
mod utility;

use alloc::collections::VecDeque;

use headway_units::{Duration, Instant, Rate};

use super::bbr_common::random::Random;
use super::{Ack, CongestionControl, Loss, LostSegment, Setup};
use interval::{Interval, Purpose};
use step::Steps;
use utility::{Measured, slope};

/// The rates of a pair differ from the rate by this share: ε.
const EPSILON: u64 = 20;
/// Bits per second, more than any path carries.
const MOST: u64 = 1 << 50;
/// Segments of an interval, at least.
const LEAST_SEGMENTS: u64 = 10;

/// The controller of the paper.
#[derive(Debug)]
pub struct Vivace {
    mss: u32,
    initial_segments: u32,
    /// In bits per second; zero: no round-trip time is known.
    rate: u64,
    smoothed: Duration,
    min_rtt: Duration,
    phase: Phase,
    /// The last is being sent; of the others the results are incomplete.
    intervals: VecDeque<Interval>,
    steps: Steps,
    random: Random,
}

#[derive(Debug)]
enum Phase {
    /// Slow start, with what the last interval measured.
    Start(Option<Measured>),
    Learn(Pair),
}

/// Two intervals at two rates.
#[derive(Debug, Default)]
struct Pair {
    /// How many have begun.
    begun: u32,
    faster_first: bool,
    first: Option<Measured>,
    /// The gradient of the pair before, whose result was abnormal.
    doubted: Option<i128>,
}

impl Vivace {
    /// A controller at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        Self {
            mss: 536,
            initial_segments: setup.initial_window.max(1),
            rate: 0,
            smoothed: Duration::default(),
            min_rtt: Duration::from_nanos(u64::MAX),
            phase: Phase::Start(None),
            intervals: VecDeque::new(),
            steps: Steps::default(),
            random: Random(setup.seed),
        }
    }

    fn on_rtt(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_micros(1));
        self.min_rtt = self.min_rtt.min(rtt);
        if self.rate == 0 {
            self.smoothed = rtt;
            self.set_rate(self.in_a_round_trip(self.initial_segments));
        }
        self.smoothed = (self.smoothed * 7 + rtt) / 8;
    }

    /// The rate of this number of segments in a round trip.
    fn in_a_round_trip(&self, segments: u32) -> u64 {
        let bits = u128::from(segments) * u128::from(self.mss) * 8_000_000_000;
        u64::try_from(bits / u128::from(self.smoothed.as_nanos().max(1))).unwrap_or(u64::MAX).max(1)
    }

    fn set_rate(&mut self, rate: u64) {
        self.rate = rate.max(self.in_a_round_trip(2)).min(MOST);
    }

    fn begin_interval(&mut self, now: Instant) {
        let least = Rate::from_bits_per_second(self.rate).transmit_time(LEAST_SEGMENTS * u64::from(self.mss));
        let length = self.smoothed.max(least);
        let (purpose, rate) = match &mut self.phase {
            Phase::Start(_) => (Purpose::Start, self.rate),
            Phase::Learn(pair) if pair.begun < 2 => {
                if pair.begun == 0 {
                    pair.faster_first = self.random.below(2) == 0;
                }
                let faster = pair.faster_first == (pair.begun == 0);
                pair.begun += 1;
                let part = self.rate / EPSILON;
                (Purpose::Probe, if faster { self.rate + part } else { self.rate - part })
            }
            Phase::Learn(_) => (Purpose::Wait, self.rate),
        };
        self.intervals.push_back(Interval::new(purpose, rate, now, length));
    }

    /// The results of what was sent before `sent_at`, without what may have been overtaken, are complete.
    fn take_results(&mut self, sent_at: Instant) {
        while self.intervals.len() > 1 && self.intervals[0].end + self.min_rtt / 4 <= sent_at {
            let Some(interval) = self.intervals.pop_front() else { return };
            self.take_result(&interval);
        }
    }

    fn take_result(&mut self, interval: &Interval) {
        if interval.purpose == Purpose::Wait {
            return;
        }
        let measured = interval.is_sound(self.mss).then(|| Measured::of(interval));
        match (&mut self.phase, measured) {
            (Phase::Start(last), Some(measured)) => {
                let fell = last.filter(|last| {
                    let (before, now) = last.utilities(&measured);
                    now < before
                });
                *last = Some(measured);
                if let Some(before) = fell {
                    self.set_rate(before.rate);
                    self.learn(Pair::default());
                }
            }
            (Phase::Start(_), None) => {}
            // Another pair.
            (Phase::Learn(_), None) => self.learn(Pair::default()),
            (Phase::Learn(pair), Some(measured)) => {
                let Some(first) = pair.first.replace(measured) else { return };
                let (faster, slower) = if pair.faster_first { (first, measured) } else { (measured, first) };
                let mut gradient = slope(&faster, &slower);
                match pair.doubted {
                    Some(doubted) => gradient = (gradient + doubted) / 2,
                    None if faster.is_abnormal_beside(&slower) => {
                        return self.learn(Pair { doubted: Some(gradient), ..Pair::default() });
                    }
                    None => {}
                }
                let rate = self.steps.next(self.rate, gradient);
                self.set_rate(rate);
                self.learn(Pair::default());
            }
        }
    }

    /// Begins to send a pair. What is under way is of no use any more.
    fn learn(&mut self, pair: Pair) {
        self.intervals.clear();
        self.phase = Phase::Learn(pair);
    }
}

impl CongestionControl for Vivace {
    fn window(&self) -> u32 {
        if self.rate == 0 {
            return self.initial_segments.saturating_mul(self.mss);
        }
        let rate = self.intervals.back().map_or(self.rate, |interval| interval.rate);
        let bytes = u128::from(rate) * u128::from(self.smoothed.as_nanos()) / 4_000_000_000;
        u32::try_from(bytes).unwrap_or(u32::MAX).max(self.mss.saturating_mul(4))
    }

    fn ssthresh(&self) -> u32 {
        self.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.intervals.back().map_or(self.rate, |interval| interval.rate);
        (rate > 0).then(|| Rate::from_bits_per_second(rate))
    }

    fn on_established(&mut self, _now: Instant, smoothed: Option<Duration>) {
        if let Some(smoothed) = smoothed.filter(|_| self.rate == 0) {
            self.on_rtt(smoothed);
        }
    }

    fn set_mss(&mut self, mss: u32, _initial: bool) {
        self.mss = mss;
    }

    fn on_sent(&mut self, now: Instant, _pipe: u32, _app_limited: bool) {
        if self.rate == 0 {
            return;
        }
        match self.intervals.back_mut() {
            Some(current) if now < current.end => {}
            Some(current) => {
                current.end = now;
                if current.purpose == Purpose::Start && current.is_sound(self.mss) {
                    self.set_rate(self.rate.saturating_mul(2));
                }
                self.begin_interval(now);
            }
            None => self.begin_interval(now),
        }
        if let Some(current) = self.intervals.back_mut() {
            current.sent += 1;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.on_rtt(rtt);
        let sent_at = ack.now - rtt;
        if let Some(interval) = self.intervals.iter_mut().find(|interval| interval.contains(sent_at)) {
            interval.delays.add(sent_at.saturating_since(interval.start), rtt);
        }
        self.take_results(sent_at);
    }

    fn recovers_by_itself(&self) -> bool {
        true
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        if let Some(interval) = self.intervals.iter_mut().find(|interval| interval.contains(lost.sent_at)) {
            interval.lost += 1;
        }
    }

    fn on_timeout(&mut self, _loss: &Loss, _first: bool) {
        if self.rate > 0 {
            self.set_rate(self.rate / 2);
            self.steps = Steps::default();
            self.learn(Pair::default());
        }
    }

    fn on_ecn(&mut self, _loss: &Loss) {
        if let Some(interval) = self.intervals.back_mut() {
            interval.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests;
