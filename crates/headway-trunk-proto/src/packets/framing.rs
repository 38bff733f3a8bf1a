//! IP packets in a byte stream: each follows its length.

/// Bytes in front of each packet: its length, big-endian.
pub const LENGTH_PREFIX: usize = 2;

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// The stream does not hold packets, or not any more: damage that TCP's checksum does not detect can hit a length.
/// What follows cannot be read; the connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// A length that no packet has here.
    #[error("a packet of {len} bytes in the trunk: expected {IPV4_HEADER} to {max} bytes")]
    Length {
        /// The length that arrived.
        len: usize,
        /// The longest packet that is expected.
        max: usize,
    },
    /// The bytes are not an IP packet of that length.
    #[error("{len} bytes in the trunk that are not an IP packet of this length")]
    NotAPacket {
        /// The length that arrived.
        len: usize,
    },
}

/// Whether `bytes` are one IPv4 or IPv6 packet and nothing more, by version and length. No checksum is checked: that
/// is for those whom the packet is for.
pub fn is_whole_packet(bytes: &[u8]) -> bool {
    let be = |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    match bytes.first() {
        Some(first) if first >> 4 == 4 => {
            let header = usize::from(first & 0xf) * 4;
            header >= IPV4_HEADER && header <= bytes.len() && be(2) == Some(bytes.len())
        }
        Some(first) if first >> 4 == 6 => {
            bytes.len() >= IPV6_HEADER && be(4).map(|len| len + IPV6_HEADER) == Some(bytes.len())
        }
        _ => false,
    }
}

/// Takes packets out of a byte stream that comes in pieces of any length.
///
/// It holds at most one packet of the longest length that it was made for. No bytes make it panic.
///
/// ```
/// use headway_trunk_proto::packets::PacketReader;
///
/// let mut packet = [0u8; 20];
/// (packet[0], packet[3]) = (0x45, 20);
/// let mut reader = PacketReader::new(1500);
/// let mut input: &[u8] = &[0];
/// assert_eq!(reader.read(&mut input), Ok(None));
/// let rest = [&[20], &packet[..], &[0]].concat();
/// let mut input = &rest[..];
/// assert_eq!(reader.read(&mut input), Ok(Some(&packet[..])));
/// assert_eq!(reader.read(&mut input), Ok(None));
/// assert!(input.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct PacketReader {
    max: usize,
    /// The length and the packet, as far as they have arrived.
    held: Vec<u8>,
    /// `held` was given out.
    is_given: bool,
    failed: Option<FramingError>,
}

impl PacketReader {
    /// For packets of at most `max` bytes.
    pub fn new(max: u16) -> Self {
        Self { max: usize::from(max), held: Vec::new(), is_given: false, failed: None }
    }

    /// Takes bytes off the front of `input`, at most up to the end of a packet, which it gives. `None` means that
    /// all of `input` is taken and more is needed.
    ///
    /// # Errors
    ///
    /// The stream is no stream of packets. It stays so, and `input` as it is.
    pub fn read<'a>(&'a mut self, input: &mut &[u8]) -> Result<Option<&'a [u8]>, FramingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if std::mem::take(&mut self.is_given) {
            self.held.clear();
        }
        self.take(LENGTH_PREFIX, input);
        let Some(prefix) = self.held.first_chunk::<LENGTH_PREFIX>() else { return Ok(None) };
        let len = usize::from(u16::from_be_bytes(*prefix));
        if !(IPV4_HEADER..=self.max).contains(&len) {
            return Err(self.fail(FramingError::Length { len, max: self.max }));
        }
        self.take(LENGTH_PREFIX + len, input);
        if self.held.len() < LENGTH_PREFIX + len {
            return Ok(None);
        }
        if !is_whole_packet(&self.held[LENGTH_PREFIX..]) {
            return Err(self.fail(FramingError::NotAPacket { len }));
        }
        self.is_given = true;
        Ok(Some(&self.held[LENGTH_PREFIX..]))
    }

    /// Takes bytes until `len` are held.
    fn take(&mut self, len: usize, input: &mut &[u8]) {
        let wanted = len.saturating_sub(self.held.len()).min(input.len());
        let (taken, rest) = input.split_at(wanted);
        self.held.extend_from_slice(taken);
        *input = rest;
    }

    fn fail(&mut self, error: FramingError) -> FramingError {
        self.held = Vec::new();
        *self.failed.insert(error)
    }
}
