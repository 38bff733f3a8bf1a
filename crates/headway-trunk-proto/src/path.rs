//! Where a peer is: path validation, as in RFC 9000, sections 8.2 and 9.
//!
//! Whoever sees a peer's packets can repeat them from any address before they arrive, and none of them says where it was sent from.
//! So what an address has sent makes it no more than a place to ask at: a challenge goes there, and another to where the peer was. The
//! peer is where it answers, and where it was as long as it answers there.

use std::net::SocketAddr;

use headway_units::{Duration, Instant};

use crate::control::{CHALLENGE_LEN, Token};

/// Addresses that are asked, or were lately, at most.
const MOST: usize = 4;
/// Challenges to an address follow each other after a round trip, but not sooner or later than this.
const EVERY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(300));
/// The number of these times that the peer is given to answer where it was.
const CHANCES: u32 = 4;
/// An address has failed if there is no answer after this time (RFC 9000, 8.2.4).
const FAILED_AFTER: Duration = Duration::from_secs(3);
/// It is not asked again before this. A peer of a version that knows no challenges hears nothing of us meanwhile, and begins a
/// handshake.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(20);

/// RFC 9000, 8.1: how many bytes may be sent to an address that has not answered, if `received` bytes came from there.
pub(crate) fn budget(received: usize) -> usize {
    3 * received
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A challenge to an address.
    Challenge(SocketAddr, Token),
    /// The peer is there, and not where it was.
    Move(SocketAddr),
}

/// An address at which the peer may be.
struct Candidate {
    at: SocketAddr,
    since: Instant,
    /// When the next challenges are due; the first follow each other in this time, later ones in twice the time before.
    next: Instant,
    every: Duration,
    /// How often it was asked.
    asked: u32,
    /// What was sent there, and to where the peer was; and what was answered.
    tokens: [Token; 2],
    is_answered: [bool; 2],
    /// How many bytes may be sent there.
    budget: usize,
}

impl Candidate {
    /// When the peer has had its time to answer where it was.
    fn decided_at(&self) -> Instant {
        self.since + self.every * CHANCES
    }

    /// When it is forgotten. If the peer still is where it was, it may leave that later.
    fn forgotten_at(&self) -> Instant {
        self.since + if self.is_answered[0] { FAILED_AFTER } else { FORGOTTEN_AFTER }
    }

    fn is_asked(&self, now: Instant) -> bool {
        let is_settled = self.is_answered[0] && (self.is_answered[1] || self.decided_at() <= now);
        !is_settled && now < self.since + FAILED_AFTER
    }

    fn due(&self) -> Instant {
        if self.is_answered == [true, false] {
            return self.next.min(self.decided_at());
        }
        if self.is_asked(self.next) { self.next } else { self.forgotten_at() }
    }
}

/// Where a peer is, and where it may be.
#[derive(Default)]
pub(crate) struct Paths {
    /// Where it has answered, or is configured to be.
    endpoint: Option<SocketAddr>,
    /// Where the newest packet came from, if it was another place, and how many bytes may be sent there.
    elsewhere: Option<(SocketAddr, usize)>,
    candidates: Vec<Candidate>,
}

impl Paths {
    /// Of a peer that is at `endpoint`, if that is known.
    pub(crate) fn new(endpoint: Option<SocketAddr>) -> Self {
        Self { endpoint, ..Self::default() }
    }

