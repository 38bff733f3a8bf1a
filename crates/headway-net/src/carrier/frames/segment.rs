//! A bare TCP segment in a frame, with its header [`twice`], in the compact or the whole form.
//!
//! The CRC of the header, which covers the length of the segment too, says which header is right. A segment without one (RST,
//! no HACK) has a sum of 16 bits only, which is right too often where so much is tried: both headers have to be the same, except
//! those of a SYN, which ends nothing.

use headway_wire::compact::{self, DATA_HEADERS};
use headway_wire::{Integrity, IpHeader, TcpFlags, is_judged_by_crc, judge};

use super::super::bare::{HEADROOM, OFFSET_AT, WIRE, give_header};
use super::twice::{self, HeaderLengths, Split};

/// The longest copy for which the carrier leaves room.
pub(super) const COPY: usize = DATA_HEADERS[1];
/// Where a TCP header has its flags.
const FLAGS_AT: usize = 13;
/// The lengths of whole headers.
const WHOLE: std::ops::RangeInclusive<usize> = 20..=60;

/// The segment of a frame.
pub(super) struct Found {
    /// By how many bytes it is longer than in the frame, before [`HEADROOM`].
    pub(super) restored: usize,
    /// Its length from [`HEADROOM`] on.
    pub(super) len: usize,
    /// One of its headers is right.
    pub(super) is_readable: bool,
}

/// Writes the segment of `frame` to `place`, at [`HEADROOM`], with an IP header before it. If neither header is readable, it is
/// what most frames are. No frame is longer than `longest`.
pub(super) fn read(frame: &[u8], longest: usize, place: &mut [u8], ip: &IpHeader) -> Found {
    let declared = frame.get(OFFSET_AT).map(|offset| usize::from(offset >> 4) * 4);
    let lengths = HeaderLengths { usual: &DATA_HEADERS, declared, all: WHOLE };
    let readable = twice::find(frame, longest, &lengths, |split| {
        let found = write(split, place, ip)?;
        let is_one = is_readable(place, &found, ip)
            && (split.is_the_same_twice() || is_hard_to_mistake(place, &found, ip));
        is_one.then_some(Found { is_readable: true, ..found })
    });
    let [likely, _] = DATA_HEADERS;
    let mut unreadable = |copy| write(&Split::new(frame, copy, false)?, place, ip);
    readable.or_else(|| unreadable(likely)).or_else(|| unreadable(0)).unwrap_or(Found {
        restored: 0,
        len: 0,
        is_readable: false,
    })
}

fn write(split: &Split<'_>, place: &mut [u8], ip: &IpHeader) -> Option<Found> {
    let len = split.write(place, HEADROOM)?;
    let room = &mut place[..HEADROOM + len];
    let restored = compact::expand(room, HEADROOM, &WIRE);
    give_header(room, restored, ip);
    Some(Found { restored, len, is_readable: false })
}

fn is_readable(place: &[u8], found: &Found, ip: &IpHeader) -> bool {
    matches!(judge(packet(place, found, ip)), Ok(Integrity::Intact | Integrity::Corrupted))
}

/// Whether more than a sum of 16 bits says that a readable segment is one, or it is a SYN.
fn is_hard_to_mistake(place: &[u8], found: &Found, ip: &IpHeader) -> bool {
    let is_syn = place
        .get(HEADROOM + FLAGS_AT)
        .is_some_and(|flags| TcpFlags::from_bits(*flags).contains(TcpFlags::SYN));
    found.restored == 0 && is_syn || is_judged_by_crc(packet(place, found, ip))
}

