//! TCP HACK (paper 000) and Extended HACK (paper 003).
//!
//! The receiver of a segment whose header can be read and whose payload is damaged sends a
//! *special ACK* that names it (`classic/receiver.rs`). The sender sends the named segment again at once,
//! as the congestion window permits, and takes nothing about congestion from it (`classic/sender.rs`).
//!
//! Paper 000's section 3.3 alone ([`crate::HackRules::Literal`]) is not enough; the default rules
//! are:
//!
//! 1. A special ACK never counts as a duplicate ACK, and being special changes neither `cwnd` nor
//!    `ssthresh`. Its ACK number, window and SACK blocks are processed as in any ACK.
//! 2. The named segment leaves the pipe before the test against `cwnd`; then it is resent. If
//!    `cwnd` forbids, it stays first in line.
//! 3. A hole that is known to be damage feeds no loss detector while its resend is outstanding and
//!    younger than the path's round-trip time with its variation; after that the resent copy is an
//!    ordinary segment.
//! 4. A special ACK that names a copy not named before restarts the retransmission timer and
//!    clears its backoff: the path is alive. None does while `SND.UNA`'s own segment has gone two
//!    round trips without being sent: then that one is resent first.
//! 5. Every special ACK names a *copy*: a number is resent only if its latest transmission is the
//!    one that the echoed timestamp names (equal stamps: by send order). Without timestamps, and
//!    for the repeated numbers of an extended list, only if the latest transmission is older than
//!    one round trip.
//! 6. Numbers outside `[SND.UNA, SND.NXT)` or already SACKed are ignored.
//! 7. The echoed timestamp of a special ACK is no round-trip sample.

pub(crate) mod classic;
pub(crate) mod partial;
pub(crate) mod repair;

/// What a SYN's kind-14 option carries to say "I understand kind 16": the papers ignore the value
/// there, and a sender that does not understand kind 16 would take such an ACK for a duplicate.
pub const XHACK_PERMITTED: u16 = 0x5848;
