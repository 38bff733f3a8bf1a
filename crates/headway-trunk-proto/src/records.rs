//! Messages in a stream of bytes that may be read before what is ahead of them has arrived.
//!
//! A record is a zero byte, the message in consistent overhead byte stuffing (COBS: Cheshire and Baker, IEEE/ACM
//! Transactions on Networking 7:2, 1999), in which no byte is zero, and another zero byte. So whoever sees a run of the
//! stream, wherever it begins, finds the records that are in it. Nowatzki et al. have done it so for TCP (Minion, NSDI
//! 2012).

use std::collections::{BTreeMap, BTreeSet};

/// The longest message, in bytes: an IP packet of a link with jumbo frames, and what is said of it.
pub const MAX_MESSAGE: usize = 9216;
/// The longest record.
const MAX_RECORD: usize = MAX_MESSAGE + MAX_MESSAGE / 254 + 3;

/// Appends `message` to `stream` as a record. One that is longer than [`MAX_MESSAGE`] is left out.
///
/// Returns whether it was appended.
pub fn append(stream: &mut Vec<u8>, message: &[u8]) -> bool {
    if message.len() > MAX_MESSAGE {
        return false;
    }
    let start = stream.len();
    stream.resize(start + 2 + cobs::max_encoding_length(message.len()), 0);
    let len = cobs::encode(message, &mut stream[start + 1..]);
    stream.truncate(start + 1 + len);
    stream.push(0);
    true
}

/// The stream is none of records: a record would be too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no record ends within {MAX_RECORD} bytes")]
pub struct NotRecords;

/// Finds the records of a stream in whatever order its bytes arrive, each once.
#[derive(Debug, Default)]
pub struct RecordReader {
    /// Where the first unread byte is in the stream.
    front: u64,
    /// The runs that were searched: start and end.
    searched: BTreeMap<u64, u64>,
    /// Where records begin that were found ahead of a hole, and are still to be read in order.
    found: BTreeSet<u64>,
}

impl RecordReader {
    /// A reader of a stream from its first byte on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Searches what has arrived: runs of bytes, ascending, with their distance from the first unread byte; the first
    /// run may be at distance 0. Gives each message that was not given before to `deliver`, and returns how many bytes
    /// from the front are read: they must not be in the next call's runs.
    ///
    /// # Errors
    ///
    /// The stream is none of records.
    pub fn read<'a>(
        &mut self,
        runs: impl Iterator<Item = (usize, (&'a [u8], &'a [u8]))>,
        mut deliver: impl FnMut(&[u8]),
    ) -> Result<usize, NotRecords> {
        let mut consumed = 0;
        for (distance, run) in runs {
            let start = self.front + distance as u64;
            let end = start + (run.0.len() + run.1.len()) as u64;
            for (from, to) in self.unsearched(start, end) {
                // A record may begin before it and end behind it.
                let from = from.saturating_sub(MAX_RECORD as u64).max(start);
                let to = (to + MAX_RECORD as u64).min(end);
                let part = part(run, (from - start) as usize, (to - start) as usize);
                self.search(from, &part, &mut deliver);
            }
            self.mark(start, end);
            if distance == 0 {
                // The zero stays: it may begin a record that has not ended.
                consumed = last_zero(run).unwrap_or(0);
                if run.0.len() + run.1.len() - consumed > MAX_RECORD {
                    return Err(NotRecords);
                }
            }
        }
        self.forget(consumed as u64);
        Ok(consumed)
    }

    /// The parts of `[start, end)` that were not searched.
    fn unsearched(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let mut at = start;
        let before = self.searched.range(..=start).next_back();
        if let Some((_, &to)) = before {
            at = at.max(to);
        }
        for (&from, &to) in self.searched.range(start..end) {
            if at < from {
                parts.push((at, from));
            }
            at = at.max(to);
        }
        if at < end {
            parts.push((at, end));
        }
        parts
    }

    fn mark(&mut self, start: u64, end: u64) {
        // Runs never lose bytes, so those inside are part of it.
        let inside: Vec<u64> = self.searched.range(start..end).map(|(&from, _)| from).collect();
        for from in inside {
            self.searched.remove(&from);
        }
        if start < end {
            self.searched.insert(start, end);
        }
    }

    /// Delivers the records between two zeros of `bytes`, which begin at `start`.
    fn search(&mut self, start: u64, bytes: &[u8], deliver: &mut impl FnMut(&[u8])) {
        let mut zeros = bytes.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
        let Some(mut left) = zeros.next() else { return };
        let mut message = vec![0; MAX_RECORD];
        for right in zeros {
            let record = &bytes[left + 1..right];
            let at = start + left as u64 + 1;
            left = right;
            if record.is_empty() || record.len() > MAX_RECORD || !self.found.insert(at) {
                continue;
            }
            if let Ok(report) = cobs::decode(record, &mut message) {
                deliver(&message[..report.frame_size()]);
            }
        }
    }

    fn forget(&mut self, consumed: u64) {
        self.front += consumed;
        self.found = self.found.split_off(&self.front);
        let front = self.front;
        let kept = self.searched.range(..front).next_back().map(|(_, &to)| to).filter(|&to| to > front);
        self.searched = self.searched.split_off(&front);
        if let Some(to) = kept {
            self.searched.insert(front, to);
        }
    }
}

