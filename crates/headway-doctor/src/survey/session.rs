//! One end of a survey, without I/O: which frames are due, and what arrived.
//!
//! The end that asks sends while fewer than [`WINDOW`] of its frames are unanswered; the other one answers each new frame with one
//! of the same length, and sends nothing else: no one gains from asking in another's name. An answer names the frame that it answers, so those
//! before it are known to be lost, they or their answers; if no answer comes at all, the window opens again after a time.

use std::collections::VecDeque;
use std::net::SocketAddr;

use headway_units::{Duration, Instant};

use super::frames::{Frames, Numbers};
use super::record::{Arrived, MAX_FRAMES, Record};

/// Unanswered frames: a radio's queue has room for them, and its channel is used without a pause.
const WINDOW: u32 = 4;
/// Bounds of the time without an answer after which the window opens again.
const LEAST_WAIT: Duration = Duration::from_millis(100);
const MOST_WAIT: Duration = Duration::from_secs(10);

/// What the two ends of a survey agree on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    /// Of the frames; no one else knows it.
    pub(super) key: u64,
    /// The length of their packets, in bytes.
    pub(super) len: usize,
}

/// One end of a survey.
#[derive(Debug)]
pub(super) struct Session {
    outbound: Frames,
    inbound: Frames,
    record: Record,
    /// Which frames of the other end arrived.
    seen: Vec<bool>,
    first_at: Option<Instant>,
    turn: Turn,
}

/// Which frames an end sends.
#[derive(Debug)]
enum Turn {
    Asks(Window),
    /// Those whose answers are due.
    Answers(VecDeque<u32>),
}

#[derive(Debug)]
struct Window {
    /// When each frame was sent.
    sent_at: Vec<Instant>,
    /// Frames before this one are answered or given up.
    floor: u32,
    /// The shortest time between two frames.
    pace: Duration,
    wait: Duration,
    /// When the window opens again.
    opens_at: Option<Instant>,
    is_over: bool,
}

impl Session {
    /// The end that asks, and sends for `time` at most as many frames as a survey has. An answer took `rtt` so far.
    pub(super) fn asking(
        agreed: Agreed,
        ours: SocketAddr,
        peer: SocketAddr,
        time: Duration,
        rtt: Duration,
    ) -> Self {
        let window = Window {
            sent_at: Vec::new(),
            floor: 0,
            pace: Duration::from_nanos(time.as_nanos() / u64::from(MAX_FRAMES)),
            wait: wait_of(rtt),
            opens_at: None,
            is_over: false,
        };
        Self::new(agreed, ours, peer, Turn::Asks(window))
    }

    /// The end that answers.
    pub(super) fn answering(agreed: Agreed, ours: SocketAddr, peer: SocketAddr) -> Self {
        Self::new(agreed, ours, peer, Turn::Answers(VecDeque::new()))
    }

    fn new(Agreed { key, len }: Agreed, ours: SocketAddr, peer: SocketAddr, turn: Turn) -> Self {
        // A modem that hears itself is not its peer.
        let (theirs, asks) = (!key, matches!(turn, Turn::Asks(_)));
        let (out, inbound) = if asks { (key, theirs) } else { (theirs, key) };
        Self {
            outbound: Frames::new(out, ours, peer, len),
            inbound: Frames::new(inbound, peer, ours, len),
            record: Record::default(),
            seen: vec![false; MAX_FRAMES as usize],
            first_at: None,
            turn,
        }
    }

    /// A packet arrived; returns whether it is of this survey.
    pub(super) fn on_packet(
        &mut self,
        packet: &[u8],
        is_readable: bool,
        is_intact: bool,
        at: Instant,
    ) -> bool {
        let Some(found) = self.inbound.read(packet, is_readable) else { return false };
        let Numbers { number, answers } = found.numbers;
        let is_new = self.seen.get_mut(number as usize).is_some_and(|seen| !std::mem::replace(seen, true));
        if !is_new || self.record.is_full() {
            return true;
        }
        let since = at.saturating_since(*self.first_at.get_or_insert(at));
        self.record.push(Arrived::new(&found, since.as_millis() as u32, is_intact));
        match &mut self.turn {
            Turn::Asks(window) => window.on_answer(answers, at),
            Turn::Answers(due) => due.push_back(number),
        }
        true
    }

    /// Writes the next frame to `place` if one is due; returns its length.
    pub(super) fn poll(&mut self, now: Instant, place: &mut [u8]) -> Option<usize> {
        let answers = match &mut self.turn {
            Turn::Asks(window) => window.next(now).filter(|_| !self.record.is_full())?,
            Turn::Answers(due) => due.pop_front()?,
        };
        let numbers = Numbers { number: self.record.sent, answers };
        self.record.sent += 1;
        self.outbound.write(numbers, place)
    }

