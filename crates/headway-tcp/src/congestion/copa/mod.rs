//! Copa: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018;
//! written from what others quote of it, not from the whole paper.
//!
//! The window moves towards the target rate 1/(δ dq), where dq is the queueing delay: a few packets' queue on a link of its own.
//! From the paper: the target, the update rule and the velocity (2.1), slow start (2.1), pacing (2.1), the two modes and
//! their detector (2.2).
//!
//! Where the paper leaves a choice:
//!
//! * *Units*: windows are in bytes, and an ACK moves them by as many steps as it delivers segments.
//! * *The rate* λ is that of the segment that the ACK is of: the window is what was in the network with it, not what it has become since. The
//!   paper's analysis (3) has this delay too: without it a window that is small beside 1/δ settles where the queue never empties.
//! * *Rounds* end with the ACK of a segment that was sent after they began. srtt is RFC 6298's mean, of the samples of data: a SYN is
//!   shorter, and would make a queue of each segment's own time on a slow link.
//! * *Velocity*: v/δ is at most the window, so that it doubles in a round trip at most, as in slow start.
//! * *At the target*, where slow start ends, or a v above one was meant for the other direction, v is one, and the window is the one that was
//!   measured: what changed in the last round trip has not been, and would leave the target far behind. (Not so in competitive mode.)
//! * *The detector*: a queue is nearly empty also where dq is no more than a segment's time (and than half of RTTmax - RTTmin): a tenth
//!   of what a few packets make is less than a packet. Where the RTT never changes it is empty. Until slow start ends the mode is the default one.
//! * *Competitive mode* (2.2: "we perform AIMD on 1/δ based on packet success or loss"): 1/δ grows by one in a round trip
//!   without a loss, and a recovery halves it, down to the default 2: at most once in a round trip, as the window of NewReno.
//! * *Losses* do nothing else: recovery is not the window's (no proportional rate reduction).
//! * *A timeout*, of which the paper says nothing, leaves one segment and begins slow start, as RFC 5681 has it, and halves 1/δ.
//! * *An ECN mark* is answered like a loss.
//! * *What is not used does not grow* (RFC 7661), but shrinks.
//! * Corrupted segments (HACK) count as delivered.

mod windowed;

use headway_units::{Duration, Instant, Rate};

use super::pacer::window_rate;
use super::usage::Usage;
use super::{Ack, CongestionControl, Loss, Setup};
use windowed::Windowed;

/// 1/δ of the default mode (2.2: "The default mode where δ=0.5").
const DEFAULT: u32 = 2;
/// 2.1: RTTmin is of "the smaller of 10 seconds and the time since the flow started".
const MIN_WINDOW: Duration = Duration::from_secs(10);
/// 2.1: v doubles "only after the direction has remained the same for three RTTs".
const PATIENCE: u32 = 3;
/// 2.2: "RTTmax is measured over the past four RTTs".
const MAX_ROUNDS: u32 = 4;
/// 2.2: "if the sender sees a 'nearly empty' queue in the last 5 RTTs, it remains in the default mode".
const EMPTY_ROUNDS: u32 = 5;
/// 2.2: a queue is nearly empty if dq < 0.1 (RTTmax - RTTmin).
const EMPTY_PART: u32 = 10;
/// Or if no more than one segment waits, and this is no more than half of RTTmax - RTTmin.
const QUANTUM_PART: u32 = 2;

/// The controller of the paper.
#[derive(Debug)]
pub struct Copa {
    mss: u32,
    initial_segments: u32,
    cwnd: u32,
    /// What `cwnd` is still to change by, in units of 1/`cwnd`.
    credit: i128,
    in_slow_start: bool,
    /// 1/δ, in segments.
    inverse_delta: u32,
    velocity: Velocity,
    round: Round,
    delays: Delays,
    /// When the queue was last nearly empty, or slow start ended.
    emptied: Instant,
    competes: bool,
    usage: Usage,
    /// Window and slow start before the last timeout, for [`CongestionControl::on_spurious`].
    before: Option<(u32, bool)>,
}

