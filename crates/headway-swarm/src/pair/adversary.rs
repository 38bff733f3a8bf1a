//! What a link does not do: it aims at packets of a kind, cuts them short, and damages them so that
//! no checksum notices.

use headway_test_fixture::rng::Rng;
use headway_units::Duration;
use headway_wire::{Segment, TcpFlags};

use super::packet::Packet;
use crate::text::is_special_ack;

/// What a packet is, for those who aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    Syn,
    SynAck,
    Fin,
    Reset,
    SpecialAck,
    Data,
    Ack,
}

impl PacketKind {
    pub(crate) const ALL: [Self; 7] =
        [Self::Syn, Self::SynAck, Self::Fin, Self::Reset, Self::SpecialAck, Self::Data, Self::Ack];

    pub(crate) fn of(segment: &Segment<'_>) -> Self {
        let flags = segment.tcp.flags;
        let special = is_special_ack(segment);
        if flags.contains(TcpFlags::RST) {
            Self::Reset
        } else if flags.contains(TcpFlags::SYN) {
            if flags.contains(TcpFlags::ACK) { Self::SynAck } else { Self::Syn }
        } else if flags.contains(TcpFlags::FIN) {
            Self::Fin
        } else if special {
            Self::SpecialAck
        } else if segment.payload.is_empty() {
            Self::Ack
        } else {
            Self::Data
        }
    }
}

/// What is done to packets of one kind; shares in thousandths.
#[derive(Clone, Debug)]
pub(crate) struct Treatment {
    pub(crate) kind: PacketKind,
    /// The first ones of each schedule are dropped.
    pub(crate) drop_first: u32,
    pub(crate) drop: u32,
    pub(crate) duplicate: u32,
    /// Copies that a duplicated packet gets, each held for a time of its own.
    pub(crate) copies: u32,
    pub(crate) hold: u32,
    /// The longest that a packet is held.
    pub(crate) longest: Duration,
}

/// One direction's adversary.
#[derive(Clone, Debug)]
pub(crate) struct Adversary {
    pub(crate) treatments: Vec<Treatment>,
    /// From when to when nothing passes.
    pub(crate) blackouts: Vec<(Duration, Duration)>,
    /// Shares in thousandths of the packets that are cut short, ...
    pub(crate) truncate: u32,
    /// ... whose payload gets two words exchanged, which leaves every sum right, ...
    pub(crate) swap_payload: u32,
    /// ... and whose TCP header gets two bits turned, which does so too.
    pub(crate) flip_header: u32,
}

impl Adversary {
    /// What becomes of `packet`, sent `since` the start: copies, and how long each is held.
    pub(crate) fn treat(
        &mut self,
        since: Duration,
        packet: Packet,
        rng: &mut Rng,
    ) -> Vec<(Duration, Packet)> {
        if self.blackouts.iter().any(|&(from, to)| from <= since && since < to) {
            return Vec::new();
        }
        let kind = packet.sent.kind;
        let mut copies = vec![(Duration::ZERO, packet)];
        if let Some(treatment) = self.treatments.iter_mut().find(|treatment| treatment.kind == kind) {
            let hold =
                |rng: &mut Rng, longest: Duration| Duration::from_micros(rng.between(0, longest.as_micros()));
            if treatment.drop_first > 0 {
                treatment.drop_first -= 1;
                return Vec::new();
            }
            if rng.permille(treatment.drop) {
                return Vec::new();
            }
            if rng.permille(treatment.duplicate) {
                for _ in 0..treatment.copies {
                    let copy = copies[0].1.clone();
                    copies.push((hold(rng, treatment.longest), copy));
                }
            }
            if rng.permille(treatment.hold) {
                copies[0].0 = hold(rng, treatment.longest);
            }
        }
        for (_, copy) in &mut copies {
            if rng.permille(self.truncate) {
                truncate(&mut copy.bytes, rng);
            }
            if rng.permille(self.swap_payload) {
                swap_words(copy, rng);
            }
            if rng.permille(self.flip_header) {
                flip_column(copy, rng);
            }
        }
        copies
    }
}

/// Cuts a packet short; sometimes the IP header is put right, as a careless box does.
fn truncate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let len = rng.between(1, bytes.len());
    bytes.truncate(len);
    if rng.coin() {
        return;
    }
    match bytes.first().map(|first| first >> 4) {
        Some(4) if len >= 20 => {
            bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            bytes[10..12].fill(0);
            let mut sum = headway_wire::checksum::Sum::default();
            sum.add_bytes(&bytes[..20]);
            let sum = sum.complement().to_be_bytes();
            bytes[10..12].copy_from_slice(&sum);
        }
        Some(6) if len >= 40 => bytes[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes()),
        _ => {}
    }
}

/// Exchanges two 16-bit words of the payload: a ones' complement sum does not notice.
fn swap_words(packet: &mut Packet, rng: &mut Rng) {
    let Some(layout) = headway_wire::layout(&packet.bytes) else { return };
    let start = layout.header_len;
    let words = packet.bytes.len().saturating_sub(start) / 2;
    if words < 2 {
        return;
    }
    let [a, b] = [(); 2].map(|()| start + 2 * rng.below(words));
    packet.bytes.swap(a, b);
    packet.bytes.swap(a + 1, b + 1);
}

/// Turns a bit in two 16-bit words of the TCP header, in the same place and to opposite sides: no sum
/// of 16-bit words notices.
fn flip_column(packet: &mut Packet, rng: &mut Rng) {
    let Some(layout) = headway_wire::layout(&packet.bytes) else { return };
    // The ports, which would only lead it astray, and the checksum are left alone.
    let fields = layout.ip_header_len + 4..layout.ip_header_len + 16;
    // The highest bits do the most harm.
    let bit = if rng.coin() { 7 } else { rng.below(8) };
    let half = rng.below(2);
    let places = || fields.clone().skip(half).step_by(2);
    let (ones, zeros): (Vec<_>, Vec<_>) = places().partition(|&place| packet.bytes[place] & (1 << bit) != 0);
    if ones.is_empty() || zeros.is_empty() {
        return;
    }
    packet.bytes[rng.pick(&ones)] ^= 1 << bit;
    packet.bytes[rng.pick(&zeros)] ^= 1 << bit;
}
