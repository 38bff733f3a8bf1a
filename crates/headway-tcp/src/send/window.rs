//! The send window: what the peer lets us send (RFC 9293, 3.3.1).

use headway_wire::{SeqNumber, TcpHeader};

/// SND.WND and what goes with it.
pub(crate) struct SendWindow {
    /// SND.WND, scaled to bytes.
    wnd: u32,
    wl1: SeqNumber,
    wl2: SeqNumber,
    /// RFC 5961's MAX.SND.WND.
    max: u32,
    /// The furthest right edge that the peer offered: it takes numbers up to there even where a
    /// scaled window falls short of it (RFC 7323, 2.4).
    edge: SeqNumber,
    /// Shift that the peer asked for (RFC 7323, 2.2).
    scale: u8,
}

/// What a segment did to the window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowUpdate {
    Unchanged,
    Changed,
    /// It was closed before.
    Opened,
}

impl SendWindow {
    /// Closed, until the peer's SYN opens it.
    pub(super) fn new(iss: SeqNumber) -> Self {
        let unknown = SeqNumber::default();
        Self { wnd: 0, wl1: unknown, wl2: unknown, max: 0, edge: iss, scale: 0 }
    }

    /// The peer's SYN arrived.
    pub(super) fn start(&mut self, syn: &TcpHeader, scale: u8, iss: SeqNumber) {
        // RFC 7323, 2.2: "The window field in a segment where the SYN bit is set MUST NOT be
        // scaled."
        let wnd = u32::from(syn.window);
        *self = Self { wnd, wl1: syn.seq, wl2: syn.ack, max: wnd, edge: iss + 1 + wnd, scale };
    }

    /// RFC 9293, 3.10.7.4: on entering ESTABLISHED, "SND.WND <- SEG.WND".
    pub(super) fn set(&mut self, window: u16) {
        self.wnd = u32::from(window) << self.scale;
        self.max = self.max.max(self.wnd);
    }

    /// RFC 9293, 3.10.7.4: "If SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and SND.WL2 =< SEG.ACK),
    /// set SND.WND <- SEG.WND".
    #[inline]
    pub(super) fn update(&mut self, tcp: &TcpHeader, una: SeqNumber) -> WindowUpdate {
        // The rule keeps old segments from changing the window. A copy of old data whose ACK covers
        // new data is no old segment: its window goes with its ACK, or the sum of the two would
        // exceed all that the peer ever offered.
        let newer = self.wl1.lt(tcp.seq) || (self.wl1 == tcp.seq && self.wl2.le(tcp.ack)) || tcp.ack.gt(una);
        if !newer {
            return WindowUpdate::Unchanged;
        }
        let window = u32::from(tcp.window) << self.scale;
        let before = core::mem::replace(&mut self.wnd, window);
        self.max = self.max.max(window);
        self.edge = self.edge.max(tcp.ack + window);
        self.wl1 = tcp.seq;
        self.wl2 = tcp.ack;
        match before {
            _ if before == window => WindowUpdate::Unchanged,
            0 => WindowUpdate::Opened,
            _ => WindowUpdate::Changed,
        }
    }

    /// SND.WND.
    pub(crate) fn size(&self) -> u32 {
        self.wnd
    }

    /// MAX.SND.WND.
    pub(crate) fn max(&self) -> u32 {
        self.max
    }

    /// The furthest right edge that the peer offered.
    pub(super) fn edge(&self) -> SeqNumber {
        self.edge
    }
}
