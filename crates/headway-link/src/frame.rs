//! A packet as a link handles it.

use headway_units::Instant;

use crate::Headers;

/// A packet on its way to the transmitter, or through a link ARQ.
#[derive(Clone, Debug)]
pub struct Frame<P> {
    /// The packet, or a buffer that holds it at its start.
    pub packet: P,
    /// The length of the packet, in bytes.
    pub len: usize,
    /// Where its headers end.
    pub headers: Headers,
    /// Whether it may be damaged.
    pub exposed: bool,
    /// Which flow it is of, as the [classifier](crate::Link::with_classifier) of the link says; 0 without one.
    pub flow: u64,
    /// When it was given to the link.
    pub enqueued: Instant,
}

/// A packet, or a buffer that holds one at its start, whose length damage may change.
pub trait PacketBuffer: AsMut<[u8]> + Clone {
    /// From now on the packet is the first `len` bytes of what [`AsMut`] gives, which may be more than there were. Which bytes
    /// are there then does not matter: all are written afterwards.
    fn set_len(&mut self, len: usize);
}

impl PacketBuffer for Vec<u8> {
    fn set_len(&mut self, len: usize) {
        self.resize(len, 0);
    }
}

impl<P: PacketBuffer> Frame<P> {
    /// The same with these bytes as its packet.
    pub(crate) fn with(&self, bytes: &[u8]) -> Self {
        let mut other = self.clone();
        other.write(bytes);
        other
    }

    /// The packet is these bytes now.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.packet.set_len(bytes.len());
        self.len = bytes.len();
        self.bytes_mut().copy_from_slice(bytes);
    }
}

impl<P: AsMut<[u8]>> Frame<P> {
    /// The bytes of the packet.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let buffer = self.packet.as_mut();
        let len = self.len.min(buffer.len());
        &mut buffer[..len]
    }
}
