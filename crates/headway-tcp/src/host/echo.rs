//! Answers to pings.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::icmp::answer_echo;
use headway_wire::ip::Datagram;

/// Answers that wait to be sent at most.
const MAX_WAITING: usize = 32;
/// Pings are answered at this pace, and so many at once: nobody can have more sent through us.
const PACE: Duration = Duration::from_millis(1);
const AT_ONCE: u32 = 64;

#[derive(Default)]
pub(super) struct Echoes {
    answers: VecDeque<Vec<u8>>,
    /// When the last answer would leave, if they left at the pace.
    paced: Instant,
}

/// What became of a packet.
pub(super) enum Echo {
    /// It is no echo request.
    Other,
    Answered,
    /// It came too fast.
    Dropped,
}

impl Echoes {
    /// Answers `datagram` if it is an echo request.
    pub(super) fn answer(&mut self, now: Instant, datagram: &Datagram<'_>) -> Echo {
        // An IPv4 header with options, or extension headers, do not come back.
        let mut answer = alloc::vec![0; datagram.header.emitted_len() + datagram.body.len()];
        match answer_echo(datagram, &mut answer) {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Echo::Other,
        }
        let paced = self.paced.max(now) + PACE;
        if self.answers.len() >= MAX_WAITING || paced > now + PACE * AT_ONCE {
            return Echo::Dropped;
        }
        self.paced = paced;
        self.answers.push_back(answer);
        Echo::Answered
    }

    /// An answer that is too long for `buffer` is not owed to anybody.
    pub(super) fn poll_transmit(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let answer = self.answers.pop_front()?;
            if let Some(place) = buffer.get_mut(..answer.len()) {
                place.copy_from_slice(&answer);
                return Some(answer.len());
            }
        }
    }
}
