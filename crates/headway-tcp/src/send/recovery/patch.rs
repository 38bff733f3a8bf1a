//! Partial recovery at the sender: of a segment that arrived damaged only the blocks are retransmitted that differ, together in one
//! packet (`docs/protocol.md`, section 7).

use headway_wire::blocks;
use headway_wire::patch::Choice;

use crate::send::bundling;
use crate::send::sent_queue::{Marks, Sent};

/// A shorter payload is asked for as a whole: a report takes what that saves.
pub(crate) const MIN_PAYLOAD: usize = 2 * blocks::SHORTEST + 1;

/// What a patch saves at least: its header is never compact.
const WORTHWHILE: usize = 64;

/// What the peer lacks of `sent`, by the sums that it reports `theirs`; none if all of it is to be retransmitted. `ours` gives
/// the first bytes of the payload, as many as it is asked for.
pub(crate) fn choose<'a>(
    sent: &Sent,
    theirs: &[u8],
    ours: impl FnOnce(usize) -> (&'a [u8], &'a [u8]),
) -> Choice {
    let len = sent.payload_len() as usize;
    // A message is retransmitted whole: those that follow repeat it.
    if sent.has(Marks::FIN) || len < MIN_PAYLOAD || len <= bundling::LONGEST as usize {
        return Choice::NONE;
    }
    let choice = match Choice::by_report(ours(len), theirs) {
        // All of it is there, and a patch did not show it: three wrong bits were taken for one, a sum agrees by chance, or the header was
        // repaired wrongly.
        Choice::NONE if !sent.patch().is_none() => sent.patch().sums_as_blocks(),
        // The header may have been hit: a block shows that the payload is ours.
        choice => choice.with_a_block(),
    };
    let is_worthwhile = choice.patch_len(len) + WORTHWHILE <= len;
    if is_worthwhile { choice } else { Choice::NONE }
}
