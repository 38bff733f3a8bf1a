//! Boxes on a path that change what passes.

use std::rc::Rc;

use headway_test_fixture::rng::Rng;
use headway_wire::{Integrity, Segment, TcpFlags, judge};

use super::rewrite::Rewrite;
use super::wire::{Sent, Wire};
use crate::{Feature, Features};

/// A box between two hosts, of which one has the lower number: it is outside, the other inside.
#[derive(Clone, Debug)]
pub(super) enum BoxPlan {
    /// Ports from [`FIRST_PORT`](super::plan::FIRST_PORT) on are others outside.
    Translate(u16),
    /// Options of this kind are replaced by such that do nothing.
    Strip(u8),
    /// Sequence numbers of each host are others for the other one; SACK blocks are translated or not.
    Renumber([u32; 2], bool),
    /// The largest MSS.
    Clamp(u16),
    /// Segments of more bytes are cut in two.
    Split(usize),
    /// Segments are joined that arrive together, up to this length of a packet.
    Join(usize),
}

impl BoxPlan {
    /// Draws the boxes of a path.
    pub(super) fn draw(rng: &mut Rng, features: Features) -> Vec<Self> {
        let all = [
            (Feature::Translate, Self::Translate(rng.between(1, 20_000))),
            // Window scale, SACK permitted, timestamps, Header Checksum, experiments.
            (Feature::Strip, Self::Strip(rng.pick(&[3, 4, 8, 14, 16, 253]))),
            (Feature::Renumber, Self::Renumber([rng.next() as u32, rng.next() as u32], rng.coin())),
            (Feature::Clamp, Self::Clamp(rng.between(88, 1460))),
            (Feature::Split, Self::Split(rng.between(1, 1460))),
            (Feature::Join, Self::Join(rng.between(600, 9_000))),
        ];
        let drawn = all.map(|plan| (rng.permille(350), plan));
        let present =
            drawn.into_iter().filter(|(is_drawn, (feature, _))| *is_drawn && features.has(*feature));
        present.map(|(_, (_, plan))| plan).collect()
    }

    /// How much higher the ports of clients are for their peers.
    pub(super) fn port_shift(boxes: &[Self]) -> u16 {
        boxes.iter().map(|plan| if let Self::Translate(by) = plan { *by } else { 0 }).sum()
    }

    /// A packet passes from host `from` to host `to`. What goes on.
    pub(super) fn pass(&self, from: usize, to: usize, mut packet: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(mut segment) = Rewrite::new(&mut packet) else { return vec![packet] };
        match *self {
            Self::Translate(by) => translate(&mut segment, by),
            Self::Strip(kind) => {
                for (found, at, len) in segment.options() {
                    if found == kind {
                        segment.header()[at..at + len].fill(1);
                    }
                }
            }
            Self::Renumber(by, translates_sack) => {
                let (ours, theirs) = if from < to { (by[0], by[1]) } else { (by[1], by[0]) };
                renumber(&mut segment, ours, theirs, translates_sack);
            }
            Self::Clamp(most) => clamp(&mut segment, most),
            Self::Split(longest) => return split(packet, longest),
            Self::Join(_) => return vec![packet],
        }
        segment.finish();
        vec![packet]
    }

    /// Joins what arrives together. Damage that no checksum sees would be of no packet any more: what is damaged stays alone.
    pub(super) fn join(boxes: &[Self], packets: Vec<Wire>) -> Vec<Wire> {
        let longest =
            boxes.iter().find_map(|plan| if let Self::Join(longest) = plan { Some(*longest) } else { None });
        let Some(longest) = longest else { return packets };
        let mut joined: Vec<Wire> = Vec::new();
        for packet in packets {
            let last = joined.last().filter(|last| !last.is_damaged() && !packet.is_damaged());
            let both = last.and_then(|last| join_two(&last.bytes, &packet.bytes, longest));
            match (both, joined.last_mut()) {
                (Some(bytes), Some(last)) => {
                    let Sent { number, from, flow, is_forged, .. } = *packet.sent;
                    let sent =
                        Sent { bytes: bytes.clone(), number, from, flow, inner: Vec::new(), is_forged };
                    *last = Wire { bytes, outer: None, sent: Rc::new(sent) };
                }
                _ => joined.push(packet),
            }
        }
        joined
    }
}

