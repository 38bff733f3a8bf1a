//! Segments for people and for comparison, and of which kind they are.

use headway_wire::{Segment, V2, V2Ack};

/// A segment in a line.
pub(crate) fn line(segment: &Segment<'_>) -> String {
    let (tcp, options) = (&segment.tcp, &segment.options);
    let mut text = format!(
        "{} > {} {:?} seq {} len {} ack {} win {}",
        tcp.src_port,
        tcp.dst_port,
        tcp.flags,
        tcp.seq.0,
        segment.payload.len(),
        tcp.ack.0,
        tcp.window
    );
    if !options.sack.is_empty() {
        text += &format!(" sack {:?}", options.sack.iter().map(|b| (b.0.0, b.1.0)).collect::<Vec<_>>());
    }
    if let Some(stamps) = options.timestamps {
        text += &format!(" ts {}/{}", stamps.tsval, stamps.tsecr);
    }
    if let Some(seq) = options.hack_ack {
        text += &format!(" hack {}", seq.0);
    }
    if !options.xhack_ack.is_empty() {
        text += &format!(" xhack {:?}", options.xhack_ack.iter().map(|seq| seq.0).collect::<Vec<_>>());
    }
    text
}

/// A number that depends on `before` and every byte.
pub(crate) fn digest(before: u64, bytes: &[u8]) -> u64 {
    let mut value = before;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        value = (value ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    value
}

/// Whether a segment reports damage.
pub(crate) fn is_special_ack(segment: &Segment<'_>) -> bool {
    let options = &segment.options;
    options.hack_ack.is_some()
        || !options.xhack_ack.is_empty()
        || options.v2.as_ref().and_then(V2::as_ack).is_some_and(V2Ack::is_special)
}
