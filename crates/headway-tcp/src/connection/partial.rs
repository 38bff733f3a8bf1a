//! Partial recovery: of a segment whose payload arrived damaged, only what was hit comes again
//! (`docs/repair.md`).

use headway_wire::blocks::{COUNT, block_range, block_sums};
use headway_wire::{Segment, SeqNumber, TcpFlags, V2, V2Request};

use super::{Connection, Context, Notification, State};
use crate::event::{Event, Observer};
use crate::hack::sender::Notice;
use crate::receive::kept::{LEAST_PAYLOAD, Whole};
use crate::send::recovery::Recovery;
use crate::send::sent_queue::Marks;

/// Octets that agree between two blocks that do not are sent with them if they are fewer: a segment of
/// its own costs as much.
const WORTH_SPARING: u32 = 64;

impl Connection {
    // --- the receiver's part ------------------------------------------------------------------------

    /// Keeps the payload of a salvaged segment, of which nothing is held. Says whether it is whole by
    /// what an earlier copy brought.
    pub(super) fn keep_damaged<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        repaired: bool,
    ) -> bool {
        let data = segment.options.v2.as_ref().and_then(V2::as_data);
        let Some(data) = data.filter(|_| self.negotiated.partial && self.takes_text()) else { return false };
        // FIN would have to come again in any case.
        if segment.tcp.flags.contains(TcpFlags::FIN) {
            return false;
        }
        let kept = self.kept.get_or_insert_default();
        let whole = kept.keep(segment.tcp.seq, segment.payload, data.payload_crc, repaired);
        whole.map(|whole| self.take_whole(cx, &whole)).is_some()
    }

    /// An intact segment arrived: damaged payloads may be whole with it.
    pub(super) fn fill_kept<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        let Some(kept) = &mut self.kept else { return };
        for whole in kept.fill(segment.tcp.seq, segment.payload) {
            self.take_whole(cx, &whole);
        }
        let nxt = self.rcv.nxt();
        if let Some(kept) = &mut self.kept {
            kept.prune(|seq, len| (seq + len).le(nxt));
            if kept.is_empty() {
                self.kept = None;
            }
        }
    }

    fn takes_text(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// "the segment counts as received only when its CRC-32C holds": it does.
    fn take_whole<O: Observer>(&mut self, cx: &mut Context<'_, O>, whole: &Whole) {
        let (seq, len) = (whole.seq, whole.payload.len() as u32);
        if self.rcv.first_missing(seq, len).is_none() {
            return;
        }
        self.statistics.completed += 1;
        cx.emit(|| Event::Completed { seq, len });
        let placed = self.rcv.place(seq, &whole.payload, false, self.longest_segment());
        self.statistics.octets_received += u64::from(placed.advanced);
        self.rcv.acks.at_once();
        if placed.advanced > 0 {
            self.notify(Notification::Readable);
        }
        if self.rcv.fin_reached {
            self.fin_reached(cx);
        }
    }

    /// What a special ACK for the segment at `seq` asks for, if some of its blocks do.
    pub(super) fn block_request(&self, seq: SeqNumber) -> Option<V2Request> {
        let sums = self.kept.as_ref()?.sums(seq)?;
        Some(V2Request::Blocks { offset: (seq - self.rcv.nxt()) as u32, sums })
    }

    // --- the sender's part --------------------------------------------------------------------------

    /// A special ACK with these block sums named the segment at `seq`: what agrees with our own sums is
    /// not sent again.
    pub(super) fn spare_blocks(&mut self, seq: SeqNumber, sums: &[u16; COUNT]) {
        if !self.negotiated.partial || !matches!(self.snd.recovery, Recovery::Modern(_)) {
            return;
        }
        let Some(index) = self.snd.queue.index_of(seq) else { return };
        let sent = self.snd.queue.get(index);
        let (len, end) = (sent.payload_len(), sent.end());
        // "The sender compares the sums with those of [...] the same octets in the same segment."
        if sent.seq != seq || !sent.is_missing() || sent.has(Marks::CUT) || sent.has(Marks::FIN) {
            return;
        }
        if (len as usize) < LEAST_PAYLOAD {
            return;
        }
        let offset = (seq - self.snd.buffer_start()) as usize;
        let ours = block_sums(self.snd.buffer.slices(offset, len as usize));
        let runs = Runs::new(&ours, sums, len);
        if runs.spared == 0 {
            return;
        }
        for (part, &(run, differs)) in (index..).zip(runs.as_slice()) {
            let is_last = self.snd.queue.get(part).len == run;
            if !is_last {
                self.snd.queue.cut(part, run);
            }
            if !differs {
                self.snd.queue.hold(part);
            }
        }
        if let Some(modern) = self.snd.modern() {
            modern.held.add(seq, end, runs.spared);
        }
    }

    /// A special ACK without block sums names what the peer was thought to hold: it wants the whole.
    /// Only the copy that it held in part can be meant.
    pub(super) fn wants_whole(&mut self, notice: &Notice) -> bool {
        let Some(index) = self.snd.queue.index_of(notice.seq) else { return false };
        let sent = self.snd.queue.get(index);
        let meant = sent.has(Marks::HELD) && notice.stamp == Some(sent.stamp());
        if let (true, Recovery::Modern(modern)) = (meant, &mut self.snd.recovery) {
            modern.held.give_up(&mut self.snd.queue, notice.seq);
        }
        meant
    }

    /// After an ACK: what the peer should hold by now and does not acknowledge is sent again.
    pub(super) fn settle_held(&mut self) {
        let Recovery::Modern(modern) = &mut self.snd.recovery else { return };
        if modern.held.is_empty() {
            return;
        }
        modern.held.settle(&mut self.snd.queue, self.snd.una);
    }
}

