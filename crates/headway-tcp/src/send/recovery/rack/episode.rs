//! One reduction of the window, and the evidence that it was spurious.

use alloc::vec::Vec;

use headway_wire::SeqNumber;

/// Segments whose retransmissions are remembered; an episode with more is not undone by D-SACK.
const LIMIT: usize = 1024;

/// What was retransmitted because of losses since the window was reduced.
pub(super) struct Episode {
    /// The first retransmission and its TSval: an ACK for it with an older TSecr was caused by an
    /// original (the Eifel detection algorithm, RFC 3522, section 3.2).
    first: Option<(SeqNumber, u32)>,
    /// Retransmitted, and not yet reported as duplicates (RFC 3708).
    unproven: Vec<SeqNumber>,
    proven: u32,
    overflowed: bool,
    /// The question of RFC 3522 has been asked.
    asked: bool,
}

impl Episode {
    pub(super) fn new() -> Self {
        Self { first: None, unproven: Vec::new(), proven: 0, overflowed: false, asked: false }
    }

    /// `copied`: a copy of the original may be what an ACK with an older TSecr answers.
    pub(super) fn on_retransmitted(&mut self, seq: SeqNumber, tsval: u32, copied: bool) {
        self.asked |= copied && self.first.is_none();
        self.first.get_or_insert((seq, tsval));
        if self.unproven.len() < LIMIT {
            self.unproven.push(seq);
        } else {
            self.overflowed = true;
        }
    }

    /// RFC 3522, 3.2, steps 4 and 5: "If the value of the Timestamp Echo Reply field of the
    /// acceptable ACK's Timestamps option is smaller than the value of RetransmitTS, then [...]
    /// the sender's last retransmit was spurious". Asked once, of the first ACK that covers the
    /// segment. If `SND.UNA` did not stand there before, another segment filled the last hole, and the
    /// echo is that one's.
    pub(super) fn tsecr_disproves(
        &mut self,
        prior_una: SeqNumber,
        una: SeqNumber,
        tsecr: Option<u32>,
    ) -> bool {
        let (Some((first, tsval)), Some(tsecr), false) = (self.first, tsecr, self.asked) else {
            return false;
        };
        if una.le(first) {
            return false;
        }
        self.asked = true;
        prior_una == first && (tsecr.wrapping_sub(tsval) as i32) < 0
    }

    /// A D-SACK block reports that `[start, end)` arrived twice. Says whether every retransmission of the
    /// episode has been reported now.
    pub(super) fn on_duplicate(&mut self, start: SeqNumber, end: SeqNumber) -> bool {
        let before = self.unproven.len();
        self.unproven.retain(|&seq| !(seq.ge(start) && seq.lt(end)));
        self.proven += (before - self.unproven.len()) as u32;
        self.unproven.is_empty() && self.proven > 0 && !self.overflowed
    }
}
