//! Packets in a byte stream: what goes in comes out, and no bytes do harm.

use headway_link::{Aqm, EnqueueResult, QueueLimit};
use headway_trunk_proto::packets::{
    FramingError, LENGTH_PREFIX, PacketReader, PacketWriter, is_whole_packet,
};
use headway_units::Instant;
use proptest::prelude::*;

/// An IP packet of `len` bytes, of either version, with any content.
fn packet(is_v6: bool, len: usize, fill: u8) -> Vec<u8> {
    let len = len.max(if is_v6 { 40 } else { 20 });
    let mut bytes: Vec<u8> = (0..len).map(|place| fill.wrapping_add(place as u8)).collect();
    if is_v6 {
        bytes[0] = 0x60;
        bytes[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
    } else {
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    }
    bytes
}

/// All packets of `stream`, which arrives in pieces of these lengths, over and over.
fn read(stream: &[u8], pieces: &[usize], max: u16) -> Result<Vec<Vec<u8>>, FramingError> {
    let mut reader = PacketReader::new(max);
    let (mut packets, mut rest) = (Vec::new(), stream);
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (mut input, later) = rest.split_at((*piece).min(rest.len()));
        rest = later;
        while let Some(packet) = reader.read(&mut input)? {
            packets.push(packet.to_vec());
        }
        assert!(input.is_empty(), "without a packet all is taken");
    }
    Ok(packets)
}

proptest! {
    #[test]
    fn packets_come_out_as_they_went_in(
        wanted in prop::collection::vec((any::<bool>(), 20..3000usize, any::<u8>()), 1..40),
        pieces in prop::collection::vec(1..4000usize, 1..20),
        room in 1..2000usize,
    ) {
        let packets: Vec<Vec<u8>> = wanted.iter().map(|&(v6, len, fill)| packet(v6, len, fill)).collect();
        let mut writer = PacketWriter::new(QueueLimit::Unlimited, Aqm::None, 1);
        for packet in &packets {
            prop_assert!(matches!(
                writer.enqueue(Instant::ZERO, packet.clone(), packet.len()),
                EnqueueResult::Queued
            ));
        }
        // A stream that takes N bytes, then nothing, then N again.
        let mut stream = Vec::new();
        while !writer.is_empty() {
            let mut left = room;
            while writer
                .write(Instant::ZERO, |bytes| {
                    let taken = bytes.len().min(left);
                    stream.extend_from_slice(&bytes[..taken]);
                    left -= taken;
                    taken
                })
                .is_some()
            {}
        }
        prop_assert_eq!(stream.len(), packets.iter().map(|packet| packet.len() + LENGTH_PREFIX).sum::<usize>());
        prop_assert_eq!(writer.counters().written, packets.len() as u64);
        prop_assert_eq!(read(&stream, &pieces, 3000), Ok(packets));
    }

    /// Whatever arrives: packets are packets, an error stays, and nothing panics.
    #[test]
    fn any_bytes_give_packets_or_an_error(
        stream in prop::collection::vec(any::<u8>(), 0..5000),
        pieces in prop::collection::vec(1..600usize, 1..10),
        max in 20..2000u16,
    ) {
        match read(&stream, &pieces, max) {
            Ok(packets) => {
                prop_assert!(packets.iter().all(|packet| is_whole_packet(packet)));
                prop_assert!(packets.iter().all(|packet| packet.len() <= usize::from(max)));
            }
            Err(error) => {
                let again = read(&stream, &[usize::MAX], max);
                prop_assert_eq!(again, Err(error), "however it is cut");
            }
        }
    }

    /// A flipped bit in a length ends the stream, or costs packets; it never gives bytes that are no packet.
    #[test]
    fn a_damaged_length_is_found(len in 40..1400usize, bit in 0..16usize) {
        let packets = [packet(false, len, 3), packet(true, 500, 7)];
        let mut stream = Vec::new();
        for packet in &packets {
            stream.extend_from_slice(&(packet.len() as u16).to_be_bytes());
            stream.extend_from_slice(packet);
        }
        stream[bit / 8] ^= 1 << (bit % 8);
        let damaged = read(&stream, &[100], 1500);
        prop_assert_ne!(&damaged, &Ok(packets.to_vec()));
        if let Ok(read) = damaged {
            prop_assert!(read.is_empty(), "the first packet is not whole");
        }
    }
}

#[test]
fn an_error_stays_and_takes_nothing() {
    let mut reader = PacketReader::new(1500);
    let mut input: &[u8] = &[0xff, 0xff, 1, 2, 3];
    let expected = FramingError::Length { len: 65_535, max: 1500 };
    assert_eq!(reader.read(&mut input), Err(expected));
    let mut good: &[u8] = &[0, 20];
    assert_eq!(reader.read(&mut good), Err(expected));
    assert_eq!(good.len(), 2);
    assert_eq!(expected.to_string(), "a packet of 65535 bytes in the trunk: expected 20 to 1500 bytes");
    let mut input: &[u8] = &[[0, 20].as_slice(), &[0x55; 20]].concat();
    assert_eq!(PacketReader::new(1500).read(&mut input), Err(FramingError::NotAPacket { len: 20 }));
}
