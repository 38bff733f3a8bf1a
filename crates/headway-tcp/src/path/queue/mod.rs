//! What round-trip times say of the queue at the bottleneck.
//!
//! A queue lets every packet wait, a delayed ACK or jitter only some: so the shortest of several round-trip times in a row
//! counts. A packet waits for as long as its round-trip time exceeds the shortest of late, which is
//! that of an empty queue, or of the part of a queue that never drains. (The shortest of all times would take a path that
//! became longer for a queue that never ends.)
//!
//! A queue that overflows drops what arrives while it is full, and what is admitted around that time waits for all of it. So
//! a packet that was lost while its neighbours waited for less than half of the longest wait was not lost to an overflow,
//! however shallow the queue is.

mod others;

use headway_units::{Duration, Instant};
use others::OthersQueue;

/// The number of samples that are kept, and of those that count in most places.
const SAMPLES: usize = 32;
const BLOCK: usize = 8;
/// Waits below this, in microseconds, or below this part of the round-trip time without a queue, are noise: the clock's, and
/// the host's. The part is fitted to jitter on long paths.
const NOISE: u32 = 1000;
const NOISE_PART: u32 = 32;
/// As is the time in which two packets are transmitted: of a small packet it is not known how much sooner it was transmitted, and
/// one packet is awaited by a delayed ACK. It is no longer than this part of the round-trip time: a sender among many takes
/// the link for slower than it is.
const PACKETS: u32 = 2;
const PACKETS_PART: u32 = 8;
/// What is known of a span of this length is kept together.
const SPAN: Duration = Duration::from_secs(5);
/// The present span and the one before are *of late*. All together are a minute: a queue that others keep full looks like a
/// part of the path for shorter times.
const SPANS: usize = 12;
/// Spans after which what the path carried counts half.
const FORGOTTEN: u32 = 4;

/// Round-trip times of one span, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// The longest that several in a row had.
    longest: u32,
    /// Of full-sized segments.
    shortest: u32,
    /// Of others, which are transmitted sooner.
    shortest_small: u32,
}

const NO_SPAN: Span = Span { longest: 0, shortest: u32::MAX, shortest_small: u32::MAX };

/// See the module's documentation. Paths are many: times are in microseconds, modulo 2^32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    /// When it was taken, and the round-trip time.
    samples: [(u32, u32); SAMPLES],
    count: u32,
    /// The present one first.
    spans: [Span; SPANS],
    ends: Instant,
    begun: u32,
    /// The time in which a packet is transmitted, as far as the sender knows.
    packet: u32,
    others: OthersQueue,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            samples: [(0, u32::MAX); SAMPLES],
            count: 0,
            spans: [NO_SPAN; SPANS],
            ends: Instant::ZERO,
            begun: 0,
            packet: 0,
            others: OthersQueue::default(),
        }
    }
}