/// The parts of a segment, in their order: those to be sent again, and those to be spared.
struct Runs {
    runs: [(u32, bool); COUNT],
    len: usize,
    spared: u32,
}

impl Runs {
    fn new(ours: &[u16; COUNT], theirs: &[u16; COUNT], len: u32) -> Self {
        let mut runs = Self { runs: [(0, false); COUNT], len: 0, spared: 0 };
        for block in 0..COUNT {
            runs.push(block_range(len as usize, block).len() as u32, ours[block] != theirs[block]);
        }
        if !runs.as_slice().iter().any(|run| run.1) {
            // All of it is there, under a header that was hit. One octet tells that it is ours.
            runs.runs = [(0, false); COUNT];
            runs.len = 0;
            runs.push(1, true);
            runs.push(len - 1, false);
        }
        runs.spared = runs.as_slice().iter().filter(|run| !run.1).map(|run| run.0).sum();
        runs
    }

    fn as_slice(&self) -> &[(u32, bool)] {
        &self.runs[..self.len]
    }

    fn push(&mut self, octets: u32, differs: bool) {
        let differs = differs || (octets < WORTH_SPARING && self.len > 0);
        match self.runs[..self.len].last_mut() {
            _ if octets == 0 => {}
            Some(last) if last.1 == differs => last.0 += octets,
            _ => {
                self.runs[self.len] = (octets, differs);
                self.len += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(differing: &[usize], len: u32) -> (alloc::vec::Vec<(u32, bool)>, u32) {
        let ours = [1, 2, 3, 4, 5, 6, 7];
        let mut theirs = ours;
        differing.iter().for_each(|&block| theirs[block] ^= 0x100);
        let runs = Runs::new(&ours, &theirs, len);
        assert_eq!(runs.as_slice().iter().map(|run| run.0).sum::<u32>(), len);
        (runs.as_slice().to_vec(), runs.spared)
    }

    #[test]
    fn blocks_beside_each_other_share_a_segment() {
        assert_eq!(runs(&[0], 1436), (alloc::vec![(206, true), (1230, false)], 1230));
        assert_eq!(
            runs(&[2, 3, 6], 1436),
            (alloc::vec![(412, false), (412, true), (412, false), (200, true)], 824)
        );
        assert_eq!(runs(&[0, 1, 2, 3, 4, 5, 6], 1436), (alloc::vec![(1436, true)], 0));
        assert_eq!(runs(&[], 1436), (alloc::vec![(1, true), (1435, false)], 1435));
        let (parts, spared) = runs(&[1, 3, 5], 448);
        assert_eq!((parts.len(), spared), (7, 256));
    }
}
