//! What holds for any bytes at all. The fuzz targets feed these functions, and the corpus test
//! replays what the fuzzer found worth keeping.

use headway_wire::{
    EmitError, HeaderLayout, ParseError, Segment, TcpFlags, TcpOptions, Verdicts, emit, ip::Datagram, judge,
    judge_segment, layout,
};

/// Parses, judges and re-emits a packet.
pub(crate) fn check_segment(bytes: &[u8]) {
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
    assert_eq!(verdicts, Ok(judge_segment(&segment, bytes)));
    assert_eq!(layout, Some(HeaderLayout { ip_header_len, header_len }));
    let datagram = datagram.expect("a segment is in a datagram");
    assert_eq!((datagram.header, datagram.header_len), (segment.ip, ip_header_len));
    assert_eq!(datagram.body.len(), header_len - ip_header_len + segment.payload.len());
    re_emit(&segment);
}

/// What was read can be written, reads back as the same, and its damage is seen.
fn re_emit(segment: &Segment<'_>) {
    let Segment { ip, tcp, options, payload, .. } = *segment;
    let mut buf = vec![0xa5; 120 + payload.len()];
    let parts = payload.split_at(payload.len() / 3);
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
    let is_summed = options.hack.is_some() && !tcp.flags.contains(TcpFlags::SYN);
    let hack = if is_summed { again.options.hack } else { options.hack };
    assert_eq!((again.ip, again.tcp, again.payload), (ip, tcp, payload));
    assert_eq!(again.options, TcpOptions { hack, ..options });
    assert_eq!(judge(packet), Ok(Verdicts::GOOD));

    if !payload.is_empty() {
        let last = packet.len() - 1;
        packet[last] ^= 0x10;
        assert_eq!(judge(packet), Ok(if is_summed { Verdicts::SALVAGED } else { Verdicts::BAD }));
    }
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
