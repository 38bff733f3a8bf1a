//! What holds for any bytes at all. The fuzz targets feed these functions, and the corpus test
//! replays what the fuzzer found worth keeping.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use headway_test_fixture::packet;
use headway_wire::{
    ChecksumTrust, EmitError, HeaderLayout, Integrity, ParseError, Received, Segment, TcpFlags, TcpOptions,
    V2,
    compact::{MOST_LEFT_OUT, compact, expand},
    emit,
    icmp::{IcmpError, IcmpMessage},
    ip::Datagram,
    judge, layout,
    repair::HeaderRepair,
};

/// Where the byte is that says the layout of a compact header.
const LAYOUT_AT: usize = 12;

/// Parses, judges and re-emits a packet.
pub(crate) fn check_segment(bytes: &[u8]) {
    check_compact(bytes);
    let layout = layout(bytes);
    let verdicts = judge(bytes);
    let datagram = Datagram::parse(bytes);
    let segment = match Segment::parse(bytes) {
        Ok(segment) => segment,
        Err(ParseError::Options(_)) => {
            assert!(verdicts.is_ok(), "judging needs no options");
            return;
        }
        Err(error) => {
            assert_eq!(verdicts, Err(error));
            return;
        }
    };
    let Segment { ip_header_len, header_len, .. } = segment;
    let received = Received::parse(bytes, ChecksumTrust::None);
    let expected = match verdicts {
        Ok(Integrity::Intact) => Received::Intact(segment),
        Ok(Integrity::Corrupted) => Received::Corrupted(segment),
        _ => Received::Unreadable(datagram.ok()),
    };
    assert_eq!(received, expected);
    assert_eq!(Received::parse(bytes, ChecksumTrust::Tcp), Received::Intact(segment));
    assert_eq!(layout, Some(HeaderLayout { ip_header_len, header_len }));
    let datagram = datagram.expect("a segment is in a datagram");
    assert_eq!((datagram.header, datagram.header_len), (segment.ip, ip_header_len));
    assert_eq!(
        datagram.body.len(),
        header_len - ip_header_len + segment.payload.len() + segment.blocks.len()
    );
    assert!(segment.payload.is_empty() || segment.blocks.is_empty());
    check_repair(&segment, bytes);
    re_emit(&segment);
}

/// Reads an ICMP message under a sound checksum: the first byte says the family, the next are type, code and second word.
pub(crate) fn check_icmp(bytes: &[u8]) {
    let Some((&[family, kind, code, word @ ..], rest)) = bytes.split_first_chunk::<7>() else { return };
    let ends: [IpAddr; 2] = match family & 1 {
        0 => [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)].map(IpAddr::from),
        _ => [1, 2].map(|host| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host)).map(IpAddr::from),
    };
    let packet = packet::icmp(&packet::ip(ends[0], ends[1]), [kind, code], word, rest);
    let datagram = Datagram::parse(&packet).expect("a packet made by hand");
    let message = IcmpMessage::parse(&datagram);
    assert_eq!(Received::parse(&packet, ChecksumTrust::None), Received::Icmp { dst: ends[1], message });
    match message {
        IcmpMessage::Error(IcmpError { from, segment, .. }) => {
            assert_eq!((from, segment.src.is_ipv4()), (ends[0], ends[0].is_ipv4()));
            assert_eq!(segment.dst.is_ipv4(), ends[0].is_ipv4());
        }
        IcmpMessage::EchoRequest(request) => {
            let mut reply = vec![0; request.reply_len()];
            assert_eq!(request.reply(&mut reply), Ok(packet.len()));
            let Ok(Datagram { header, body, .. }) = Datagram::parse(&reply) else { panic!("{reply:?}") };
            assert_eq!(([header.dst, header.src], &body[4..]), (ends, &datagram.body[4..]));
            let expected = packet::icmp(&packet::ip(ends[1], ends[0]), [body[0], body[1]], word, rest);
            assert_eq!(reply, expected, "its checksum is sound");
        }
        IcmpMessage::Other => {}
    }
}

