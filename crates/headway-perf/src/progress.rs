//! What a running connection has done, and how much of it in an interval.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headway_transport::Stream;

use super::protocol::Flow;

/// The counters of a running connection.
pub(super) struct Progress {
    /// The client's port, which identifies the connection.
    client_port: u16,
    /// Bytes taken from the connection, or given to it by the end that sends.
    bytes: AtomicU64,
    /// Those of them that are not what was sent.
    differing: AtomicU64,
    acknowledged: AtomicU64,
    retransmits: AtomicU64,
    cwnd: AtomicU64,
    /// Microseconds.
    rtt: AtomicU64,
    /// Whether the last three are known.
    is_known: AtomicBool,
    samples: Mutex<Vec<Sample>>,
}

/// The latency of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// When it was sent, from the start of the test.
    pub(super) at: Duration,
    /// From then to its answer.
    pub(super) latency: Duration,
}

impl Progress {
    pub(super) fn new(client_port: u16) -> Arc<Self> {
        Arc::new(Self {
            client_port,
            bytes: AtomicU64::new(0),
            differing: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            retransmits: AtomicU64::new(0),
            cwnd: AtomicU64::new(0),
            rtt: AtomicU64::new(0),
            is_known: AtomicBool::new(false),
            samples: Mutex::default(),
        })
    }

    pub(super) fn client_port(&self) -> u16 {
        self.client_port
    }