#[derive(Debug)]
struct Velocity {
    v: u32,
    up: bool,
    /// Rounds in this direction.
    rounds: u32,
}

#[derive(Debug, Default)]
struct Round {
    start: Instant,
    /// The window when it began.
    cwnd: u32,
    lost: bool,
}

/// Round-trip times.
#[derive(Debug, Default)]
struct Delays {
    smoothed: Option<Duration>,
    min: Windowed<false>,
    standing: Windowed<false>,
    max: Windowed<true>,
    now: Option<Delay>,
}

#[derive(Clone, Copy, Debug)]
struct Delay {
    /// RTTstanding.
    standing: Duration,
    /// dq: RTTstanding - RTTmin.
    queueing: Duration,
    is_nearly_empty: bool,
}

impl Copa {
    /// A controller at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        let mss = 536;
        let initial_segments = setup.initial_window.max(1);
        Self {
            mss,
            initial_segments,
            cwnd: initial_segments.saturating_mul(mss),
            credit: 0,
            in_slow_start: true,
            inverse_delta: DEFAULT,
            velocity: Velocity { v: 1, up: true, rounds: 0 },
            round: Round::default(),
            delays: Delays::default(),
            emptied: Instant::ZERO,
            competes: false,
            usage: Usage::default(),
            before: None,
        }
    }

    /// Moves the window towards the target, for `delivered` bytes, the last of which was sent under the window `sent`.
    fn update(&mut self, now: Instant, delivered: u32, sent: u32) {
        let Some(delay) = self.delays.now else { return };
        // λ = cwnd/RTTstanding and λt = 1/(δ dq): up if λ <= λt.
        let target =
            u128::from(self.inverse_delta) * u128::from(self.mss) * u128::from(delay.standing.as_nanos());
        let up = u128::from(sent) * u128::from(delay.queueing.as_nanos()) <= target;
        if self.in_slow_start && !up {
            self.in_slow_start = false;
            self.emptied = now;
            self.return_to(sent);
        } else if up != self.velocity.up && self.velocity.v > 1 {
            self.velocity = Velocity { v: 1, up, rounds: 0 };
            self.return_to(if self.competes { self.cwnd } else { sent });
        }
        if up && !self.usage.is_limited(self.cwnd, self.mss, self.in_slow_start) {
            return;
        }
        if self.in_slow_start {
            self.cwnd = self.cwnd.saturating_add(delivered);
            return;
        }
        // cwnd + v/(δ cwnd) for each segment.
        let step = i128::from(self.velocity.v)
            * i128::from(self.inverse_delta)
            * i128::from(self.mss)
            * i128::from(delivered);
        self.credit += if up { step } else { -step };
        let whole = self.credit / i128::from(self.cwnd);
        self.credit -= whole * i128::from(self.cwnd);
        let least = i128::from(2 * self.mss);
        let cwnd = (i128::from(self.cwnd) + whole).clamp(least, i128::from(u32::MAX));
        self.cwnd = u32::try_from(cwnd).unwrap_or(u32::MAX);
    }

    /// The target is reached with this window, which has been measured.
    fn return_to(&mut self, cwnd: u32) {
        self.cwnd = cwnd.max(2 * self.mss);
        self.credit = 0;
        self.round.cwnd = self.cwnd;
    }

    fn end_round(&mut self, now: Instant) {
        if self.competes && !self.round.lost && self.usage.is_limited(self.cwnd, self.mss, false) {
            self.inverse_delta = self.inverse_delta.saturating_add(1);
        }
        if !self.in_slow_start {
            // 2.1: "Once per window, the sender compares the current cwnd to the cwnd value at the time that the latest
            // acknowledged packet was sent".
            let most = self.cwnd / self.inverse_delta.saturating_mul(self.mss).max(1);
            self.velocity.end_round(self.cwnd > self.round.cwnd, most);
        }
        self.round = Round { start: now, cwnd: self.cwnd, lost: false };
    }

    fn detect_mode(&mut self, now: Instant) {
        let (Some(delay), Some(smoothed)) = (self.delays.now, self.delays.smoothed) else { return };
        if self.in_slow_start || delay.is_nearly_empty {
            self.emptied = now;
        }
        let competes = now.saturating_since(self.emptied) > smoothed * EMPTY_ROUNDS;
        if self.competes && !competes {
            self.inverse_delta = DEFAULT;
        }
        self.competes = competes;
    }

    fn on_congestion(&mut self) {
        self.round.lost = true;
        if self.competes {
            self.inverse_delta = (self.inverse_delta / 2).max(DEFAULT);
        }
    }
}

