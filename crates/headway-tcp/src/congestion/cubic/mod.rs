//! CUBIC (RFC 9438).
//!
//! The window grows by delivered bytes: every byte once, whether it is acknowledged cumulatively or
//! selectively, and corrupted bytes too, since they show the path's capacity like any others. With SACK,
//! `SND.UNA` advances in large steps, so counting its advance would miss some growth and delay the rest.

mod curve;

use alloc::boxed::Box;

use headway_units::{Duration, Instant, Rate};

use super::careful_resume::{CarefulResume, SavedPath};
use super::slow_start::SlowStart;
use super::usage::Usage;
use super::{Ack, CongestionControl, Load, Loss, Setup};

/// RFC 9438, 4.6: "`beta_cubic` SHOULD be set to 0.7".
const BETA: (u64, u64) = (7, 10);
/// RFC 9438, 4.3: "`alpha_cubic` = 3 * (1 - `beta_cubic`) / (1 + `beta_cubic`)": 0.9 / 1.7.
const ALPHA: (u64, u64) = (9, 17);

/// RFC 9438's controller.
#[derive(Debug)]
pub struct Cubic {
    mss: u32,
    initial_segments: u32,
    state: State,
    /// The state before the last reduction, for [`CongestionControl::on_spurious`].
    before: Option<Box<State>>,
    usage: Usage,
    resume: CarefulResume,
    smoothed_rtt: Option<Duration>,
    /// When the last ACK arrived, or, if later, when sending resumed after a pause.
    last_progress: Instant,
    /// Whether the last ACK arrived in fast recovery.
    in_recovery: bool,
}

/// What a reduction changes and an undo restores (RFC 9438, 4.9.2). Windows in bytes.
#[derive(Clone, Debug)]
struct State {
    cwnd: u32,
    ssthresh: u32,
    /// The window before the last reduction, or less after fast convergence; `None` if undefined.
    w_max: Option<u32>,
    /// The window when the threshold was last set.
    cwnd_prior: u32,
    /// The current stage of congestion avoidance.
    epoch: Option<Epoch>,
    slow_start: SlowStart,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began, plus the time in which the window was not used.
    start: Instant,
    /// Microseconds from its beginning to the plateau.
    k: u64,
    /// Height of the plateau.
    w_max: u32,
    /// The estimate of Reno's window.
    w_est: u32,
    /// Fractions of a byte by which `cwnd` is to grow, in units of 1/`cwnd`.
    credit: u64,
    /// Fractions of a byte by which `w_est` is to grow, in units of 1/(17 * `cwnd`).
    credit_est: u64,
}

impl Cubic {
    /// A controller at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        let mss = 536;
        let initial_segments = setup.initial_window.max(1);
        Self {
            mss,
            initial_segments,
            state: State {
                cwnd: initial_segments.saturating_mul(mss),
                ssthresh: u32::MAX,
                w_max: None,
                cwnd_prior: 0,
                epoch: None,
                slow_start: SlowStart::new(setup),
            },
            before: None,
            usage: Usage::default(),
            resume: CarefulResume::default(),
            smoothed_rtt: None,
            last_progress: Instant::ZERO,
            in_recovery: false,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.state.cwnd < self.state.ssthresh
    }

    /// Grows the window by `bytes` delivered bytes, outside of recovery.
    fn grow(&mut self, now: Instant, bytes: u32) {
        if self.resume.holds_window() {
            return;
        }
        if self.in_slow_start() {
            let growth = self.state.slow_start.growth(bytes, self.mss);
            self.state.cwnd = self.state.cwnd.saturating_add(growth).min(self.state.ssthresh);
        } else {
            self.avoid(now, bytes);
        }
    }

