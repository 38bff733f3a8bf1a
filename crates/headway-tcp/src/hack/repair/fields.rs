//! The fields of a header that are not certain, and what each may have been.

use alloc::vec::Vec;

use headway_wire::repair::HeaderRepair;
use headway_wire::{SeqNumber, TcpFlags};

use super::Draft;
use super::knowledge::{Knowledge, Seal};

/// Bits in which an expected value may differ from what arrived.
const MAX_FIELD_FLIPS: u32 = 6;

/// A field, and the values that it may have had.
pub(super) struct Field {
    pub(super) changes: Vec<Change>,
}

/// One value of a field.
#[derive(Clone, Copy)]
pub(super) struct Change {
    at: usize,
    len: usize,
    value: u32,
    /// By how much it changes the syndrome of the header.
    pub(super) syndrome: u32,
}

impl Change {
    pub(super) fn apply(&self, draft: &mut Draft) {
        let bytes = &mut draft.bytes[self.at..self.at + self.len];
        for (byte, value) in bytes.iter_mut().zip(&self.value.to_be_bytes()[4 - self.len..]) {
            draft.flips += (*byte ^ value).count_ones();
            *byte = *value;
        }
    }
}

/// The fields of `draft`, and for each what arrived, if that can be, and the nearest of what is
/// expected. Syndromes are those of `header`, which is what `draft` is, where there are any.
pub(super) fn of(draft: &Draft, known: &Knowledge, header: Option<&HeaderRepair<'_>>) -> Vec<Field> {
    let exact = known.seal == Seal::Classic;
    let mut fields = Vec::with_capacity(6);
    let mut add = |at, len, limit, expected: &mut dyn Iterator<Item = u32>, admits: &dyn Fn(u32) -> bool| {
        fields.push(field(draft, header, FieldBits { at, len, limit }, expected, admits));
    };
    let seqs = || known.seqs.iter().map(|seq| seq.0);
    add(4, 4, if exact { 4 } else { 8 }, &mut seqs(), &|seq| {
        if exact { known.seqs.contains(&SeqNumber(seq)) } else { known.admits_seq(SeqNumber(seq)) }
    });
    let acks = || known.acks.iter().map(|ack| ack.0);
    add(8, 4, 3, &mut acks(), &|ack| {
        if exact { known.acks.contains(&SeqNumber(ack)) } else { known.admits_ack(SeqNumber(ack)) }
    });
    let usual = [TcpFlags::ACK, TcpFlags::ACK | TcpFlags::PSH].map(|flags| u32::from(flags.bits()));
    add(13, 1, 3, &mut usual.into_iter(), &|flags| known.admits_flags(TcpFlags::from_bits(flags as u8)));
    add(14, 2, 2, &mut [u32::from(known.window)].into_iter(), &|_| true);
    if let (Some(at), Some((tsval, tsecr))) = (draft.layout.timestamps_at, known.timestamps) {
        for (at, span) in [(at, tsval), (at + 4, tsecr)] {
            let limit = if exact { 3 } else { 5 };
            add(at, 4, limit, &mut span.expected(), &|value| span.admits(value));
        }
    }
    fields
}

/// Where a field is, and how many values of it are kept at most.
struct FieldBits {
    at: usize,
    len: usize,
    limit: usize,
}

fn field(
    draft: &Draft,
    header: Option<&HeaderRepair<'_>>,
    FieldBits { at, len, limit }: FieldBits,
    expected: &mut dyn Iterator<Item = u32>,
    admits: &dyn Fn(u32) -> bool,
) -> Field {
    let arrived = draft.bytes[at..at + len].iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
    let mut values: Vec<u32> = Vec::new();
    if admits(arrived) {
        values.push(arrived);
    }
    for value in expected {
        if (value ^ arrived).count_ones() <= MAX_FIELD_FLIPS && !values.contains(&value) {
            values.push(value);
        }
    }
    // The nearest come first; of those that are as near, the ones expected sooner.
    values.sort_by_key(|value| (value ^ arrived).count_ones());
    values.truncate(limit);
    let change = |value: u32| {
        let bytes = &value.to_be_bytes()[4 - len..];
        Change { at, len, value, syndrome: header.map_or(0, |header| header.change(at, bytes)) }
    };
    Field { changes: values.into_iter().map(change).collect() }
}
