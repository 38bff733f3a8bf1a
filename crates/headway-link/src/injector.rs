//! Damages packets: decides which and where, and flips the bits.

use crate::{
    Headers, HitZone, LinkConfig,
    bit_errors::BitErrors,
    packet_errors::PacketErrors,
    place::{Placer, Zone},
    random::{Chance, Stream},
};
use headway_units::Instant;

/// What was done to a damaged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Bits flipped, all distinct; at least 1.
    pub flips: u32,
    /// Whether one of them is before the payload.
    pub header: bool,
}

/// What a hit does to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its bits are flipped.
    Flip,
    /// Nothing: the damaged copy is another one, which nobody will see.
    Spare,
}

/// Damages packets as one configuration asks for.
#[derive(Clone, Debug)]
pub(crate) struct Injector {
    model: Model,
    flips: u32,
    zone: HitZone,
    header_hit: Option<Chance>,
    placer: Placer,
    wrong: Vec<u64>,
    which: Stream,
    place: Stream,
}

#[derive(Clone, Debug)]
enum Model {
    None,
    Packets(PacketErrors),
    Bits(BitErrors),
}

impl Injector {
    pub(crate) fn new(config: &LinkConfig, mut which: Stream, place: Stream) -> Self {
        let damage = &config.damage;
        let model = PacketErrors::new(damage, config.rate, config.overhead, &mut which)
            .map(Model::Packets)
            .or_else(|| BitErrors::new(damage, &mut which).map(Model::Bits))
            .unwrap_or(Model::None);
        Self {
            model,
            flips: config.flips.or(damage.default_flips()).unwrap_or(1).max(1),
            zone: config.hit_zone,
            header_hit: config.header_hit.map(Chance::new),
            placer: Placer::default(),
            wrong: Vec::new(),
            which,
            place,
        }
    }

    /// Passes the first `wire_len` bytes of `packet`, whose transmission begins at `start`, through the
    /// damage. A packet without a bit in the zone is never hit, but moves the model on.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        packet: &mut impl AsMut<[u8]>,
        wire_len: usize,
        headers: Headers,
        start: Instant,
        effect: Effect,
    ) -> Option<Hit> {
        match &mut self.model {
            Model::None => None,
            Model::Packets(model) => {
                if !model.hits(start, &mut self.which) {
                    return None;
                }
                let bytes = first(packet.as_mut(), wire_len);
                let zone = zone(self.zone, headers, bytes.len());
                let mut flipped = Flipped::new(bytes, zone, effect);
                self.placer.place(self.flips.into(), zone, self.header_hit, &mut self.place, |bit| {
                    flipped.flip(bit);
                });
                flipped.hit()
            }
            Model::Bits(model) => {
                let bytes = first(packet.as_mut(), wire_len);
                let zone = zone(self.zone, headers, bytes.len());
                model.pass(zone.end - zone.start, &mut self.wrong, &mut self.which);
                if self.wrong.is_empty() {
                    return None;
                }
                let mut flipped = Flipped::new(bytes, zone, effect);
                if self.header_hit.is_some() {
                    let flips = self.wrong.len() as u64;
                    self.placer.place(flips, zone, self.header_hit, &mut self.place, |bit| flipped.flip(bit));
                } else {
                    self.wrong.iter().for_each(|bit| flipped.flip(zone.start + bit));
                }
                flipped.hit()
            }
        }
    }
}

/// The packet within a buffer that may be longer.
fn first(buffer: &mut [u8], wire_len: usize) -> &mut [u8] {
    let len = wire_len.min(buffer.len());
    &mut buffer[..len]
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
        Self { bytes, zone, effect, hit: Hit { flips: 0, header: false } }
    }

    #[inline]
    fn flip(&mut self, bit: u64) {
        // The first bit on the wire is the most significant one of its byte.
        if self.effect == Effect::Flip {
            self.bytes[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
        }
        self.hit.flips += 1;
        self.hit.header |= bit < self.zone.data;
    }

    fn hit(&self) -> Option<Hit> {
        (self.hit.flips > 0).then_some(self.hit)
    }
}
