//! Whether no packet waits at the bottleneck, by the shortest round-trip time of the last minute.
//!
//! A queue lets every packet wait, a delayed ACK or jitter only some: so the shortest of the last [`BLOCK`] round-trip times
//! counts. That of the path is the shortest of a minute: a queue that others keep full looks like a part of the path for
//! shorter times.

use headway_units::{Duration, Instant};

/// The samples of which the shortest counts, as far as they are of one round trip.
const BLOCK: usize = 8;
/// Waits below this, in microseconds, or below this part of the round-trip time, are noise: the clock's, and the host's.
const NOISE: u32 = 1000;
const NOISE_PART: u32 = 64;
/// As is the time in which two packets are transmitted: SYNs, which are shorter, may have the shortest round-trip time, and
/// one packet is awaited by a delayed ACK. It is no longer than this part of the round-trip time: a sender among many takes
/// the link for slower than it is.
const PACKETS: u32 = 2;
const PACKETS_PART: u32 = 8;
/// The shortest round-trip time is that of this span and of the two before.
const SPAN: Duration = Duration::from_secs(20);

/// See the module's documentation. Paths are many: times are in microseconds, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EmptyQueue {
    /// When it was taken, and the round-trip time.
    samples: [(u32, u32); BLOCK],
    count: u32,
    /// The shortest of the present span and of the two before.
    shortest: [u32; 3],
    ends: Instant,
    /// The time in which a packet is transmitted, as far as the sender knows.
    packet: u32,
}

impl Default for EmptyQueue {
    fn default() -> Self {
        Self {
            samples: [(0, u32::MAX); BLOCK],
            count: 0,
            shortest: [u32::MAX; 3],
            ends: Instant::ZERO,
            packet: 0,
        }
    }
}

impl EmptyQueue {
    /// A round-trip time was sampled. Says whether it begins a span. A packet is transmitted in the time `packet`, as far as
    /// the sender knows.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: Duration, packet: Duration) -> bool {
        self.packet = micros(packet);
        let begins = now >= self.ends;
        if begins {
            self.shortest = [u32::MAX, self.shortest[0], self.shortest[1]];
            self.ends = now + SPAN;
        }
        self.samples[self.count as usize % BLOCK] = ((now.as_nanos() / 1000) as u32, micros(rtt));
        self.count = self.count.wrapping_add(1);
        self.shortest[0] = self.shortest[0].min(micros(rtt));
        begins
    }

    /// Whether the last packets waited no longer than noise.
    pub(super) fn is_empty(&self) -> bool {
        let (now, latest) = self.samples[self.count.wrapping_sub(1) as usize % BLOCK];
        let of_the_round = |(at, rtt): &(u32, u32)| (now.wrapping_sub(*at) < latest).then_some(*rtt);
        let recent = self.samples.iter().filter_map(of_the_round).min().unwrap_or(latest);
        let [present, before, earlier] = self.shortest;
        let path = present.min(before).min(earlier);
        let packets = self.packet.saturating_mul(PACKETS).min(path / PACKETS_PART);
        self.count > 0 && recent - path.min(recent) <= NOISE.max(path / NOISE_PART).max(packets)
    }
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
        queue: EmptyQueue,
        now: Instant,
        packet: Duration,
    }

    impl Path {
        fn new() -> Self {
            Self { queue: EmptyQueue::default(), now: Instant::ZERO, packet: Duration::ZERO }
        }

        fn sample(&mut self, rtts: impl IntoIterator<Item = u64>) -> &mut Self {
            for rtt in rtts {
                self.pause(1);
                self.queue.on_rtt(self.now, Duration::from_millis(rtt), self.packet);
            }
            self
        }

        fn pause(&mut self, millis: u64) -> &mut Self {
            self.now += Duration::from_millis(millis);
            self
        }

        fn is_empty(&self) -> bool {
            self.queue.is_empty()
        }
    }

    #[test]
    fn a_wait_of_every_packet_is_a_queue() {
        let mut path = Path::new();
        assert!(!path.is_empty(), "nothing is known");
        assert!(path.sample([100; 16]).is_empty());
        assert!(path.sample([102; 7]).is_empty(), "one of the last eight did not wait");
        assert!(!path.sample([102]).is_empty());
        assert!(path.sample([101]).is_empty(), "a 64th is noise");
    }

    #[test]
    fn delayed_acks_and_jitter_are_no_queue() {
        let mut path = Path::new();
        path.sample([100; 8]);
        assert!((0..100).all(|_| path.sample([140, 140, 101, 140]).is_empty()), "delayed ACKs");
        let mut path = Path::new();
        path.sample([100; 8]);
        assert!((0..400).all(|number| path.sample([100 + number * 7 % 10]).is_empty()), "jitter of 9 ms");
    }

    #[test]
    fn only_samples_of_the_last_round_trip_count() {
        let mut path = Path::new();
        assert!(!path.sample([10; 8]).pause(20).sample([15]).is_empty());
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
        (0..12).for_each(|_| assert!(!path.pause(4900).sample([300; 8]).is_empty()));
        (0..5).for_each(|_| {
            path.pause(4900).sample([300; 8]);
        });
        assert!(path.is_empty());
    }
}