    pub(super) fn add(&self, n: usize) {
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn add_differing(&self, n: u64) {
        self.differing.fetch_add(n, Ordering::Relaxed);
    }

    /// Bytes that are not those that were sent.
    pub(super) fn differing(&self) -> u64 {
        self.differing.load(Ordering::Relaxed)
    }

    /// Of what was sent, what the peer's TCP has.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Takes over what the TCP knows; returns the retransmissions.
    pub(super) fn note(&self, stream: &Stream) -> Option<u64> {
        let state = stream.sender_state()?;
        // A SYN and a FIN count as a byte each.
        let acknowledged = match state.acknowledged {
            Some(acknowledged) => acknowledged.min(self.bytes()),
            None => self.bytes().saturating_sub(state.outstanding),
        };
        self.acknowledged.store(acknowledged, Ordering::Relaxed);
        self.retransmits.store(state.retransmissions, Ordering::Relaxed);
        self.cwnd.store(state.cwnd, Ordering::Relaxed);
        self.rtt.store(u64::try_from(state.rtt.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.is_known.store(true, Ordering::Relaxed);
        Some(state.retransmissions)
    }

    /// Retransmitted segments, where this end knows them.
    pub(super) fn retransmits(&self) -> Option<u64> {
        self.is_known.load(Ordering::Relaxed).then(|| self.retransmits.load(Ordering::Relaxed))
    }

    fn mark(&self, at: f64) -> Mark {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let state = self.is_known.load(Ordering::Relaxed).then(|| (load(&self.cwnd), load(&self.rtt)));
        Mark { at, retransmits: load(&self.retransmits), state }
    }

    pub(super) fn answered(&self, sample: Sample) {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
    }

    /// The latencies, from the `after`th on.
    pub(super) fn samples(&self, after: usize) -> Vec<Sample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.get(after..).unwrap_or_default().to_vec()
    }
}

/// Divides the counters of all connections of a flow into intervals.
pub(super) struct Meter {
    pub(super) flow: Flow,
    /// Whether this end sends the data.
    sends: bool,
    connections: Vec<Before>,
    last: f64,
}

/// A connection, and its counters at the end of the last interval.
struct Before {
    progress: Arc<Progress>,
    bytes: u64,
    differing: u64,
    retransmits: u64,
    samples: usize,
    /// What this end's TCP knew since then.
    marks: VecDeque<Mark>,
}

/// What this end's TCP knew at a time. The peer's report of an interval comes later, on a slow path by seconds.
#[derive(Clone, Copy)]
struct Mark {
    /// Seconds since the start of the test.
    at: f64,
    retransmits: u64,
    state: Option<(u64, u64)>,
}

/// What happened in an interval on all connections of a flow.
pub(super) struct Interval {
    pub(super) flow: Flow,
    /// Whether this end sends the data.
    pub(super) sends: bool,
    /// Seconds since the start of the test.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) streams: Vec<StreamInterval>,
    /// Latencies of requests that were answered in it.
    pub(super) samples: Vec<Sample>,
}

/// The same on one connection.
pub(super) struct StreamInterval {
    pub(super) bytes: u64,
    /// Those that are not what was sent, where this end receives.
    pub(super) differing: u64,
    pub(super) retransmits: u64,
    /// Congestion window in bytes and round-trip time in microseconds, where this end knows them.
    pub(super) state: Option<(u64, u64)>,
}

impl Meter {
    /// A meter that begins at `start`, in seconds since the start of the test.
    pub(super) fn new(flow: Flow, sends: bool, start: f64) -> Self {
        Self { flow, sends, connections: Vec::new(), last: start }
    }

    pub(super) fn add(&mut self, progress: Arc<Progress>) {
        let marks = VecDeque::new();
        self.connections.push(Before { progress, bytes: 0, differing: 0, retransmits: 0, samples: 0, marks });
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = &Arc<Progress>> {
        self.connections.iter().map(|before| &before.progress)
    }

    /// The connections, and how many bytes of each are in intervals.
    pub(super) fn carried(&self) -> impl Iterator<Item = (&Arc<Progress>, u64)> {
        self.connections.iter().map(|before| (&before.progress, before.bytes))
    }

    /// Keeps what this end's TCP knows now, for intervals that are reported later.
    pub(super) fn mark(&mut self, now: f64) {
        for before in &mut self.connections {
            let mark = before.progress.mark(now);
            before.marks.push_back(mark);
        }
    }

    /// The next interval has all that this end's TCP knows.
    pub(super) fn forget_marks(&mut self) {
        self.connections.iter_mut().for_each(|before| before.marks.clear());
    }

    /// Ends an interval at the first time of `until`, of which the peer tells at the second (seconds since the start of the
    /// test); `bytes` says what each connection has carried so far. `None` where there is no flow, or where no time has passed
    /// and nothing was carried.
    pub(super) fn cut(&mut self, until: (f64, f64), bytes: impl Fn(&Progress) -> u64) -> Option<Interval> {
        if self.connections.is_empty() {
            return None;
        }
        let (end, _) = until;
        let start = std::mem::replace(&mut self.last, end);
        let mut samples = Vec::new();
        let streams: Vec<StreamInterval> =
            self.connections.iter_mut().map(|before| before.cut(until, &bytes, &mut samples)).collect();
        if end - start < 0.01 && streams.iter().all(|stream| stream.bytes == 0) {
            self.last = start;
            return None;
        }
        Some(Interval { flow: self.flow, sends: self.sends, start, end, streams, samples })
    }
}

impl Before {
    /// What was known nearest to the first of these times, of which the second is now.
    fn known(&mut self, (end, now): (f64, f64)) -> Mark {
        while self.marks.get(1).is_some_and(|next| next.at <= end) {
            self.marks.pop_front();
        }
        let now = self.progress.mark(now);
        let distance = |mark: &Mark| (mark.at - end).abs();
        let marks = self.marks.iter().take(2).copied();
        marks.fold(now, |nearest, mark| if distance(&mark) < distance(&nearest) { mark } else { nearest })
    }

    fn cut(
        &mut self,
        until: (f64, f64),
        bytes: impl Fn(&Progress) -> u64,
        samples: &mut Vec<Sample>,
    ) -> StreamInterval {
        let known = self.known(until);
        let progress = &self.progress;
        // A report may be older than the last one counted.
        let bytes = bytes(progress).max(self.bytes);
        let retransmits = known.retransmits.max(self.retransmits);
        let differing = progress.differing();
        let new = progress.samples(self.samples);
        self.samples += new.len();
        samples.extend(new);
        StreamInterval {
            bytes: bytes - std::mem::replace(&mut self.bytes, bytes),
            differing: differing - std::mem::replace(&mut self.differing, differing),
            retransmits: retransmits - std::mem::replace(&mut self.retransmits, retransmits),
            state: known.state,
        }
    }
}

impl Interval {
    pub(super) fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.bytes).sum()
    }

    pub(super) fn differing(&self) -> u64 {
        self.streams.iter().map(|stream| stream.differing).sum()
    }

    pub(super) fn retransmits(&self) -> u64 {
        self.streams.iter().map(|stream| stream.retransmits).sum()
    }

    /// The sum of the congestion windows, and the longest round-trip time.
    pub(super) fn state(&self) -> Option<(u64, u64)> {
        let states = self.streams.iter().filter_map(|stream| stream.state);
        states.reduce(|(cwnd, rtt), (more, other)| (cwnd + more, rtt.max(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_add_up_to_the_whole() {
        let mut meter = Meter::new(Flow::Download, false, 0.0);
        let connections = [Progress::new(1), Progress::new(2)];
        connections.iter().for_each(|progress| meter.add(progress.clone()));
        let mut sum = 0;
        for (end, bytes) in [(1.0, [5, 0]), (2.0, [0, 0]), (3.0, [7, 1])] {
            connections.iter().zip(bytes).for_each(|(progress, n)| progress.add(n));
            let interval = meter.cut((end, end), Progress::bytes).expect("an interval");
            assert_eq!((interval.start, interval.end), (end - 1.0, end));
            assert_eq!(interval.bytes(), bytes.iter().sum::<usize>() as u64);
            sum += interval.bytes();
        }
        assert_eq!(sum, 13);
        assert!(meter.cut((3.001, 3.001), Progress::bytes).is_none(), "nothing has happened");
        // Reports of the peer that are out of date take nothing back.
        assert_eq!(meter.cut((4.0, 4.0), |_| 1).expect("an interval").bytes(), 0);
        assert_eq!(meter.cut((5.0, 5.0), Progress::bytes).expect("an interval").bytes(), 0);
    }

    #[test]
    fn late_reports_are_of_their_time() {
        let mut meter = Meter::new(Flow::Upload, true, 0.0);
        let progress = Progress::new(1);
        meter.add(progress.clone());
        for second in 1..=5_u64 {
            progress.retransmits.store(10 * second, Ordering::Relaxed);
            meter.mark(second as f64);
        }
        // The first four reports come after five seconds.
        let reported: Vec<u64> = [1.1, 2.1, 3.1, 4.1]
            .map(|end| meter.cut((end, 5.5), |_| 0).expect("an interval").retransmits())
            .into();
        assert_eq!(reported, [10, 10, 10, 10]);
        progress.retransmits.store(58, Ordering::Relaxed);
        assert_eq!(meter.cut((5.4, 5.5), |_| 0).expect("an interval").retransmits(), 18, "now is nearer");
    }
}
