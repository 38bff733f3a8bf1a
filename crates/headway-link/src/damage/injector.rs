//! Damages packets: decides which and where, and changes the bits.

use super::{
    bit_errors::BitErrors,
    edits::{self, Edited},
    frame_errors::{FrameError, FrameErrors},
    packet_errors::PacketErrors,
    place::{Placer, Zone},
};
use crate::{
    BitOrigin, Damage, Edit, Fate, Frame, Headers, HitPlace, HitZone, LinkConfig, PacketBuffer,
    random::{Chance, Stream},
    trace::Replay,
};
use headway_units::{Instant, Share};
use std::fmt;

/// What was done to a damaged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hit {
    /// Bits flipped, all distinct; at least 1, unless the length changed too.
    pub flips: u32,
    /// Bits missing or added, and places at which the frame was split.
    pub slips: u32,
    /// Whether one of these bits and places is before the payload.
    pub header: bool,
    /// Whether the end of the frame is missing, so that the next packet may follow in it.
    pub no_end: bool,
}

/// `3 bits flipped`, `1 bit flipped, header hit` or `0 bits flipped, 800 slipped, end missing, header hit`.
impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.flips == 1 { "bit" } else { "bits" };
        write!(f, "{} {bits} flipped", self.flips)?;
        if self.slips > 0 {
            write!(f, ", {} slipped", self.slips)?;
        }
        f.write_str(if self.no_end { ", end missing" } else { "" })?;
        f.write_str(if self.header { ", header hit" } else { "" })
    }
}

/// What a hit does to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its bits are changed.
    Apply,
    /// Nothing: the damaged copy is another one, which no one will see.
    Spare,
}

/// What became of a packet that passed through the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Intact,
    Hit(Hit),
    /// Its length changed, or it is split or has no end: [`Injector::edited`] says what arrives.
    Edited(Hit),
    /// Only a trace loses packets, and what leaves no byte of them.
    Lost,
}

impl From<Option<Hit>> for Outcome {
    #[inline]
    fn from(hit: Option<Hit>) -> Self {
        hit.map_or(Self::Intact, Self::Hit)
    }
}

/// Damages packets as one configuration asks for.
#[derive(Clone, Debug)]
pub(crate) struct Injector {
    model: Model,
    which: Stream,
    hitter: Hitter,
}

#[derive(Clone, Debug)]
enum Model {
    None,
    Packets(PacketErrors),
    Bits(BitErrors),
    Modem(PacketErrors, FrameErrors),
    Trace(Replay),
}

impl Injector {
    pub(crate) fn new(config: &LinkConfig, mut which: Stream, place: Stream) -> Self {
        let damage = &config.damage;
        let replay = || match damage {
            Damage::Trace(trace) => Some(Model::Trace(Replay::new(trace))),
            _ => None,
        };
        let model = PacketErrors::new(damage, config.nominal_rate(), config.overhead, &mut which)
            .map(|packets| match *damage {
                Damage::Modem { errors, .. } => Model::Modem(packets, errors),
                _ => Model::Packets(packets),
            })
            .or_else(|| BitErrors::new(damage, &mut which).map(Model::Bits))
            .or_else(replay)
            .unwrap_or(Model::None);
        let hitter = Hitter {
            flips: config.flips.or(damage.default_flips()).unwrap_or(1).max(1),
            zone: config.hit_zone,
            header_hit: config.header_hit.map(Chance::new),
            placer: Placer::default(),
            wrong: Vec::new(),
            place,
            edited: Vec::new(),
        };
        Self { model, which, hitter }
    }

    /// Passes a frame, whose transmission begins at `start`, through the damage. A packet without a bit in the zone is never hit, but moves the model on.
    // The model that decides by packets, mostly that nothing happens, is the one in line.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        frame: &mut Frame<impl PacketBuffer>,
        start: Instant,
        effect: Effect,
    ) -> Outcome {
        match &mut self.model {
            Model::None => Outcome::Intact,
            Model::Packets(model) => {
                if model.hits(start, &mut self.which) {
                    self.hitter.hit(frame, effect)
                } else {
                    Outcome::Intact
                }
            }
            Model::Bits(model) => self.hitter.hit_bits(model, &mut self.which, frame, effect),
            Model::Modem(model, errors) => {
                if model.hits(start, &mut self.which) {
                    let error = errors.draw(&mut self.which);
                    self.hitter.edit_once(error, frame, effect)
                } else {
                    Outcome::Intact
                }
            }
            Model::Trace(replay) => self.hitter.replay(replay, frame, effect),
        }
    }

    /// What arrives of the frame that [`pass`](Self::pass) said is edited, apart from its first piece, which the frame holds.
    pub(crate) fn edited(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.hitter.edited)
    }
}

/// Flips the bits of what is hit.
#[derive(Clone, Debug)]
struct Hitter {
    flips: u32,
    zone: HitZone,
    header_hit: Option<Chance>,
    placer: Placer,
    wrong: Vec<u64>,
    place: Stream,
    /// The pieces behind the first of the frame that was edited last.
    edited: Vec<Vec<u8>>,
}

impl Hitter {
    /// A frame is hit.
    #[inline(never)]
    fn hit(&mut self, frame: &mut Frame<impl AsMut<[u8]>>, effect: Effect) -> Outcome {
        let headers = frame.headers;
        let bytes = frame.bytes_mut();
        let zone = zone(self.zone, headers, bytes.len());
        let mut flipped = Flipped::new(bytes, zone, effect);
        self.placer.place(self.flips.into(), zone, self.header_hit, &mut self.place, |bit| flipped.flip(bit));
        flipped.hit().into()
    }