    /// Whether [`Session::poll`] has a frame.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        match &self.turn {
            Turn::Asks(_) => self.next_deadline().is_some_and(|due| due <= now),
            Turn::Answers(due) => !due.is_empty(),
        }
    }

    /// When a frame of the end that asks is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match &self.turn {
            Turn::Asks(window) if !self.record.is_full() => window.due(),
            _ => None,
        }
    }

    /// Sends no more.
    pub(super) fn stop(&mut self) {
        if let Turn::Asks(window) = &mut self.turn {
            window.is_over = true;
        }
    }

    /// Whether all is sent.
    pub(super) fn is_over(&self) -> bool {
        self.record.is_full() || matches!(&self.turn, Turn::Asks(window) if window.is_full())
    }

    /// How long the answer to the last frame may take.
    pub(super) fn wait(&self) -> Duration {
        if let Turn::Asks(window) = &self.turn { window.wait } else { LEAST_WAIT }
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    pub(super) fn into_record(mut self) -> Record {
        self.record.sort();
        self.record
    }
}

impl Window {
    fn is_full(&self) -> bool {
        self.is_over || self.sent_at.len() >= MAX_FRAMES as usize
    }

    fn is_open(&self) -> bool {
        (self.sent_at.len() as u32) < self.floor + WINDOW
    }

    fn due(&self) -> Option<Instant> {
        if self.is_full() {
            return None;
        }
        let paced = self.sent_at.last().map_or(Instant::ZERO, |last| *last + self.pace);
        if self.is_open() { Some(paced) } else { self.opens_at }
    }

    fn next(&mut self, now: Instant) -> Option<u32> {
        self.due().filter(|due| *due <= now)?;
        if !self.is_open() {
            // Slow links are not flooded.
            self.wait = (self.wait + self.wait).min(MOST_WAIT);
            self.floor = self.sent_at.len() as u32;
        }
        self.sent_at.push(now);
        self.opens_at = Some(now + self.wait);
        Some(0)
    }

    fn on_answer(&mut self, answers: u32, at: Instant) {
        let Some(sent_at) = self.sent_at.get(answers as usize) else { return };
        self.wait = wait_of(at.saturating_since(*sent_at)).max(self.wait - self.wait / 8);
        self.floor = self.floor.max(answers + 1);
    }
}

/// Four times what an answer takes: frames wait for those before them.
fn wait_of(rtt: Duration) -> Duration {
    (rtt + rtt + rtt + rtt).clamp(LEAST_WAIT, MOST_WAIT)
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::rng::Rng;

    use super::*;

    fn ends() -> [Session; 2] {
        let (ours, peer) = ("10.0.0.1:7".parse().unwrap(), "10.0.0.2:9".parse().unwrap());
        let agreed = Agreed { key: 77, len: 400 };
        let (time, rtt) = (Duration::from_secs(10), Duration::from_millis(10));
        [Session::asking(agreed, ours, peer, time, rtt), Session::answering(agreed, peer, ours)]
    }

    /// Virtual time, and a link that loses a quarter in each direction: the records say which. The end that answers never sends more than it received.
    #[test]
    fn losses_are_counted_where_they_are() {
        let seed = 11;
        eprintln!("seed {seed}");
        let (mut rng, mut ends, mut lost) = (Rng::new(seed), ends(), [0, 0]);
        let mut packet = [0; 400];
        for ms in 0..10_000 {
            let now = Instant::ZERO + Duration::from_millis(ms);
            for from in [0, 1] {
                while ends[from].is_due(now)
                    && let Some(len) = ends[from].poll(now, &mut packet)
                {
                    assert!(!ends[from].on_packet(&packet[..len], true, true, now), "its own frame");
                    if rng.one_in(4) {
                        lost[from] += 1;
                    } else {
                        assert!(ends[1 - from].on_packet(&packet[..len], true, true, now));
                    }
                }
            }
            assert_eq!(ends[1].record().sent as usize, ends[1].record().frames().len());
        }
        let [asking, answering] = ends.map(Session::into_record);
        assert!(asking.sent > 1000, "{}", asking.sent);
        assert_eq!(asking.sent as usize, lost[0] + answering.frames().len());
        assert_eq!(answering.sent as usize, lost[1] + asking.frames().len());
        assert!(answering.is_plausible(asking.sent, 400) && !answering.is_plausible(asking.sent / 2, 400));
        let trace = answering.trace(asking.sent).expect("frames");
        assert_eq!((trace.packets(), trace.share_hit()), (u64::from(asking.sent), 0.0));
        assert!((trace.share_lost() - lost[0] as f64 / f64::from(asking.sent)).abs() < 1e-9);
    }

    #[test]
    fn without_answers_four_frames_are_sent_and_then_ever_fewer() {
        let [mut asking, _] = ends();
        let sent: Vec<u64> = (0..60_000)
            .filter(|ms| asking.poll(Instant::ZERO + Duration::from_millis(*ms), &mut [0; 400]).is_some())
            .collect();
        assert!(sent.len() < 60 && sent.len() > 8, "{sent:?}");
        assert!(
            sent[3] < 10 && sent[4] >= 100 && sent[sent.len() - 1] - sent[sent.len() - 5] > 9000,
            "{sent:?}"
        );
    }

    #[test]
    fn an_old_frame_that_comes_again_is_not_answered() {
        let [mut asking, mut answering] = ends();
        let mut packet = [0; 400];
        asking.poll(Instant::ZERO, &mut packet).expect("a first frame");
        for _ in 0..5 {
            assert!(answering.on_packet(&packet, true, true, Instant::ZERO));
        }
        let polls = (0..5).filter(|_| answering.poll(Instant::ZERO, &mut [0; 400]).is_some()).count();
        assert_eq!(polls, 1);
    }
}
