//! Streams of a host's connections: written as much as fits, and compared as they arrive.

use headway_tcp::{ConnectionId, Host, Observer};

use crate::pattern::Pattern;

/// Writes as much of `pattern` as the connection takes; `written` counts the bytes.
///
/// # Panics
///
/// The connection takes no data any more.
pub fn write<O: Observer>(host: &mut Host<O>, id: ConnectionId, pattern: Pattern, written: &mut usize) {
    let mut chunk = [0; 8192];
    loop {
        // A byte more than it takes, so that it notifies of room.
        let len = chunk.len().min(host.writable(id) + 1);
        pattern.fill(*written, &mut chunk[..len]);
        let taken = host.write(id, &chunk[..len]).expect("an open connection");
        *written += taken;
        if taken < len {
            return;
        }
    }
}

/// Consumes what has arrived and compares every byte with `pattern`; `delivered` counts the bytes.
///
/// # Panics
///
/// A byte is not what was sent.
pub fn read<O: Observer>(host: &mut Host<O>, id: ConnectionId, pattern: Pattern, delivered: &mut usize) {
    let (first, second) = host.peek(id);
    let (before, len) = (first.len(), first.len() + second.len());
    pattern.check(*delivered, first);
    pattern.check(*delivered + before, second);
    host.consume(id, len);
    *delivered += len;
}
