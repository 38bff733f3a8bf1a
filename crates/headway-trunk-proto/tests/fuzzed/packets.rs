//! A stream of IP packets that is a string of bytes, which arrives in pieces of any lengths.

use headway_trunk_proto::packets::{LENGTH_PREFIX, PacketReader, is_whole_packet};

/// Each packet that is given is one, and is what the stream has at its place; what is no packet ends the stream, wherever
/// it was cut.
pub(crate) fn check_packets(bytes: &[u8]) {
    let Some((&[max, piece], stream)) = bytes.split_first_chunk::<2>() else { return };
    let longest = 20 + u16::from(max) * 8;
    let whole = read(stream, longest, stream.len().max(1));
    assert_eq!(read(stream, longest, usize::from(piece) + 1), whole, "in pieces");
    let (packets, taken) = whole;
    let mut at = 0;
    for packet in &packets {
        assert!(is_whole_packet(packet) && packet.len() <= longest.into());
        let len = LENGTH_PREFIX + packet.len();
        assert_eq!(stream[at..at + len], [&(packet.len() as u16).to_be_bytes(), &packet[..]].concat());
        at += len;
    }
    assert!(taken >= at && taken <= stream.len());
}

/// The packets of a stream that arrives `piece` bytes at a time, and how many bytes were taken as far as it is one.
fn read(stream: &[u8], longest: u16, piece: usize) -> (Vec<Vec<u8>>, usize) {
    let mut reader = PacketReader::new(longest);
    let (mut packets, mut taken) = (Vec::new(), 0);
    for mut input in stream.chunks(piece) {
        let len = input.len();
        loop {
            match reader.read(&mut input) {
                Ok(Some(packet)) => packets.push(packet.to_vec()),
                Ok(None) => break,
                Err(error) => {
                    let mut more = stream;
                    assert_eq!((reader.read(&mut more), more.len()), (Err(error), stream.len()));
                    let known = packets.iter().map(|packet: &Vec<u8>| LENGTH_PREFIX + packet.len()).sum();
                    return (packets, known);
                }
            }
        }
        assert!(input.is_empty(), "without a packet all is taken");
        taken += len;
    }
    (packets, taken)
}
