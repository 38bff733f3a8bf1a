//! TCP HACK (paper 000) and Extended HACK (paper 003).
//!
//! The receiver of a *corrupted segment* (header valid, payload damaged) sends a *special ACK* that
//! reports it (`classic/receiver.rs`). The sender retransmits the reported segment at once, as the
//! congestion window permits, and takes nothing about congestion from it (`send/recovery/retransmit_queue.rs`).
//! Header repair makes corrupted segments of packets whose header is damaged too; partial recovery has
//! only the damaged blocks of a payload retransmitted.
//!
//! Paper 000's section 3.3 alone ([`crate::HackRules::Literal`]) is not enough; the default rules
//! are:
//!
//! 1. A special ACK never counts as a duplicate ACK, and being special changes neither `cwnd` nor
//!    `ssthresh`. Its ACK number, window and SACK blocks are processed as in any ACK.
//! 2. The reported segment leaves the pipe before the test against `cwnd`; then it is retransmitted. If
//!    `cwnd` forbids, it stays first in line.
//! 3. For a hole that is known to be damage, loss detection is suppressed while its retransmission is
//!    outstanding and younger than the path's round-trip time with its variation; after that the
//!    retransmission is an ordinary segment.
//! 4. A special ACK that reports a transmission not reported before restarts the retransmission timer
//!    and clears its backoff: the path is alive. None does while `SND.UNA`'s own segment has gone two
//!    round trips without being sent: then that one is retransmitted first.
//! 5. Every special ACK reports a *transmission*: a segment is retransmitted only if its latest
//!    transmission is the one whose TSval is echoed (equal TSvals: by send order). Without timestamps,
//!    and for the repeated numbers of an extended list, only if the latest transmission is older than
//!    one round trip.
//! 6. Numbers outside `[SND.UNA, SND.NXT)` or already SACKed are ignored.
//! 7. The TSecr of a special ACK is no round-trip sample.

pub(crate) mod classic;
pub(crate) mod partial;
pub(crate) mod repair;

pub use partial::PayloadTag;

/// What a SYN's kind-14 option carries to say "I understand kind 16": the papers ignore the value
/// there, and a sender that does not understand kind 16 would take such an ACK for a duplicate.
pub const XHACK_PERMITTED: u16 = 0x5848;
