//! What the octets of both streams are: a function of their place, so that every octet that goes
//! missing, comes twice or comes in the wrong place shows.

/// Who wrote a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Host,
    Peer,
}

/// The octet at `offset` of the stream.
pub(crate) fn octet(writer: Writer, offset: u32) -> u8 {
    let salt = match writer {
        Writer::Host => 0x5bd1_e995,
        Writer::Peer => 0x1b87_3593,
    };
    ((offset ^ salt).wrapping_mul(0x9e37_79b1) >> 24) as u8
}

/// `len` octets from `offset` on.
pub(crate) fn octets(writer: Writer, offset: u32, len: u32) -> Vec<u8> {
    (0..len).map(|i| octet(writer, offset.wrapping_add(i))).collect()
}

/// The first place where `data` is not what stands from `offset` on.
pub(crate) fn difference(writer: Writer, offset: u32, data: &[u8]) -> Option<usize> {
    (0..data.len()).find(|&i| data[i] != octet(writer, offset.wrapping_add(i as u32)))
}
