//! Partial recovery at the sender: of a segment that arrived damaged only the blocks are retransmitted that differ, together in one
//! packet (`docs/protocol.md`, section 7).

use headway_wire::blocks;

use crate::send::bundling;
use crate::send::sent_queue::{Marks, Sent};

/// A shorter payload is asked for as a whole: a report takes what that saves.
pub(crate) const MIN_PAYLOAD: usize = 2 * blocks::SHORTEST + 1;

/// What a patch saves at least: its header is never compact.
const WORTHWHILE: usize = 64;

/// The blocks that the peer lacks of `sent`, by the sums that it reports `theirs`; 0 if all of it is to be retransmitted. `ours` gives
/// the first bytes of the payload, as many as it is asked for.
pub(crate) fn choose<'a>(
    sent: &Sent,
    theirs: &[u8],
    ours: impl FnOnce(usize) -> (&'a [u8], &'a [u8]),
) -> u64 {
    let len = sent.payload_len() as usize;
    // A message is retransmitted whole: those that follow repeat it.
    if sent.has(Marks::FIN) || len < MIN_PAYLOAD || len <= bundling::LONGEST as usize {
        return 0;
    }
    let differs = blocks::differing(ours(len), theirs).enumerate().filter(|(_, (_, differs))| *differs);
    let mut chosen = differs.map(|(block, _)| 1 << block).fold(0, |all, block: u64| all | block);
    if chosen == 0 {
        // All of it is there, under a header that was hit: a block shows that it is ours. If one did not, that header was repaired
        // wrongly, or a sum agrees by chance.
        chosen = u64::from(sent.patch() == 0);
    }
    if blocks::patch_len(len, chosen) + WORTHWHILE <= len { chosen } else { 0 }
}
