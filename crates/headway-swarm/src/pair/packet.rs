//! A packet on its way, and what is known of it.

use std::rc::Rc;

use headway_link::PacketBuffer;
use headway_wire::{ChecksumTrust, Received, Segment};

use super::adversary::PacketKind;

/// A copy of a packet.
#[derive(Clone)]
pub(crate) struct Packet {
    /// What this copy has become.
    pub(crate) bytes: Vec<u8>,
    pub(crate) sent: Rc<Sent>,
}

impl AsMut<[u8]> for Packet {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl PacketBuffer for Packet {
    fn set_len(&mut self, len: usize) {
        self.bytes.resize(len, 0);
    }
}

/// A packet as its host made it.
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: PacketKind,
    /// The connection that it belongs to.
    pub(crate) flow: usize,
    /// It belongs to no connection that a program knows: an old SYN came late and was answered.
    pub(crate) ghost: bool,
    /// Length of the chain of mere ACKs that led to this one, each the answer to the one before.
    pub(crate) chain: u32,
}

/// What damage did to a packet that passes every check of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undetected {
    /// Nothing that TCP looks at.
    Harmless,
    /// The payload differs, and nothing else.
    Payload,
    /// Its header does: anything may follow.
    Header,
}

impl Packet {
    /// What its receiver takes it for.
    pub(crate) fn received(&self) -> Received<'_> {
        Received::parse(&self.bytes, ChecksumTrust::None)
    }

    /// Its segment, damaged or not, if it can be parsed.
    pub(crate) fn segment(&self) -> Option<Segment<'_>> {
        Segment::parse(&self.bytes).ok()
    }

    /// Whether damage to this copy goes unseen, as the oracle knows from the bytes that were sent.
    pub(crate) fn undetected(&self) -> Option<Undetected> {
        if self.bytes == self.sent.bytes {
            return None;
        }
        let Received::Intact(now) = self.received() else { return None };
        let Ok(then) = Segment::parse(&self.sent.bytes) else { return Some(Undetected::Header) };
        let same_header = now.ip.src == then.ip.src
            && now.ip.dst == then.ip.dst
            && now.tcp == then.tcp
            && now.options == then.options
            && now.payload.len() == then.payload.len();
        Some(match (same_header, now.payload == then.payload) {
            (true, true) => Undetected::Harmless,
            (true, false) => Undetected::Payload,
            (false, _) => Undetected::Header,
        })
    }
}
