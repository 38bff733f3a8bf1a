//! Frames in a stream of bytes.

/// Finds the frames of a received stream again, and makes one of those that are sent. What it keeps is bounded by the longest
/// frame.
pub(super) trait Framing: Send {
    /// Takes the next received byte; the frame that ends with it.
    fn push(&mut self, byte: u8) -> Option<&[u8]>;

    /// Appends to `out` what is sent for a frame.
    fn encode(&mut self, frame: &[u8], out: &mut Vec<u8>);

    /// What was received before belongs to another stream.
    fn reset(&mut self);
}

/// The shortest frame: shorter ones are noise. No header of TCP is shorter.
pub(super) const SHORTEST: usize = 20;
