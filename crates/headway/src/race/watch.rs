//! The live page of a race.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration as RealDuration, Instant};

use headway_report::{rate_text, seconds_text, watch};
use headway_sim::race::{Entrant, RunOutcome, Sample, Sampler};
use headway_units::Duration;
use headway_watch::{Description, Panel, SourceId, Time, Watch, WatchError};

/// A race whose runs are shown while they are made.
pub(super) struct Watched {
    watch: Watch,
    runs: u64,
    finished: Mutex<u64>,
    pace: Option<f64>,
}

/// The first interval between samples. It doubles whenever samples are thinned.
const FIRST_INTERVAL: Duration = Duration::from_millis(1);

impl Watched {
    /// Serves a page for `runs` runs of each sender; with `pace` this number of seconds of a run takes a second at least.
    pub(super) fn start(
        address: SocketAddr,
        senders: &[Entrant],
        (runs, pace): (u32, Option<f64>),
        command: String,
    ) -> Result<Self, WatchError> {
        let names: Vec<String> = senders.iter().map(ToString::to_string).collect();
        let looks = watch::looks(&names);
        let description = Description::new("A race of senders", command, "Sender", Time::Virtual)
            .with_looks(names.into_iter().zip(looks))
            .with_panels(panels());
        let watched = Self {
            watch: Watch::start(address, description)?,
            runs: u64::from(runs) * senders.len() as u64,
            finished: Mutex::new(0),
            pace,
        };
        watched.progress(0);
        Ok(watched)
    }

    /// A run begins.
    #[expect(clippy::disallowed_methods, reason = "a run that is held back follows the clock")]
    pub(super) fn run(&self, sender: Entrant, seed: u64) -> RunSamples<'_> {
        let source = self.watch.begin(&sender.to_string(), &seed.to_string());
        RunSamples {
            watched: self,
            source,
            began: Instant::now(),
            next: Duration::ZERO,
            interval: FIRST_INTERVAL,
            count: 0,
            last: None,
        }
    }

    fn progress(&self, finished: u64) {
        self.watch.progress(&format!("{finished} of {} runs are over.", self.runs));
    }

    /// The race is over; the page stays until SIGINT or SIGTERM.
    pub(super) fn keep_until_stopped(self) -> Result<(), WatchError> {
        self.watch.finish("The race has ended.");
        self.watch.keep_until_stopped()
    }
}

/// The places of these values in a sample are those of [`RunSamples::sample`].
fn panels() -> [Panel; 6] {
    const ON_LINK: [(&str, usize); 3] = [("dropped by the queue", 5), ("damaged", 6), ("lost", 7)];
    const JUDGED: [(&str, usize); 3] = [("damage", 8), ("congestion", 9), ("no evidence", 10)];
    [
        Panel::of_bit_rate(
            "Goodput",
            0,
            "What the receiver has got in order, over a hundredth of the time shown; on a logarithmic axis, over a tenth of the time so far.",
        ),
        Panel::of_value("Congestion window", "B", 1, "The sender's cwnd."),
        Panel::of_value("Round-trip time", "ms", 2, "The sender's smoothed RTT."),
        Panel::of_value("Queue", "B", 4, "Bytes in the queue of the forward link, of all flows."),
        Panel::of_counts(
            "Losses on the link, by cause",
            "packets",
            &ON_LINK,
            "What the forward link did to packets of all flows, from the beginning.",
        ),
        Panel::of_counts(
            "Losses as the sender takes them",
            "segments",
            &JUDGED,
            "The causes in the sender's ledger, from the beginning. Senders without HACK have no evidence of damage.",
        ),
    ]
}

/// The samples of a run.
pub(super) struct RunSamples<'a> {
    watched: &'a Watched,
    source: SourceId,
    began: Instant,
    next: Duration,
    interval: Duration,
    count: usize,
    last: Option<Duration>,
}

impl Sampler for RunSamples<'_> {
    fn next(&self) -> Duration {
        self.next
    }

    fn sample(&mut self, sample: &Sample) {
        // The run may end with an event of which there was a sample.
        if self.last.replace(sample.at) == Some(sample.at) {
            return;
        }
        if let Some(pace) = self.watched.pace {
            let due =
                RealDuration::try_from_secs_f64(sample.at.as_secs_f64() / pace).unwrap_or(RealDuration::MAX);
            sleep(due.saturating_sub(self.began.elapsed()));
        }
        let Sample { delivered_bytes, queue_packets, queue_bytes, losses, sender, causes, .. } = sample;
        let counts = [
            losses.queue_drops,
            losses.damaged,
            losses.lost,
            causes.damage,
            causes.congestion,
            causes.unknown,
        ]
        .map(|count| count as f64);
        let milliseconds = sender.smoothed_rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64() * 1e3);
        let [queue_drops, damaged, lost, damage, congestion, unknown] = counts;
        self.watched.watch.sample(
            self.source,
            &[
                sample.at.as_secs_f64(),
                *delivered_bytes as f64,
                f64::from(sender.cwnd),
                milliseconds,
                *queue_packets as f64,
                *queue_bytes as f64,
                queue_drops,
                damaged,
                lost,
                damage,
                congestion,
                unknown,
            ],
        );
        self.count += 1;
        if self.count == Watch::SAMPLES_OF_RUN {
            self.count /= 2;
            self.interval = self.interval + self.interval;
        }
        self.next = sample.at + self.interval;
    }
}

impl RunSamples<'_> {
    /// The run is over.
    pub(super) fn finish(self, outcome: &RunOutcome) {
        let metrics = &outcome.metrics;
        let note = if metrics.finished {
            format!("{}, {}", seconds_text(metrics.seconds), rate_text(metrics.goodput_bps))
        } else {
            format!("not finished in {}", seconds_text(metrics.seconds))
        };
        self.watched.watch.end(self.source, &note);
        // Held while the page is told, so that the count does not go back.
        let mut finished = self.watched.finished.lock().unwrap_or_else(PoisonError::into_inner);
        *finished += 1;
        self.watched.progress(*finished);
    }
}