fn packet<'a>(place: &'a [u8], found: &Found, ip: &IpHeader) -> &'a [u8] {
    &place[HEADROOM - found.restored - ip.emitted_len()..HEADROOM + found.len]
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use headway_test_fixture::packet;
    use headway_test_fixture::rng::Rng;
    use headway_wire::options::V2;
    use headway_wire::{TcpOptions, Timestamps};

    use super::super::super::bare::{Bare, take_header};
    use super::*;

    fn ip() -> IpHeader {
        IpHeader::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)))
    }

    /// The frame of a segment, and the length of its header.
    fn frame(flags: TcpFlags, options: &TcpOptions, payload: &[u8], compact: bool) -> (Vec<u8>, usize) {
        let mut packet = packet::segment(&ip(), &packet::tcp(7, 9, flags), options, payload);
        let Bare { start, header_len, .. } = take_header(&mut packet, compact).expect("a segment");
        let copy = packet[start..start + header_len].to_vec();
        ([&packet[start..], &copy].concat(), header_len)
    }

    /// What a frame is found to be.
    fn judged(frame: &[u8]) -> Option<Integrity> {
        let mut place = vec![0; HEADROOM + frame.len()];
        let found = read(frame, 1500, &mut place, &ip());
        judge(packet(&place, &found, &ip())).ok()
    }

    #[test]
    fn one_header_is_enough_where_a_crc_decides() {
        let timestamps = Some(Timestamps { tsval: 1, tsecr: 2 });
        let options = TcpOptions { timestamps, v2: Some(V2::data()), ..TcpOptions::default() };
        for compact in [true, false] {
            let (sound, header) = frame(TcpFlags::ACK, &options, &[5; 400], compact);
            assert_eq!(judged(&sound), Some(Integrity::Intact));
            for byte in 0..header {
                let hit = |places: &[usize]| {
                    let mut frame = sound.clone();
                    places.iter().for_each(|place| frame[*place] ^= 0x10);
                    judged(&frame)
                };
                let copy = sound.len() - header + byte;
                assert_eq!(hit(&[byte]), Some(Integrity::Intact), "byte {byte}, compact {compact}");
                assert_eq!(hit(&[copy]), Some(Integrity::Intact), "its copy, compact {compact}");
                assert_eq!(hit(&[byte, header + 9]), Some(Integrity::Corrupted), "and the payload");
            }
        }
    }

    /// A sum of 16 bits is right by chance once in 2^16 attempts, of which there are more than ten for each damaged frame.
    #[test]
    fn a_reset_is_one_only_if_both_headers_say_so() {
        let (sound, header) = frame(TcpFlags::RST, &TcpOptions::default(), &[], false);
        assert_eq!((judged(&sound), sound.len()), (Some(Integrity::Intact), 2 * header));
        let mut hit = sound.clone();
        hit[header + 3] ^= 1;
        let mut place = vec![0; HEADROOM + hit.len()];
        let found = read(&hit, 1500, &mut place, &ip());
        assert_ne!(found.len, header, "as the whole frame it is no segment of a connection");
        // A SYN ends nothing.
        let (mut syn, header) = frame(TcpFlags::SYN, &TcpOptions::default(), &[], false);
        syn[header + 3] ^= 1;
        assert_eq!(judged(&syn), Some(Integrity::Intact));
    }

    #[test]
    fn any_bytes_are_read() {
        let mut rng = Rng::new(39);
        for len in (0..300).chain([1499, 1500, 1501, 4000]) {
            for _ in 0..20 {
                let mut frame: Vec<u8> = (0..len).map(|_| rng.next() as u8).collect();
                // A header that ends as it began, and data offsets and layouts that exist.
                if rng.one_in(2) && len > 60 {
                    frame[OFFSET_AT] = [0x10, 0x20, 0x40, 0x50, 0x80, 0xd0, 0xf0][rng.below(7_usize)];
                    let copy = rng.between(20, 60_usize).min(len / 2);
                    frame.copy_within(..copy, len - copy);
                }
                let mut place = vec![0; HEADROOM + len];
                let found = read(&frame, 1500, &mut place, &ip());
                assert!(found.len <= len && found.restored < HEADROOM, "{len} bytes");
            }
        }
    }
}