impl Velocity {
    fn end_round(&mut self, up: bool, most: u32) {
        if up == self.up {
            self.rounds = self.rounds.saturating_add(1);
        } else {
            *self = Self { v: 1, up, rounds: 1 };
        }
        if self.rounds >= PATIENCE {
            self.v = self.v.saturating_mul(2);
        }
        self.v = self.v.min(most).max(1);
    }
}

impl Delays {
    /// `segment`: the time of a segment at the present rate.
    fn on_sample(&mut self, now: Instant, rtt: Duration, segment: Duration) {
        let smoothed = self.smoothed.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8);
        self.smoothed = Some(smoothed);
        let min = self.min.update(now, rtt, MIN_WINDOW);
        // 2.1: RTTstanding is "the smallest RTT observed over a recent time-window, τ. We use τ=srtt/2".
        let standing = self.standing.update(now, rtt, smoothed / 2);
        let max = self.max.update(now, rtt, smoothed * MAX_ROUNDS);
        let queueing = standing - min;
        let swing = max - min;
        let is_nearly_empty =
            queueing <= (swing / EMPTY_PART).max((segment * 3 / 2).min(swing / QUANTUM_PART));
        self.now = Some(Delay { standing, queueing, is_nearly_empty });
    }
}

impl CongestionControl for Copa {
    fn window(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        if self.in_slow_start { u32::MAX } else { self.cwnd }
    }

    /// 2.1: "The sender paces packets at a rate of 2·cwnd/RTTstanding packets per second."
    fn pacing_rate(&self) -> Option<Rate> {
        // At 200 %, as that of a window that doubles.
        let least = Rate::from_bits_per_second(1);
        self.delays.now.map(|delay| window_rate(self.cwnd, delay.standing, true).max(least))
    }

    fn set_mss(&mut self, mss: u32, initial: bool) {
        self.mss = mss;
        if initial {
            self.cwnd = self.initial_segments.saturating_mul(mss);
        }
        self.cwnd = self.cwnd.max(mss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.usage.on_ack(ack);
        if let Some(rtt) = ack.rtt {
            self.delays.on_sample(ack.now, rtt, rtt * self.mss / self.cwnd);
            self.detect_mode(ack.now);
            if ack.now - rtt >= self.round.start {
                self.end_round(ack.now);
            }
        }
        if !ack.duplicate {
            self.update(ack.now, ack.delivered, ack.rate.map_or(self.cwnd, |rate| rate.in_flight));
        }
    }

    fn recovers_by_itself(&self) -> bool {
        true
    }

    fn on_loss(&mut self, _loss: &Loss) {
        self.on_congestion();
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        if first {
            self.before = Some((self.cwnd, self.in_slow_start));
            self.on_congestion();
        }
        self.cwnd = self.mss;
        self.credit = 0;
        self.in_slow_start = true;
        self.velocity = Velocity { v: 1, up: true, rounds: 0 };
        self.round = Round { start: loss.now, cwnd: self.cwnd, lost: true };
    }

    fn on_damage(&mut self, now: Instant, bytes: u32) {
        self.update(now, bytes, self.cwnd);
    }

    fn on_spurious(&mut self) {
        if let Some((cwnd, in_slow_start)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.in_slow_start = in_slow_start;
        }
    }

    fn on_idle(&mut self) {
        // RFC 5681, 4.1: "the restart window is the minimum of IW and cwnd".
        self.cwnd = self.cwnd.min(self.initial_segments.saturating_mul(self.mss));
    }

    fn on_syn_loss(&mut self) {
        self.cwnd = self.mss;
    }
}

#[cfg(test)]
mod tests;