impl Queue {
    /// A round-trip time was sampled, of a `full`-sized segment or of a smaller one. Says whether what was learnt of the path becomes
    /// old. A packet is transmitted in the time `packet`, as far as the sender knows.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: Duration, packet: Duration, full: bool) -> bool {
        self.packet = micros(packet);
        let begins = now >= self.ends;
        if begins {
            // The queue from before a pause is gone; the path is the same, as far as was seen.
            if now.saturating_since(self.ends) >= SPAN {
                self.spans[0].longest = 0;
            }
            self.spans.rotate_right(1);
            self.spans[0] = NO_SPAN;
            self.ends = now + SPAN;
            self.begun = self.begun.wrapping_add(1);
            self.others.halve();
        }
        self.samples[self.count as usize % SAMPLES] = ((now.as_nanos() / 1000) as u32, micros(rtt));
        self.count = self.count.saturating_add(1);
        let longest = if self.count as usize >= BLOCK { self.shortest_in_a_row() } else { 0 };
        let span = &mut self.spans[0];
        let shortest = if full { &mut span.shortest } else { &mut span.shortest_small };
        *shortest = micros(rtt).min(*shortest);
        span.longest = span.longest.max(longest);
        begins && self.begun.is_multiple_of(FORGOTTEN)
    }

    /// Segments reached the receiver that were sent `below` the path's rate, and `at` it, a round trip's being `volume`.
    pub(super) fn on_survived(&mut self, below: u32, at: u32, volume: u32) {
        let wait = self.latest().1.saturating_sub(self.floor());
        self.others.on_survived(below, at, volume, wait);
    }

    /// Whether others keep a queue.
    pub(super) fn is_of_others(&self) -> bool {
        self.others.stands()
    }

    /// Whether others keep none, and the queue was so long that another's would be seen.
    pub(super) fn is_ours_alone(&self) -> bool {
        self.longest_of_all() >= others::VISIBLE && !self.is_of_others()
    }

    /// Whether the last packet waited for so short a time that the queue cannot have overflowed.
    pub(super) fn is_short(&self) -> bool {
        self.wait() <= (self.longest() / 2).max(noise(self.floor()))
    }

    /// Whether the last packets waited for twice what is noise.
    pub(super) fn waits(&self) -> bool {
        self.wait() >= 2 * noise(self.floor())
    }

    /// A queue overflowed that seemed short: the longest wait was no queue's.
    pub(super) fn forget_longest(&mut self) {
        self.spans[..2].iter_mut().for_each(|span| span.longest = 0);
    }

    /// Whether one of the last packets, as far as they are of a few round trips, waited no longer than noise.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty_by(BLOCK)
    }

    /// The same of more packets. Where delay varies, all of a few may have waited; but a queue may have built up since.
    pub(super) fn was_empty(&self) -> bool {
        self.is_empty_by(SAMPLES)
    }

    fn is_empty_by(&self, samples: usize) -> bool {
        let (_, latest) = self.latest();
        let recent = self.shortest_within(latest.saturating_mul(BLOCK as u32), samples);
        let path = self.path();
        let packets = self.packet.saturating_mul(PACKETS).min(path / PACKETS_PART);
        self.count > 0 && recent.saturating_sub(path) <= noise(path).max(packets)
    }

    /// Whether a wait of twice what is noise was seen in the last minute. A sender that searches for bandwidth makes one. If it sees
    /// none, others may keep the queue full, so that the shortest round-trip time that it knows is one through all of it.
    pub(super) fn varies(&self) -> bool {
        self.longest_of_all() >= 2 * noise(self.path())
    }

    /// The longest wait of the last minute.
    fn longest_of_all(&self) -> u32 {
        let longest = self.spans.iter().map(|span| span.longest).max().unwrap_or(0);
        longest.saturating_sub(self.path())
    }

    /// The shortest of as many of the last round-trip times as are not all of delayed ACKs: two where a round trip has a
    /// block of them, or else a block.
    fn shortest_in_a_row(&self) -> u32 {
        let (now, latest) = self.latest();
        let (oldest, _) = self.back(BLOCK - 1);
        let enough = if now.wrapping_sub(oldest) < latest { 2 } else { BLOCK };
        (0..enough).map(|steps| self.back(steps).1).min().unwrap_or(latest)
    }

    fn latest(&self) -> (u32, u32) {
        self.back(0)
    }

    /// The sample that is this number of samples before the latest.
    fn back(&self, steps: usize) -> (u32, u32) {
        self.samples[(self.count as usize).wrapping_sub(1 + steps) % SAMPLES]
    }

    /// The shortest round-trip time of the last minute.
    fn path(&self) -> u32 {
        self.shortest(&self.spans)
    }

    /// The shortest round-trip time of late.
    fn floor(&self) -> u32 {
        self.shortest(&self.spans[..2])
    }

    /// The shortest round-trip time of a full-sized segment in these spans. A small one would have taken a packet's time longer.
    fn shortest(&self, spans: &[Span]) -> u32 {
        let least = |of: fn(&Span) -> u32| spans.iter().map(of).min().unwrap_or(u32::MAX);
        let small = least(|span| span.shortest_small);
        least(|span| span.shortest).min(small.saturating_add(self.packet.min(small / PACKETS_PART)))
    }

    /// The longest wait of late.
    fn longest(&self) -> u32 {
        self.spans[0].longest.max(self.spans[1].longest).saturating_sub(self.floor())
    }

    /// The shortest wait of the last packets, as far as they are of half a round trip: jitter and delayed ACKs let some
    /// wait for longer.
    fn wait(&self) -> u32 {
        let (_, latest) = self.latest();
        self.shortest_within(latest / 2, BLOCK).saturating_sub(self.floor())
    }

    /// The shortest of the last round-trip times, as far as they were sampled within `span` microseconds.
    fn shortest_within(&self, span: u32, samples: usize) -> u32 {
        let (now, latest) = self.latest();
        let recent = |(at, rtt): (u32, u32)| (now.wrapping_sub(at) < span).then_some(rtt);
        (0..samples).map(|steps| self.back(steps)).filter_map(recent).min().unwrap_or(latest)
    }
}

