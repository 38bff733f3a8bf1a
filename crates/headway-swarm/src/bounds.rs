//! What a connection may use at most.

use headway_tcp::{LossRecovery, Profile, Statistics};

/// Bytes that records of one segment take, rounded up.
const RECORD: usize = 64;
/// And those of one transmission in the log of a modern sender.
const COPY: usize = 96;

/// Checks what a connection of `profile` says of itself, which has sent `segments` segments with data or FIN, repeats included.
pub(crate) fn check(statistics: &Statistics, profile: &Profile, segments: usize) -> Result<(), String> {
    // RFC 6675, 4: a byte that is retransmitted and not thought lost is in the pipe twice.
    if statistics.pipe > 2 * statistics.unacknowledged {
        let (pipe, outstanding) = (statistics.pipe, statistics.unacknowledged);
        return Err(format!("a pipe of {pipe} bytes with {outstanding} outstanding"));
    }
    if statistics.cwnd < statistics.mss {
        return Err(format!("a congestion window of {} bytes, less than a segment", statistics.cwnd));
    }
    let limit = memory(profile, segments);
    if statistics.memory > limit {
        return Err(format!("{} bytes of memory, the profile permits {limit}", statistics.memory));
    }
    Ok(())
}

/// Bytes of heap that a connection of `profile` that has sent `segments` may hold.
fn memory(profile: &Profile, segments: usize) -> usize {
    let ring = |bytes: usize| bytes.next_power_of_two().max(512);
    // A window field in units of the scale may exceed the buffer by less than a unit.
    let unit = (0..14).find(|scale| profile.receive_buffer >> scale <= 65_535).unwrap_or(14);
    let buffers = ring(profile.send_buffer) + ring(profile.receive_buffer + (1 << unit));
    // Every segment in flight has a byte of its own, or is SYN or FIN. Vectors grow by doubling.
    let in_flight = segments.min(profile.send_buffer) + 2;
    let sent = (2 * in_flight).max(4) * RECORD;
    let retransmissions = 2 * (2 * in_flight).max(4) * RECORD;
    // The log also holds resolved transmissions: at most as many as unresolved ones, and a few.
    let copies = match profile.recovery {
        LossRecovery::RackTlp => (4 * in_flight).max(64) * COPY,
        _ => 0,
    };
    let islands = 2 * (profile.receive_buffer / 1024 + 1).max(1024) * 8;
    let requests = 2 * (64 + profile.s_buffer) * RECORD;
    // Corrupted payloads that are kept for partial recovery: of each byte of the window two transmissions.
    let corrupted = if profile.features.partial { (2 * profile.receive_buffer).min(1 << 20) } else { 0 };
    buffers + sent + retransmissions + copies + islands + requests + corrupted
}