/// Clients' ports are others outside.
fn translate(segment: &mut Rewrite<'_>, by: u16) {
    let port = |segment: &mut Rewrite<'_>, at: usize| {
        u16::from_be_bytes([segment.header()[at], segment.header()[at + 1]])
    };
    let (source, destination) = (port(segment, 0), port(segment, 2));
    // One of the two is the listener's.
    if destination == super::plan::LISTEN {
        segment.set(0, source.wrapping_add(by));
    } else if source == super::plan::LISTEN {
        segment.set(2, destination.wrapping_sub(by));
    }
}

fn renumber(segment: &mut Rewrite<'_>, ours: u32, theirs: u32, translates_sack: bool) {
    let flags = TcpFlags::from_bits(segment.header()[13]);
    segment.add(4, ours);
    if flags.contains(TcpFlags::ACK) {
        segment.add(8, theirs.wrapping_neg());
    }
    if translates_sack {
        for (_, at, len) in segment.options().into_iter().filter(|(kind, ..)| *kind == 5) {
            for place in (at + 2..at + len).step_by(4) {
                segment.add(place, theirs.wrapping_neg());
            }
        }
    }
}

fn clamp(segment: &mut Rewrite<'_>, most: u16) {
    for (_, at, _) in segment.options().into_iter().filter(|(kind, _, len)| (*kind, *len) == (2, 4)) {
        let header = segment.header();
        let mss = u16::from_be_bytes([header[at + 2], header[at + 3]]);
        segment.set(at + 2, mss.min(most));
    }
}

/// Options whose values are of one segment alone.
fn has_sums(packet: &[u8]) -> bool {
    Segment::parse(packet).is_ok_and(|segment| segment.options.hack.is_some() || segment.options.v2.is_some())
}

fn split(mut packet: Vec<u8>, longest: usize) -> Vec<Vec<u8>> {
    let Ok(segment) = Segment::parse(&packet) else { return vec![packet] };
    let (len, flags) = (segment.payload.len(), segment.tcp.flags);
    if len <= longest || has_sums(&packet) || flags.intersects(TcpFlags::SYN | TcpFlags::RST | TcpFlags::URG)
    {
        return vec![packet];
    }
    let mut second = packet.clone();
    if let Some(mut first) = Rewrite::new(&mut packet) {
        first.keep(0..longest);
        first.header()[13] &= !(TcpFlags::FIN | TcpFlags::PSH).bits();
        first.finish();
    }
    if let Some(mut second) = Rewrite::new(&mut second) {
        second.keep(longest..len);
        second.add(4, longest as u32);
        second.header()[13] &= !TcpFlags::CWR.bits();
        second.finish();
    }
    vec![packet, second]
}

/// `last` and `next`, which follows it, as one.
fn join_two(last: &[u8], next: &[u8], longest: usize) -> Option<Vec<u8>> {
    let (one, two) = (Segment::parse(last).ok()?, Segment::parse(next).ok()?);
    let follows = one.ip.src == two.ip.src
        && one.ip.dst == two.ip.dst
        && one.ip.ecn == two.ip.ecn
        && (one.tcp.src_port, one.tcp.dst_port) == (two.tcp.src_port, two.tcp.dst_port)
        && one.tcp.seq + one.payload.len() as u32 == two.tcp.seq
        && (one.tcp.ack, one.tcp.window) == (two.tcp.ack, two.tcp.window)
        && one.tcp.flags == TcpFlags::ACK
        && (two.tcp.flags == TcpFlags::ACK || two.tcp.flags == TcpFlags::ACK | TcpFlags::PSH)
        && one.options == two.options
        && !one.payload.is_empty()
        && !two.payload.is_empty()
        && last.len() + two.payload.len() <= longest;
    let is_sound = |packet| judge(packet) == Ok(Integrity::Intact) && !has_sums(packet);
    if !follows || !is_sound(last) || !is_sound(next) {
        return None;
    }
    let mut both = last.to_vec();
    let mut whole = Rewrite::new(&mut both)?;
    whole.append(two.payload);
    whole.header()[13] = two.tcp.flags.bits();
    whole.finish();
    Some(both)
}