    /// A frame passes a model that counts in bits.
    #[inline(never)]
    fn hit_bits(
        &mut self,
        model: &mut BitErrors,
        which: &mut Stream,
        frame: &mut Frame<impl AsMut<[u8]>>,
        effect: Effect,
    ) -> Outcome {
        let headers = frame.headers;
        let bytes = frame.bytes_mut();
        let zone = zone(self.zone, headers, bytes.len());
        model.pass(zone.end - zone.start, &mut self.wrong, which);
        if self.wrong.is_empty() {
            return Outcome::Intact;
        }
        let mut flipped = Flipped::new(bytes, zone, effect);
        if self.header_hit.is_some() {
            let flips = self.wrong.len() as u64;
            self.placer.place(flips, zone, self.header_hit, &mut self.place, |bit| flipped.flip(bit));
        } else {
            self.wrong.iter().for_each(|bit| flipped.flip(zone.start + bit));
        }
        flipped.hit().into()
    }

    /// A frame error hits a frame.
    #[inline(never)]
    fn edit_once(
        &mut self,
        error: FrameError,
        frame: &mut Frame<impl PacketBuffer>,
        effect: Effect,
    ) -> Outcome {
        let headers = frame.headers;
        let zone = zone(self.zone, headers, frame.bytes_mut().len());
        let mut place = None;
        self.placer.place(1, zone, self.header_hit, &mut self.place, |bit| place = Some(bit as u32));
        let Some(place) = place else { return Outcome::Intact };
        let edit = error.edit(place, &mut self.place);
        self.edit(0, zone.data, &[edit], frame, effect)
    }

    /// A frame is edited. Places count from bit `origin` on; its headers end before bit `data`.
    fn edit(
        &mut self,
        origin: u64,
        data: u64,
        edits: &[Edit],
        frame: &mut Frame<impl PacketBuffer>,
        effect: Effect,
    ) -> Outcome {
        let Some(Edited { mut pieces, hit }) =
            edits::apply(frame.bytes_mut(), origin, data, edits, &mut self.place)
        else {
            return Outcome::Intact;
        };
        if pieces.is_empty() {
            return Outcome::Lost;
        }
        if effect == Effect::Apply {
            self.edited = pieces.split_off(1);
            frame.write(&pieces[0]);
        }
        if hit.slips > 0 || hit.no_end { Outcome::Edited(hit) } else { Outcome::Hit(hit) }
    }

    /// A frame has the next fate of a recorded link.
    #[inline(never)]
    fn replay(
        &mut self,
        replay: &mut Replay,
        frame: &mut Frame<impl PacketBuffer>,
        effect: Effect,
    ) -> Outcome {
        let fate = match replay.next() {
            Fate::Ok => return Outcome::Intact,
            Fate::Lost => return Outcome::Lost,
            fate => fate,
        };
        let headers = frame.headers;
        if let Fate::Edits { from, edits } = fate {
            let data = zone(self.zone, headers, frame.bytes_mut().len()).data;
            return self.edit(origin(*from, headers), data, edits, frame, effect);
        }
        let bytes = frame.bytes_mut();
        let zone = zone(self.zone, headers, bytes.len());
        let mut flipped = Flipped::new(bytes, zone, effect);
        match fate {
            Fate::Bits { from, bits } => {
                let start = origin(*from, headers);
                let bits = bits.iter().map(|bit| start.saturating_add(u64::from(*bit)));
                bits.filter(|bit| *bit < zone.end).for_each(|bit| flipped.flip(bit));
            }
            Fate::Hit { flips, place } => {
                let (zone, header_hit) = match place {
                    HitPlace::Any => (zone, self.header_hit),
                    HitPlace::Payload => (zone, Some(Chance::new(Share::ZERO))),
                    HitPlace::Both => (zone, Some(Chance::new(Share::ONE))),
                    HitPlace::Header if zone.start < zone.data => (Zone { end: zone.data, ..zone }, None),
                    // Without a header there is only data to hit.
                    HitPlace::Header => (zone, None),
                };
                let flips = u64::from(*flips).max(1);
                self.placer.place(flips, zone, header_hit, &mut self.place, |bit| flipped.flip(bit));
            }
            Fate::Ok | Fate::Lost | Fate::Edits { .. } => {}
        }
        flipped.hit().into()
    }
}

/// The bit of a packet that a trace counts from.
fn origin(from: BitOrigin, headers: Headers) -> u64 {
    let bytes = match from {
        BitOrigin::Ip => 0,
        BitOrigin::Tcp => headers.ip_header_len,
        BitOrigin::Payload => headers.header_len,
    };
    (bytes as u64).saturating_mul(8)
}

/// The bits of a packet of `len` bytes that are open to damage.
fn zone(zone: HitZone, headers: Headers, len: usize) -> Zone {
    let data = headers.header_len.min(len);
    let start = match zone {
        HitZone::TcpHeader => headers.ip_header_len.min(data),
        HitZone::IpAndTcpHeader => 0,
    };
    Zone { start: start as u64 * 8, data: data as u64 * 8, end: len as u64 * 8 }
}

/// A packet while its bits are flipped.
struct Flipped<'a> {
    bytes: &'a mut [u8],
    zone: Zone,
    effect: Effect,
    hit: Hit,
}

impl<'a> Flipped<'a> {
    fn new(bytes: &'a mut [u8], zone: Zone, effect: Effect) -> Self {
        Self { bytes, zone, effect, hit: Hit { flips: 0, slips: 0, header: false, no_end: false } }
    }

    #[inline]
    fn flip(&mut self, bit: u64) {
        // The first bit on the wire is the most significant one of its byte.
        if self.effect == Effect::Apply {
            self.bytes[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
        }
        self.hit.flips += 1;
        self.hit.header |= bit < self.zone.data;
    }

    fn hit(&self) -> Option<Hit> {
        (self.hit.flips > 0).then_some(self.hit)
    }
}
