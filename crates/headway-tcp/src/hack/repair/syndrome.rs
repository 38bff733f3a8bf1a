//! Which flipped bits of the two CRCs in a header explain a *syndrome*: the difference between the
//! CRC of the header and the one that stands there ([`headway_wire::repair`]).
//!
//! A table of all pairs answers for many combinations of fields at once.

use alloc::vec::Vec;

use headway_wire::repair::HeaderRepair;

use super::layout::Layout;

/// Bits of the two CRCs in an option of version 2.
const CRC_BITS: u32 = 32;

/// Flips in the header's CRC and in that of the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flips {
    pub(super) header: u32,
    pub(super) payload: u32,
}

/// All ways to flip none, one or two of the 64 bits of the two CRCs: 2081 syndromes.
#[derive(Default)]
pub(super) struct CrcFlips {
    /// Bytes from the payload's CRC, included, to the end of the header, for which the table is.
    behind: usize,
    /// By syndrome.
    table: Vec<(u32, Flips)>,
}

impl CrcFlips {
    /// Makes the table for headers with the layout of `header`.
    pub(super) fn prepare(&mut self, header: &HeaderRepair<'_>, layout: &Layout) {
        let behind = layout.header_len - layout.payload_crc_at();
        if self.behind == behind && !self.table.is_empty() {
            return;
        }
        let stands = header.header()[layout.payload_crc_at()..].first_chunk().copied().unwrap_or_default();
        let of_payload = |flipped: u32| {
            let bytes = u32::from_be_bytes(stands) ^ flipped;
            header.change(layout.payload_crc_at(), &bytes.to_be_bytes())
        };
        let singles: Vec<(u32, Flips)> = (0..CRC_BITS)
            .flat_map(|bit| {
                let flipped = 1 << bit;
                // The header's own CRC is not covered by it: a flip in it is the syndrome.
                let own = Flips { header: flipped, payload: 0 };
                [(flipped, own), (of_payload(flipped), Flips { header: 0, payload: flipped })]
            })
            .collect();
        self.table.clear();
        self.table.push((0, Flips::default()));
        for (place, one) in singles.iter().enumerate() {
            self.table.push(*one);
            self.table.extend(singles[place + 1..].iter().map(|other| {
                let flips =
                    Flips { header: one.1.header ^ other.1.header, payload: one.1.payload ^ other.1.payload };
                (one.0 ^ other.0, flips)
            }));
        }
        self.table.sort_unstable_by_key(|entry| entry.0);
        self.behind = behind;
    }

    /// The flips that `syndrome` represents.
    pub(super) fn find(&self, syndrome: u32) -> Option<Flips> {
        let place = self.table.binary_search_by_key(&syndrome, |entry| entry.0).ok()?;
        Some(self.table[place].1)
    }
}
