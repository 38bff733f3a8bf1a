//! Builds captures byte by byte.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Big,
    Little,
}

/// A file being built.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    order: Order,
    pub(crate) bytes: Vec<u8>,
}

impl Build {
    pub(crate) fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new() }
    }

    pub(crate) fn u16(mut self, value: u16) -> Self {
        match self.order {
            Order::Big => self.bytes.extend(value.to_be_bytes()),
            Order::Little => self.bytes.extend(value.to_le_bytes()),
        }
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Self {
        match self.order {
            Order::Big => self.bytes.extend(value.to_be_bytes()),
            Order::Little => self.bytes.extend(value.to_le_bytes()),
        }
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// A classic file header.
    pub(crate) fn pcap(self, magic: u32, link: u32) -> Self {
        self.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(link)
    }

    /// A classic packet.
    pub(crate) fn record(self, secs: u32, fraction: u32, bytes: &[u8], original_len: u32) -> Self {
        self.u32(secs).u32(fraction).u32(bytes.len() as u32).u32(original_len).raw(bytes)
    }

    /// A block of pcapng.
    pub(crate) fn block(self, kind: u32, body: &[u8]) -> Self {
        let padding = body.len().next_multiple_of(4) - body.len();
        let len = (12 + body.len() + padding) as u32;
        self.u32(kind).u32(len).raw(body).raw(&[0; 4][..padding]).u32(len)
    }

    /// A section header.
    pub(crate) fn section(self) -> Self {
        let body = self.inner().u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        self.block(0x0a0d_0d0a, &body.bytes)
    }

    /// An interface with these options.
    pub(crate) fn interface(self, link: u16, snap_len: u32, options: &[(u16, &[u8])]) -> Self {
        let mut body = self.inner().u16(link).u16(0).u32(snap_len);
        for (code, value) in options {
            let padding = value.len().next_multiple_of(4) - value.len();
            body = body.u16(*code).u16(value.len() as u16).raw(value).raw(&[0; 4][..padding]);
        }
        let body = body.u32(0);
        self.block(1, &body.bytes)
    }

    /// An Enhanced Packet Block.
    pub(crate) fn packet(self, interface: u32, ticks: u64, bytes: &[u8], original_len: u32) -> Self {
        let body = self
            .inner()
            .u32(interface)
            .u32((ticks >> 32) as u32)
            .u32(ticks as u32)
            .u32(bytes.len() as u32)
            .u32(original_len)
            .raw(bytes);
        self.block(6, &body.bytes)
    }

    /// Bytes in the same order.
    pub(crate) fn inner(&self) -> Self {
        Self::new(self.order)
    }
}