    /// Congestion avoidance: RFC 9438, 4.2 to 4.5.
    fn avoid(&mut self, now: Instant, bytes: u32) {
        let cwnd = self.state.cwnd;
        let mss = self.mss;
        let round_trip = self.smoothed_rtt.unwrap_or_default();
        let cwnd_prior = self.state.cwnd_prior;
        let epoch = self.begin_or_continue(now);
        let since = now.saturating_since(epoch.start);

        // 4.3: "W_est = W_est + alpha_cubic * segments_acked / cwnd". "Once W_est has grown to reach
        // the cwnd at the time of most recently setting ssthresh -- that is, W_est >= cwnd_prior --
        // the sender SHOULD set alpha_cubic to 1".
        let alpha = if epoch.w_est >= cwnd_prior { ALPHA.1 } else { ALPHA.0 };
        epoch.credit_est += alpha * u64::from(mss) * u64::from(bytes);
        let unit = ALPHA.1 * u64::from(cwnd.max(1));
        epoch.w_est = epoch.w_est.saturating_add(clamp(epoch.credit_est / unit));
        epoch.credit_est %= unit;

        // 4.3: "CUBIC checks whether W_cubic(t) is less than W_est. If so, CUBIC is in the
        // Reno-friendly region and cwnd SHOULD be set to W_est".
        if curve::window(since.as_micros(), epoch.k, epoch.w_max, mss) < epoch.w_est {
            self.state.cwnd = cwnd.max(epoch.w_est);
            return;
        }
        // 4.2: W_cubic(t + RTT), not below cwnd and not above 1.5 * cwnd.
        let target = curve::window((since + round_trip).as_micros(), epoch.k, epoch.w_max, mss)
            .clamp(cwnd, cwnd.saturating_add(cwnd / 2));
        // 4.4, 4.5: "cwnd MUST be incremented by (target - cwnd) / cwnd" for each segment.
        epoch.credit += u64::from(target - cwnd) * u64::from(bytes);
        let growth = clamp(epoch.credit / u64::from(cwnd.max(1)));
        epoch.credit %= u64::from(cwnd.max(1));
        self.state.cwnd = cwnd.saturating_add(growth);
    }

    fn begin_or_continue(&mut self, now: Instant) -> &mut Epoch {
        let State { cwnd, w_max, cwnd_prior, epoch, .. } = &mut self.state;
        epoch.get_or_insert_with(|| {
            // 4.8, after a timeout, and 4.10, after slow start without loss: "K is set to 0, and
            // W_max is set to the congestion window size at the beginning of the current congestion
            // avoidance stage."
            let plateau = (*w_max).unwrap_or(*cwnd).max(*cwnd);
            *w_max = Some(plateau);
            if *cwnd_prior == 0 {
                *cwnd_prior = *cwnd;
            }
            Epoch {
                start: now,
                k: curve::plateau(plateau, *cwnd, self.mss),
                w_max: plateau,
                w_est: *cwnd,
                credit: 0,
                credit_est: 0,
            }
        })
    }

    /// RFC 9438, 4.6 and 4.7, up to the setting of the window.
    fn reduce(&mut self, loss: &Loss) {
        self.before = Some(Box::new(self.state.clone()));
        let State { cwnd, w_max, .. } = self.state;
        // 4.7: "if cwnd < W_max and fast convergence enabled, further reduce W_max".
        self.state.w_max = Some(match w_max {
            Some(w_max) if cwnd < w_max => share(cwnd, (BETA.0 + BETA.1, 2 * BETA.1)),
            _ => cwnd,
        });
        self.state.cwnd_prior = cwnd;
        // "ssthresh = flight_size * beta_cubic". FlightSize includes lost and selectively acknowledged
        // bytes, so it may exceed the window.
        self.state.ssthresh = share(cwnd.min(loss.flight), BETA).max(2 * self.mss);
        self.state.epoch = None;
        self.state.slow_start.on_congestion();
        if let Some(retreat) = self.resume.on_congestion() {
            self.state.ssthresh = retreat.max(2 * self.mss);
            // A window that was never validated must not be restored.
            self.state.w_max = None;
        }
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> u32 {
        self.state.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.state.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.resume.rate()
    }

    /// The last reduction was at a window that filled the path and its queue: an eighth below that is less than
    /// the path carries, or as much.
    fn load(&self) -> Load {
        let State { cwnd, ssthresh, w_max, .. } = self.state;
        match w_max {
            Some(w_max) if cwnd < w_max - w_max / 8 => Load::Below,
            _ if cwnd < ssthresh => Load::Above,
            _ => Load::At,
        }
    }

    fn set_mss(&mut self, mss: u32, initial: bool) {
        self.mss = mss;
        if initial {
            self.state.cwnd = self.initial_segments.saturating_mul(mss);
        }
        self.state.cwnd = self.state.cwnd.max(mss);
    }

    fn on_sent(&mut self, now: Instant, pipe: u32, _app_limited: bool) {
        // 4.2: "The elapsed time t [...] MUST NOT include periods during which cwnd has not been
        // updated due to application-limited behavior".
        if pipe == 0 && now > self.last_progress {
            self.pause(now.saturating_since(self.last_progress));
            self.last_progress = now;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let since_last = ack.now.saturating_since(self.last_progress);
        self.last_progress = ack.now;
        self.in_recovery = ack.in_recovery;
        if let Some(rtt) = ack.rtt {
            self.smoothed_rtt = Some(self.smoothed_rtt.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8));
        }
        self.usage.on_ack(ack);
        let limited = self.is_limited();
        if let Some(jump) = self.resume.on_ack(ack, self.state.cwnd, limited) {
            self.state.cwnd = jump.window;
            self.state.ssthresh = jump.ssthresh.map_or(self.state.ssthresh, |saved| saved.max(2 * self.mss));
        }
        // RFC 5681, 4.3 and RFC 6675, 5: the window does not change during fast recovery.
        if ack.in_recovery || ack.duplicate {
            return;
        }
        // 5.8: "CUBIC does not increase its congestion window if a flow is application-limited."
        if !limited {
            self.pause(since_last);
            return;
        }
        if self.in_slow_start() && self.state.slow_start.on_ack(ack) {
            self.state.ssthresh = self.state.cwnd;
        }
        self.grow(ack.now, ack.delivered);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss);
        self.state.cwnd = self.state.ssthresh;
        self.in_recovery = true;
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        // RFC 5681, 3.1: a repeated timeout of a segment does not change the threshold.
        if first {
            self.reduce(loss);
            self.state.w_max = None;
        }
        self.resume.forget();
        self.state.epoch = None;
        self.state.cwnd = self.mss;
        self.in_recovery = false;
    }

