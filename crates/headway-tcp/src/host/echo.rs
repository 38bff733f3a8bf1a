//! Replies to echo requests.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::icmp::EchoRequest;

/// Answers that wait to be sent at most.
const MAX_WAITING: usize = 32;
/// Pings are answered at this pace, and at most `AT_ONCE` at once: no peer can make us send more.
const PACE: Duration = Duration::from_millis(1);
const AT_ONCE: u32 = 64;

#[derive(Default)]
pub(super) struct Echoes {
    answers: VecDeque<Vec<u8>>,
    /// When the last answer would leave, if they left at the pace.
    paced: Instant,
}

impl Echoes {
    /// Answers an echo request, unless it came too fast; says whether it does.
    pub(super) fn answer(&mut self, now: Instant, request: &EchoRequest<'_>) -> bool {
        let paced = self.paced.max(now) + PACE;
        if self.answers.len() >= MAX_WAITING || paced > now + PACE * AT_ONCE {
            return false;
        }
        let mut answer = alloc::vec![0; request.reply_len()];
        if request.reply(&mut answer).is_err() {
            return false;
        }
        self.paced = paced;
        self.answers.push_back(answer);
        true
    }

    /// Adds another ICMP message, if there is room.
    pub(super) fn push(&mut self, message: Vec<u8>) {
        if self.answers.len() < MAX_WAITING {
            self.answers.push_back(message);
        }
    }

    /// An answer that is too long for `buffer` is dropped.
    #[inline]
    pub(super) fn poll_transmit(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if self.answers.is_empty() { None } else { self.transmit(buffer) }
    }

    fn transmit(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let answer = self.answers.pop_front()?;
            if let Some(place) = buffer.get_mut(..answer.len()) {
                place.copy_from_slice(&answer);
                return Some(answer.len());
            }
        }
    }
}