/// The longest wait that is noise on a path whose round-trip time is `path` without a queue.
fn noise(path: u32) -> u32 {
    NOISE.max(path / NOISE_PART)
}

/// At most 71 minutes.
fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples that follow each other by a millisecond.
    struct Path {
        queue: Queue,
        now: Instant,
        packet: Duration,
    }

    impl Path {
        fn new() -> Self {
            Self { queue: Queue::default(), now: Instant::ZERO, packet: Duration::ZERO }
        }

        fn sample(&mut self, rtts: impl IntoIterator<Item = u64>) -> &mut Self {
            self.sample_sized(rtts, true)
        }

        fn sample_sized(&mut self, rtts: impl IntoIterator<Item = u64>, full: bool) -> &mut Self {
            for rtt in rtts {
                self.pause(1);
                self.queue.on_rtt(self.now, Duration::from_millis(rtt), self.packet, full);
            }
            self
        }

        fn pause(&mut self, millis: u64) -> &mut Self {
            self.now += Duration::from_millis(millis);
            self
        }

        /// Whether a packet that waits `wait` ms, a round trip later, meets a short queue.
        fn is_short(&self, wait: u64) -> bool {
            let mut path = Self { queue: self.queue.clone(), ..*self };
            path.pause(100 + wait).sample([100 + wait]);
            path.queue.is_short()
        }

        fn is_empty(&self) -> bool {
            self.queue.is_empty()
        }
    }

    #[test]
    fn half_of_the_longest_wait_is_long_however_shallow_the_queue() {
        let mut path = Path::new();
        path.sample([100]).sample([110; 8]).sample([100]);
        assert!(path.is_short(5) && !path.is_short(6));
        path.sample([200; 8]);
        assert!(path.is_short(50) && !path.is_short(51));
    }

    /// The handshake takes 100 ms, a full-sized packet at least 108.
    #[test]
    fn a_small_packet_is_transmitted_sooner() {
        let is_short = |packet, wait: u64| {
            let mut path = Path::new();
            path.packet = Duration::from_millis(packet);
            path.sample_sized([100], false).sample([108 + wait; 8]);
            path.queue.is_short()
        };
        assert!(is_short(8, 0) && is_short(8, 3) && !is_short(8, 4));
        assert!(!is_short(0, 0), "eight milliseconds in a queue");
        assert!(is_short(50, 8) && !is_short(50, 9), "an eighth at most");
        // Small ones alone show a queue too.
        let mut path = Path::new();
        assert!(path.sample_sized([100; 8], false).queue.is_short());
        assert!(!path.sample_sized([120; 8], false).queue.is_short());
    }

    #[test]
    fn delayed_acks_are_no_queue() {
        let mut path = Path::new();
        path.sample([100]).sample([110, 160].repeat(10));
        assert!(path.is_short(5) && !path.is_short(6));
        // With few packets in flight most are delayed.
        let mut path = Path::new();
        path.sample([100]);
        for rtt in [110, 160, 160, 160].repeat(10) {
            path.pause(40).sample([rtt]);
        }
        assert!(path.is_short(5) && !path.is_short(6));
    }

    #[test]
    fn a_short_queue_is_seen_by_a_few_of_many_packets() {
        let mut path = Path::new();
        path.sample([100; 8]).sample([120, 120]).sample([100; 8]);
        assert!(path.is_short(10) && !path.is_short(11));
    }

    #[test]
    fn a_queue_varies_that_was_seen_to_build_up_in_the_last_minute() {
        let mut path = Path::new();
        path.sample([100; 8]).sample([106; 8]);
        assert!(!path.queue.varies(), "a 32nd is noise, and so is nearly twice that");
        assert!(path.sample([107; 8]).queue.varies());
        (0..11).for_each(|_| assert!(path.pause(4995).sample([100; 8]).queue.varies()));
        (0..2).for_each(|_| {
            path.pause(4995).sample([100; 8]);
        });
        assert!(!path.queue.varies());
    }

    #[test]
    fn who_sees_no_other_is_alone_where_another_would_be_seen() {
        let alone = |wait: u64, others: u64| {
            let mut path = Path::new();
            path.sample([100; 8]).sample([100 + wait; 8]).sample([100]).queue.on_survived(1, 100, 100);
            path.sample([100 + others]).queue.on_survived(1, 100, 100);
            path.queue.is_ours_alone()
        };
        assert!(alone(6, 0) && alone(6, 3));
        assert!(!alone(5, 0), "another's queue may be as short");
        assert!(!alone(6, 4), "half of what is sent at the path's rate waits");
    }

    #[test]
    fn the_shortest_wait_of_half_a_round_trip_counts() {
        for (pause, short) in [(74, true), (75, false)] {
            let mut path = Path::new();
            path.sample([100; 8]).sample([200; 8]).pause(100).sample([100]).pause(pause).sample([151]);
            assert_eq!(path.queue.is_short(), short, "{} ms before, of 151 / 2", pause + 1);
        }
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut path = Path::new();
        path.sample([100]).sample([200; 8]);
        assert!(path.pause(5000).sample([100]).sample([110; 8]).is_short(50), "of the previous span");
        assert!(!path.pause(5000).sample([110; 8]).is_short(6));
        assert!(!path.sample([200; 8]).pause(60_000).sample([100]).is_short(6), "a minute later");
    }

    #[test]
    fn the_queue_of_others_is_forgotten_with_the_spans() {
        let mut path = Path::new();
        path.sample([100]).pause(100).sample([110]).queue.on_survived(1, 100, 100);
        for _ in 0..3 {
            assert!(path.queue.is_of_others());
            path.pause(6000).sample([100]).queue.on_survived(1, 100, 100);
        }
        assert!(!path.queue.is_of_others());
    }

    #[test]
    fn a_path_that_became_longer_is_no_long_queue() {
        let mut path = Path::new();
        path.sample([100]).sample([110; 8]);
        for _ in 0..2 {
            path.pause(4000).sample([380]).queue.on_survived(1, 100, 100);
            assert!(!path.queue.is_short() && path.queue.is_of_others(), "it may be a queue");
        }
        path.pause(5000).sample([380]).sample([410; 8]);
        assert!(path.is_short(295) && !path.is_short(296));
        path.sample([380]).queue.on_survived(1, 2000, 2000);
        assert!(!path.queue.is_of_others());
    }

    #[test]
    fn a_path_that_became_longer_is_known_after_two_pauses() {
        let mut path = Path::new();
        path.sample([100]);
        for known in [100, 380, 380] {
            path.pause(20_000).sample([380; 3]);
            assert_eq!(path.queue.floor(), known * 1000);
        }
    }

    #[test]
    fn a_long_wait_that_was_no_queue_is_forgotten() {
        let mut path = Path::new();
        path.sample([100]).sample([200; 8]).pause(5000).sample([100]).sample([200; 8]);
        assert!(path.is_short(50));
        path.queue.forget_longest();
        path.sample([130; 8]);
        assert!(path.is_short(15) && !path.is_short(16));
    }

    #[test]
    fn a_packet_waits_for_twice_what_is_noise() {
        let waits = |wait: u64| Path::new().sample([100]).pause(100).sample([100 + wait]).queue.waits();
        assert!(waits(7) && !waits(6));
    }

    #[test]
    fn noise_says_nothing() {
        let mut path = Path::new();
        path.sample([100]);
        assert!(path.is_short(3) && !path.is_short(4));
    }

    #[test]
    fn a_wait_of_every_packet_is_a_queue() {
        let mut path = Path::new();
        assert!(!path.is_empty(), "nothing is known");
        assert!(path.sample([100; 16]).is_empty());
        assert!(path.sample([104; 7]).is_empty(), "one of the last eight did not wait");
        assert!(!path.sample([104]).is_empty());
        assert!(path.sample([103]).is_empty(), "a 32nd is noise");
    }

    #[test]
    fn of_more_packets_one_may_have_met_an_empty_queue() {
        let mut path = Path::new();
        path.sample([100; 16]).sample([104; 31]);
        assert!(!path.is_empty() && path.queue.was_empty());
        assert!(!path.sample([104]).queue.was_empty());
        assert!(!path.sample([100]).pause(900).sample([104]).queue.was_empty(), "of eight round trips");
    }

    #[test]
    fn delayed_acks_and_jitter_do_not_fill_it() {
        let mut path = Path::new();
        path.sample([100; 8]);
        assert!((0..100).all(|_| path.sample([140, 140, 101, 140]).is_empty()), "delayed ACKs");
        let mut path = Path::new();
        path.sample([100; 8]);
        assert!((0..400).all(|number| path.sample([100 + number * 7 % 10]).is_empty()), "jitter of 9 ms");
    }

    #[test]
    fn only_samples_of_the_last_eight_round_trips_count() {
        for (pause, empty) in [(118, true), (119, false)] {
            let mut path = Path::new();
            assert_eq!(path.sample([10; 8]).pause(pause).sample([15]).is_empty(), empty);
        }
    }

    #[test]
    fn the_time_of_two_packets_is_noise() {
        let is_empty = |packet, rtt| {
            let mut path = Path::new();
            path.packet = Duration::from_millis(packet);
            path.sample([160; 8]).sample([rtt; 8]).is_empty()
        };
        assert!(!is_empty(4, 169) && is_empty(5, 169));
        assert!(is_empty(50, 180) && !is_empty(50, 181), "a sender among many is slow, and not the link");
    }

    #[test]
    fn a_path_that_became_longer_is_empty_after_a_minute() {
        let mut path = Path::new();
        path.sample([100; 8]);
        (0..11).for_each(|_| assert!(!path.pause(4995).sample([300; 8]).is_empty()));
        (0..2).for_each(|_| {
            path.pause(4995).sample([300; 8]);
        });
        assert!(path.is_empty());
    }

    #[test]
    fn what_was_learnt_becomes_old_once_in_several_spans() {
        let mut queue = Queue::default();
        let old = (0..10 * FORGOTTEN)
            .filter(|&n| {
                queue.on_rtt(Instant::ZERO + SPAN / 5 * n, Duration::from_millis(100), Duration::ZERO, true)
            })
            .count();
        assert_eq!(old, 2);
    }
}