    fn on_recovery_end(&mut self, _loss: &Loss) {
        self.in_recovery = false;
        if let Some(threshold) = self.resume.on_recovery_end() {
            self.state.ssthresh = self.state.ssthresh.max(threshold);
        }
    }

    fn on_damage(&mut self, now: Instant, bytes: u32) {
        self.resume.on_damage(bytes);
        if !self.in_recovery && self.is_limited() {
            self.grow(now, bytes);
        }
    }

    fn on_ecn(&mut self, loss: &Loss) {
        self.reduce(loss);
        // 4.6: "reduction on ECE, cwnd is at least 1 MSS"; the threshold "is at least 2 MSS".
        self.state.cwnd =
            share(self.state.cwnd.min(loss.flight), BETA).max(self.mss).min(self.state.ssthresh);
    }

    fn on_spurious(&mut self) {
        self.resume.forget();
        // 4.9.2: "Once the previously declared packet loss is confirmed to be spurious, CUBIC MAY
        // restore the original values [...] if the current cwnd is lower than cwnd_prior."
        if let Some(before) = self.before.take()
            && self.state.cwnd < self.state.cwnd_prior
        {
            self.state = *before;
        }
    }

    fn on_idle(&mut self) {
        self.resume.on_idle();
        // RFC 5681, 4.1: "the restart window is the minimum of IW and cwnd".
        // RFC 7661, 4.4.3: "ssthresh = max(ssthresh, 3*cwnd/4)" keeps the threshold for the return.
        let cwnd = self.state.cwnd;
        self.state.ssthresh = self.state.ssthresh.max(share(cwnd, (3, 4)));
        self.state.cwnd = cwnd.min(self.initial_segments.saturating_mul(self.mss));
        self.state.epoch = None;
    }

    fn on_syn_loss(&mut self) {
        // RFC 5681, 3.1: "the initial window used by a sender after a correctly transmitted SYN MUST
        // be one segment consisting of at most SMSS bytes".
        self.state.cwnd = self.mss;
    }

    fn doubles(&self) -> bool {
        self.in_slow_start() && !self.resume.holds_window()
    }

    fn resume(&mut self, saved: SavedPath) {
        self.resume = CarefulResume::new(saved);
    }

    fn start(&mut self, rate: Rate) {
        self.resume.tell(rate, self.state.cwnd, self.mss);
    }
}

impl Cubic {
    fn is_limited(&self) -> bool {
        self.usage.is_limited(self.state.cwnd, self.mss, self.in_slow_start())
    }

    /// Excludes a time in which the window was not used.
    fn pause(&mut self, time: Duration) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start += time;
        }
    }
}

fn share(bytes: u32, (part, whole): (u64, u64)) -> u32 {
    clamp(u64::from(bytes) * part / whole)
}

fn clamp(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