/// As the packet of an IPv4 header and a datagram: what is restored has the same compact form again.
fn check_compact(bytes: &[u8]) {
    let Ok(Datagram { header, header_len, body, .. }) = Datagram::parse(bytes) else { return };
    let mut room = vec![0; MOST_LEFT_OUT];
    room.extend(body);
    let longer = expand(&mut room, MOST_LEFT_OUT, &header);
    let mut segment = room.split_off(MOST_LEFT_OUT - longer);
    assert_eq!(segment.len(), body.len() + longer);
    let whole = segment.clone();
    let shorter = compact(&mut segment);
    if longer > 0 {
        // The half byte that says the layout may have been hit.
        let mut datagram = bytes[header_len..][..body.len()].to_vec();
        let unhit = segment[longer..][LAYOUT_AT] & 0xf0;
        datagram[LAYOUT_AT] = unhit | datagram[LAYOUT_AT] & 0x0f;
        assert_eq!((shorter, &segment[longer..]), (Some(longer), &datagram[..]));
    } else if shorter.is_none() {
        assert_eq!(segment, whole);
    }
}

/// The header's CRC holds for the repairer if it does for the judge, and one flip is undone.
fn check_repair(segment: &Segment<'_>, bytes: &[u8]) {
    let Some(mut repair) = HeaderRepair::new(bytes) else { return };
    if segment.tcp.flags.contains(TcpFlags::SYN) {
        assert_eq!(repair.integrity(), Integrity::Unreadable);
        return;
    }
    assert_eq!(repair.is_sound(), judge(bytes) != Ok(Integrity::Unreadable));
    if repair.is_sound() {
        assert_eq!(repair.segment().as_ref(), Ok(segment));
        let sound = repair.header().to_vec();
        repair.flip((bytes.len() * 5 % (sound.len() * 8)) as u16);
        assert!(repair.repair(&[], 1));
        // The checksum field is not covered.
        assert_eq!((&repair.header()[..16], &repair.header()[18..]), (&sound[..16], &sound[18..]));
    }
}

/// What was read can be written, reads back as the same, and its damage is seen.
fn re_emit(segment: &Segment<'_>) {
    let Segment { ip, tcp, options, payload, blocks, .. } = *segment;
    let body = if blocks.is_empty() { payload } else { blocks };
    let mut buf = vec![0xa5; 120 + body.len()];
    let parts = body.split_at(body.len() / 3);
    let len = match emit(&mut buf, &ip, &tcp, &options, parts) {
        Ok(len) => len,
        // Without our padding there is room for more.
        Err(EmitError::OptionsTooLong { len }) => {
            assert_eq!(len, options.encoded_len());
            return;
        }
        Err(error) => panic!("cannot emit {segment:?}: {error}"),
    };
    let packet = &mut buf[..len];
    let again = Segment::parse(packet).expect("what we write we can read");
    let is_syn = tcp.flags.contains(TcpFlags::SYN);
    let is_summed = options.hack.is_some() && !is_syn && options.v2.is_none();
    let hack = if is_summed { again.options.hack } else { options.hack };
    let v2 = options.v2.map(|v2| computed(v2, again.options.v2));
    assert_eq!((again.ip, again.tcp, again.payload, again.blocks), (ip, tcp, payload, blocks));
    assert_eq!(again.options, TcpOptions { hack, v2, ..options });
    assert_eq!(judge(packet), Ok(Integrity::Intact));

    if !payload.is_empty() {
        let last = packet.len() - 1;
        packet[last] ^= 0x10;
        let is_header_valid = is_summed || (options.v2.is_some() && !is_syn);
        assert_eq!(
            judge(packet),
            Ok(if is_header_valid { Integrity::Corrupted } else { Integrity::Unreadable })
        );
    }
}

/// `v2` with what is computed on the way out, as it was `read` again.
pub(crate) fn computed(mut v2: V2, read: Option<V2>) -> V2 {
    match (&mut v2, read) {
        (V2::Syn(given), Some(V2::Syn(read))) => given.path_check = read.path_check,
        (V2::Data(given), Some(V2::Data(read))) => *given = read,
        (V2::Patch(given), Some(V2::Patch(read))) => *given = read,
        (V2::Ack(given), Some(V2::Ack(read))) => given.header_crc = read.header_crc,
        (_, read) => panic!("{v2:?} came back as {read:?}"),
    }
    v2
}

/// Parses options and writes them again.
pub(crate) fn check_options(bytes: &[u8]) {
    let Ok((options, _)) = TcpOptions::parse(bytes) else { return };
    let mut buf = [0; 40];
    match options.emit(&mut buf) {
        Ok(len) => {
            assert_eq!(len, options.encoded_len());
            assert_eq!(TcpOptions::parse(&buf[..len]), Ok((options, None)));
        }
        Err(EmitError::OptionsTooLong { len }) => assert!(len > 40 && len == options.encoded_len()),
        Err(error) => panic!("cannot emit {options:?}: {error}"),
    }
}