    /// Where the peer is.
    pub(crate) fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint
    }

    /// It is there, and nowhere else.
    pub(crate) fn move_to(&mut self, endpoint: SocketAddr) {
        *self = Self::new(Some(endpoint));
    }

    /// An authentic datagram of `bytes` came from there.
    pub(crate) fn on_received(&mut self, from: SocketAddr, bytes: usize) {
        if let Some(candidate) = self.candidate(from) {
            candidate.budget += budget(bytes);
        }
    }

    /// How many bytes were sent there.
    pub(crate) fn on_sent(&mut self, to: SocketAddr, bytes: usize) {
        if let Some(candidate) = self.candidate(to) {
            candidate.budget = candidate.budget.saturating_sub(bytes);
        }
        if let Some((_, budget)) = self.elsewhere.as_mut().filter(|(at, _)| *at == to) {
            *budget = budget.saturating_sub(bytes);
        }
    }

    /// The newest packet, of `bytes`, came from there. Returns how many may be sent there, if the peer is to be asked whether it
    /// is: two packets in a row must say so, as without a UDP checksum the port of one may be damaged.
    pub(crate) fn on_newest(&mut self, from: SocketAddr, bytes: usize) -> Option<usize> {
        if self.endpoint == Some(from) {
            self.elsewhere = None;
            return None;
        }
        let before = self.elsewhere.take().filter(|(at, _)| *at == from);
        let budget = budget(bytes) + before.map_or(0, |(_, budget)| budget);
        self.elsewhere = Some((from, budget));
        before.map(|_| budget)
    }

    /// Begins to ask whether the peer is at `at`, where `budget` bytes may be sent, unless it is asked or was lately. `tokens` cannot be
    /// predicted; `rtt`: the round-trip time to where it was.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        (at, budget): (SocketAddr, usize),
        tokens: [Token; 2],
        rtt: Option<Duration>,
    ) {
        if self.endpoint == Some(at) || self.candidate(at).is_some() {
            return;
        }
        if self.candidates.len() == MOST {
            // Of those that are not asked any more the one that was asked first.
            let Some(old) = self.candidates.iter().position(|candidate| !candidate.is_asked(now)) else {
                return;
            };
            self.candidates.remove(old);
        }
        let every = rtt.unwrap_or(EVERY.1).clamp(EVERY.0, EVERY.1);
        let is_answered = [false; 2];
        let (since, next, asked) = (now, now, 0);
        self.candidates.push(Candidate { at, since, next, every, asked, tokens, is_answered, budget });
    }

    /// The peer has answered a challenge. It has received that, wherever the answer came from (RFC 9000, 8.2.3).
    pub(crate) fn on_answer(&mut self, token: Token) {
        for candidate in &mut self.candidates {
            for (sent, is_answered) in candidate.tokens.iter().zip(&mut candidate.is_answered) {
                *is_answered |= *sent == token;
            }
        }
    }

    /// When [`Paths::step`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.candidates.iter().map(Candidate::due).min()
    }

    /// What is due.
    pub(crate) fn step(&mut self, now: Instant) -> Vec<Step> {
        self.candidates.retain(|candidate| now < candidate.forgotten_at());
        let endpoint = self.endpoint;
        let is_new_place = |candidate: &&Candidate| {
            let has_left = endpoint.is_none() || candidate.decided_at() <= now;
            has_left && candidate.is_answered == [true, false]
        };
        if let Some(candidate) = self.candidates.iter().find(is_new_place) {
            return vec![Step::Move(candidate.at)];
        }
        let mut steps = Vec::new();
        for candidate in &mut self.candidates {
            if candidate.next > now {
                continue;
            }
            if !candidate.is_asked(now) {
                // The clock may have jumped over the rest of the time.
                candidate.next = candidate.forgotten_at();
                continue;
            }
            candidate.next = now + candidate.every * (1 << candidate.asked.saturating_sub(CHANCES - 1));
            candidate.asked += 1;
            let ([there, before], [has_there, has_before]) = (candidate.tokens, candidate.is_answered);
            if !has_there && candidate.budget >= CHALLENGE_LEN {
                steps.push(Step::Challenge(candidate.at, there));
            }
            steps.extend(endpoint.filter(|_| !has_before).map(|endpoint| Step::Challenge(endpoint, before)));
        }
        steps
    }

    fn candidate(&mut self, at: SocketAddr) -> Option<&mut Candidate> {
        self.candidates.iter_mut().find(|candidate| candidate.at == at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many challenges go to `at` until nothing is due before `end`.
    fn challenges(paths: &mut Paths, at: SocketAddr, end: Instant) -> usize {
        let mut challenges = 0;
        while let Some(now) = paths.due().filter(|due| *due < end) {
            for step in paths.step(now) {
                if let Step::Challenge(to, _) = step {
                    challenges += usize::from(to == at);
                    paths.on_sent(to, CHALLENGE_LEN);
                }
            }
        }
        challenges
    }

    #[test]
    fn what_was_sent_to_an_address_counts_when_it_is_asked_again() {
        let [home, victim] = [1, 2].map(|host| SocketAddr::from(([192, 0, 2, host], 7)));
        let mut paths = Paths::new(Some(home));
        let mut now = Instant::ZERO;
        assert_eq!(paths.on_newest(victim, 30), None);
        for (bytes, expected) in [(180, 5), (10 + 90, 2), (32 + 90, 3)] {
            let budget = paths.on_newest(victim, 30).expect("as before");
            assert_eq!(budget, bytes);
            paths.ask(now, (victim, budget), [[1; 8], [2; 8]], Some(Duration::ZERO));
            now += FORGOTTEN_AFTER + Duration::from_millis(1);
            assert_eq!(challenges(&mut paths, victim, now), expected);
            assert_eq!(paths.due(), None, "it is forgotten");
        }
    }

    #[test]
    fn a_few_addresses_are_asked_and_those_that_failed_make_room() {
        let mut paths = Paths::new(None);
        let at = |host| SocketAddr::from(([192, 0, 2, host], 7));
        let ask = |paths: &mut Paths, host, now| paths.ask(now, (at(host), 1000), [[host; 8], [0; 8]], None);
        (0..10).for_each(|host| ask(&mut paths, host, Instant::ZERO));
        let asked = |paths: &Paths| paths.candidates.iter().map(|candidate| candidate.at).collect::<Vec<_>>();
        assert_eq!(asked(&paths), [0, 1, 2, 3].map(at));
        ask(&mut paths, 7, Instant::ZERO + FAILED_AFTER);
        assert_eq!(asked(&paths), [1, 2, 3, 7].map(at));
        paths.on_answer([7; 8]);
        assert_eq!(paths.step(Instant::ZERO + FAILED_AFTER), [Step::Move(at(7))]);
    }

    /// A host that stands still, or whose clock jumps.
    #[test]
    fn nothing_is_due_for_ever_where_the_time_to_ask_was_slept_through() {
        let [old, new] = ["192.0.2.1:1", "192.0.2.2:2"].map(|text| text.parse().expect("an address"));
        for endpoint in [None, Some(old)] {
            let mut paths = Paths::new(endpoint);
            paths.ask(Instant::ZERO, (new, 1000), [[1; 8], [2; 8]], None);
            assert!(!paths.step(Instant::ZERO).is_empty());
            let awake = Instant::ZERO + FAILED_AFTER;
            assert!(paths.due().is_some_and(|due| due < awake), "it would be asked again");
            assert_eq!(paths.step(awake), []);
            assert!(paths.due().is_none_or(|due| due > awake), "{:?}", paths.due());
        }
    }
}
