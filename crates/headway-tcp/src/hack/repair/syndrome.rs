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

/// The tables of every layout that was needed so far: of at most 5, one for each number of SACK blocks.
#[derive(Default)]
pub(super) struct CrcFlips(Vec<Tables>);

/// The ways to flip bits of the two CRCs in headers of one layout.
pub(super) struct Tables {
    /// Bytes from the payload's CRC, included, to the end of the header.
    behind: usize,
    /// None or one of the 64 bits: 65 syndromes.
    pub(super) singles: Table,
    /// None, one or two: 2081 syndromes.
    pub(super) pairs: Table,
}

/// Flips, sorted by their syndromes.
pub(super) struct Table(Vec<(u32, Flips)>);

impl CrcFlips {
    /// The tables for headers with the layout of `header`.
    pub(super) fn of(&mut self, header: &HeaderRepair<'_>, layout: &Layout) -> &Tables {
        let behind = layout.header_len - layout.payload_crc_at();
        let known = self.0.iter().position(|tables| tables.behind == behind);
        let place = known.unwrap_or_else(|| {
            self.0.push(Tables::new(header, layout, behind));
            self.0.len() - 1
        });
        &self.0[place]
    }
}

impl Tables {
    fn new(header: &HeaderRepair<'_>, layout: &Layout, behind: usize) -> Self {
        let stands = header.header()[layout.payload_crc_at()..].first_chunk().copied().unwrap_or_default();
        let of_payload = |flipped: u32| {
            let bytes = u32::from_be_bytes(stands) ^ flipped;
            header.change(layout.payload_crc_at(), &bytes.to_be_bytes())
        };
        let mut singles = alloc::vec![(0, Flips::default())];
        singles.extend((0..CRC_BITS).flat_map(|bit| {
            let flipped = 1 << bit;
            // The header's own CRC is not covered by it: a flip in it is the syndrome.
            let own = Flips { header: flipped, payload: 0 };
            [(flipped, own), (of_payload(flipped), Flips { header: 0, payload: flipped })]
        }));
        let mut pairs = Vec::with_capacity(2081);
        for (place, one) in singles.iter().enumerate() {
            pairs.push(*one);
            // Two bits: the entry for no bit is left out.
            let others = if place == 0 { &[] } else { &singles[place + 1..] };
            pairs.extend(others.iter().map(|other| {
                let flips =
                    Flips { header: one.1.header ^ other.1.header, payload: one.1.payload ^ other.1.payload };
                (one.0 ^ other.0, flips)
            }));
        }
        Self { behind, singles: Table::new(singles), pairs: Table::new(pairs) }
    }
}

impl Table {
    fn new(mut flips: Vec<(u32, Flips)>) -> Self {
        flips.sort_unstable_by_key(|entry| entry.0);
        Self(flips)
    }

    /// How many syndromes are in it.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The flips that `syndrome` represents.
    pub(super) fn find(&self, syndrome: u32) -> Option<Flips> {
        let place = self.0.binary_search_by_key(&syndrome, |entry| entry.0).ok()?;
        Some(self.0[place].1)
    }
}