fn part((first, second): (&[u8], &[u8]), from: usize, to: usize) -> Vec<u8> {
    let cut = |piece: &[u8], before: usize| {
        let (a, b) = (from.saturating_sub(before), to.saturating_sub(before));
        piece[a.min(piece.len())..b.min(piece.len())].to_vec()
    };
    [cut(first, 0), cut(second, first.len())].concat()
}

fn last_zero((first, second): (&[u8], &[u8])) -> Option<usize> {
    let of = |piece: &[u8]| piece.iter().rposition(|&byte| byte == 0);
    of(second).map(|at| first.len() + at).or_else(|| of(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A distance, and a run in two pieces.
    type Run<'a> = (usize, (&'a [u8], &'a [u8]));

    fn stream(messages: &[Vec<u8>]) -> Vec<u8> {
        let mut stream = Vec::new();
        for message in messages {
            assert!(append(&mut stream, message));
        }
        stream
    }

    /// The runs of `held` from `front` on, each cut into two pieces somewhere.
    fn runs<'a>(bytes: &'a [u8], held: &[bool], front: usize) -> Vec<Run<'a>> {
        let mut runs = Vec::new();
        let mut at = front;
        while at < bytes.len() {
            let len = held[at..].iter().take_while(|&&held| held).count();
            if len > 0 {
                runs.push((at - front, bytes[at..at + len].split_at(len / 3)));
            }
            at += len.max(1);
        }
        runs
    }

    #[test]
    fn what_is_too_long_is_left_out_and_a_stream_of_none_is_refused() {
        let mut stream = vec![];
        assert!(!append(&mut stream, &[1; MAX_MESSAGE + 1]));
        assert!(append(&mut stream, &[0; MAX_MESSAGE]));
        assert!(append(&mut stream, &[7; MAX_MESSAGE]));
        let mut lengths = Vec::new();
        let mut reader = RecordReader::new();
        let read =
            reader.read([(0, (&stream[..], &[][..]))].into_iter(), |message| lengths.push(message.len()));
        assert_eq!((read, &lengths[..]), (Ok(stream.len() - 1), &[MAX_MESSAGE; 2][..]));
        // Cheshire and Baker: one byte for each 254, another one, and here two zeros.
        let longest = 9216 + 36 + 1 + 2;
        let endless = vec![1; longest + 1];
        let read = RecordReader::new().read([(0, (&endless[..], &[][..]))].into_iter(), |_| ());
        assert_eq!(read, Err(NotRecords));
        // As many as a record may have; behind another record, whose last zero may begin it.
        let ahead = self::stream(&[vec![5; 300]]);
        let behind = [&ahead[..], &endless[..longest]].concat();
        for (bytes, most, read) in [(&endless, longest, 0), (&behind, behind.len() - 1, ahead.len() - 1)] {
            for (len, expected) in [(most, Ok(read)), (most + 1, Err(NotRecords))] {
                let got = RecordReader::new().read([(0, bytes[..len].split_at(9))].into_iter(), |_| ());
                assert_eq!(got, expected, "{len} bytes");
            }
        }
    }

    /// A long stream costs no more memory than a short one: in order, and with each record ahead of the one before it.
    #[test]
    fn what_was_read_is_forgotten() {
        for size in [1, 2] {
            let (mut reader, mut given) = (RecordReader::new(), 0);
            for number in 0..500_u32 {
                let messages: Vec<_> = (0..size).map(|part| vec![(number + part) as u8 | 1; 40]).collect();
                let bytes = stream(&messages);
                // The zero that stays of what was read before.
                let front = usize::from(number > 0);
                let whole = [&vec![0; front][..], &bytes].concat();
                let later = front + bytes.len() / size as usize;
                let ahead = [(later, (&whole[later..], &[][..]))];
                let all = [(0, (&whole[..], &[][..]))];
                if size > 1 {
                    assert_eq!(reader.read(ahead.into_iter(), |_| given += 1), Ok(0));
                    assert_eq!(given, 2 * number + 1, "the second before the first");
                }
                assert_eq!(reader.read(all.into_iter(), |_| given += 1), Ok(whole.len() - 1));
                assert_eq!(given, size * (number + 1));
                assert!(reader.found.len() <= 1 && reader.searched.len() <= 1, "{reader:?}");
            }
        }
    }

    #[test]
    fn nothing_is_searched_twice() {
        let bytes = stream(&[vec![1; 40], vec![2; 40]]);
        for len in 50..bytes.len() {
            let mut reader = RecordReader::new();
            // The first record, and a part of the second.
            let consumed = reader.read([(0, bytes[..len].split_at(7))].into_iter(), |_| ()).expect("records");
            assert!(consumed > 0 && reader.front == consumed as u64);
            assert_eq!(reader.unsearched(reader.front, len as u64), [], "{len} bytes");
            assert_eq!(reader.unsearched(reader.front, len as u64 + 9), [(len as u64, len as u64 + 9)]);
        }
    }

    proptest! {
        /// Whatever the order of the segments, each message is given once, and at once when all of it is there.
        #[test]
        fn messages_are_found_in_any_order(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..700), 1..20),
            cuts in prop::collection::vec((any::<usize>(), 1..900usize), 1..120),
        ) {
            // An empty message is nothing to deliver.
            let messages: Vec<_> = messages.into_iter().enumerate()
                .map(|(i, mut message)| { message.push(i as u8); message }).collect();
            let bytes = stream(&messages);
            let mut held = vec![false; bytes.len()];
            let (mut reader, mut front, mut given) = (RecordReader::new(), 0, Vec::new());
            for (at, len) in cuts.into_iter().chain([(0, bytes.len())]) {
                let at = at % bytes.len();
                let end = (at + len).min(bytes.len());
                held[at..end].fill(true);
                let found = runs(&bytes, &held, front);
                front += reader.read(found.into_iter(), |message| given.push(message.to_vec())).unwrap();
                let mut at = 0;
                for message in &messages {
                    let len = stream(std::slice::from_ref(message)).len();
                    let complete = held[at..at + len].iter().all(|&held| held);
                    prop_assert!(!complete || given.contains(message));
                    at += len;
                }
            }
            let mut sorted = given.clone();
            sorted.sort_by_key(|message| message.last().copied());
            prop_assert_eq!(sorted, messages);
        }

        #[test]
        fn no_bytes_do_harm(
            pieces in prop::collection::vec((0..5000usize, prop::collection::vec(0..3u8, 0..300)), 0..50),
        ) {
            let mut reader = RecordReader::new();
            for (distance, piece) in pieces {
                let _ = reader.read([(distance, piece.split_at(piece.len() / 2))].into_iter(), |_| ());
            }
        }
    }
}
