//! What is emitted parses to the same, for every option and both families.

#[allow(dead_code, reason = "the corpus uses the rest")]
use crate::checks;
use crate::common;

use common::{Input, any_options, input};
use headway_wire::{
    ChecksumTrust, EmitError, HeaderLayout, Integrity, Received, Segment, TcpFlags, TcpOptions, V2, emit,
    judge, layout, options,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn parsing_undoes_emitting(input in input(), split in any::<prop::sample::Index>()) {
        let packet = input.packet_split(split.index(input.payload.len() + 1));
        let segment = Segment::parse(&packet).unwrap();

        let Input { ip, tcp, mut options, payload } = input;
        if !tcp.flags.contains(TcpFlags::SYN) && options.hack.is_some() && options.v2.is_none() {
            // Computed on the way out: the verdict tests say whether rightly.
            options.hack = segment.options.hack;
            prop_assert!(options.hack.is_some());
        }
        options.v2 = options.v2.map(|v2| checks::computed(v2, segment.options.v2));
        prop_assert_eq!(segment.ip, ip);
        prop_assert_eq!(segment.tcp, tcp);
        prop_assert_eq!(segment.options, options);
        // What follows concerns the blocks of another segment.
        let has_blocks = matches!(options.v2, Some(V2::Ack(_) | V2::Patch(_)));
        let (data, blocks) = if has_blocks { (&[][..], &payload[..]) } else { (&payload[..], &[][..]) };
        prop_assert_eq!((segment.payload, segment.blocks), (data, blocks));
        let Segment { ip_header_len, header_len, .. } = segment;
        prop_assert_eq!(ip_header_len, if ip.src.is_ipv4() { 20 } else { 40 });
        prop_assert_eq!(header_len, ip_header_len + 20 + options.encoded_len());
        prop_assert_eq!(packet.len(), header_len + payload.len());
        prop_assert_eq!(layout(&packet), Some(HeaderLayout { ip_header_len, header_len }));
        prop_assert_eq!(judge(&packet), Ok(Integrity::Intact));
        prop_assert_eq!(Received::parse(&packet, ChecksumTrust::None), Received::Intact(segment));
    }

    #[test]
    fn where_the_payload_is_split_does_not_matter(input in input(), split in any::<prop::sample::Index>()) {
        prop_assert_eq!(input.packet_split(split.index(input.payload.len() + 1)), input.packet());
    }

    #[test]
    fn options_round_trip_or_do_not_fit(options in any_options()) {
        let mut buf = [0xa5; 64];
        let needed = options.encoded_len();
        prop_assert_eq!(needed % 4, 0);
        match options.emit(&mut buf) {
            Ok(len) => {
                prop_assert!(len == needed && len <= options::MAX_LEN);
                prop_assert_eq!(TcpOptions::parse(&buf[..len]), Ok((options, None)));
                prop_assert!(buf[len..].iter().all(|byte| *byte == 0xa5));
            }
            Err(error) => {
                prop_assert_eq!(error, EmitError::OptionsTooLong { len: needed });
                prop_assert!(needed > options::MAX_LEN);
            }
        }
    }

    #[test]
    fn a_buffer_that_is_too_small_is_an_error(input in input(), short in any::<prop::sample::Index>()) {
        let needed = input.packet().len();
        let mut buf = vec![0; short.index(needed)];
        let room = buf.len();
        let result = emit(&mut buf, &input.ip, &input.tcp, &input.options, (&input.payload, &[]));
        prop_assert_eq!(result, Err(EmitError::BufferTooSmall { needed, room }));
    }

    #[test]
    fn a_packet_cut_short_is_an_error(input in input(), short in any::<prop::sample::Index>()) {
        let packet = input.packet();
        let cut = &packet[..short.index(packet.len())];
        prop_assert!(Segment::parse(cut).is_err());
        prop_assert!(judge(cut).is_err());
    }

    #[test]
    fn sequence_len_counts_syn_and_fin(input in input()) {
        let packet = input.packet();
        let flags = input.tcp.flags.bits();
        let is_other = matches!(input.options.v2, Some(V2::Ack(_) | V2::Patch(_))) && !input.tcp.flags.contains(TcpFlags::SYN);
        let data = if is_other { 0 } else { input.payload.len() as u32 };
        let expected = data + u32::from(flags & 1) + u32::from(flags >> 1 & 1);
        prop_assert_eq!(Segment::parse(&packet).unwrap().sequence_len(), expected);
    }
}

mod limits {
    use super::*;
    use headway_wire::{IpHeader, TcpHeader};

    fn ip(v6: bool) -> IpHeader {
        let addr = if v6 { "2001:db8::1" } else { "192.0.2.1" }.parse().unwrap();
        IpHeader::new(addr, addr)
    }

    #[test]
    fn the_longest_packet_fits_and_no_longer_one() {
        let mut buf = vec![0; 70_000];
        let payload = vec![1; 66_000];
        let mut try_len = |v6: bool, len: usize| {
            emit(&mut buf, &ip(v6), &TcpHeader::default(), &TcpOptions::default(), (&payload[..len], &[]))
        };
        assert_eq!(try_len(false, 65_535 - 40), Ok(65_535));
        assert_eq!(try_len(false, 65_535 - 39), Err(EmitError::TooLong { len: 65_536 }));
        assert_eq!(try_len(true, 65_535 - 20), Ok(65_575));
        assert_eq!(try_len(true, 65_535 - 19), Err(EmitError::TooLong { len: 65_536 }));
    }

    #[test]
    fn mixed_families_are_an_error() {
        let mixed = IpHeader { src: ip(false).src, ..ip(true) };
        let result = emit(&mut [0; 100], &mixed, &TcpHeader::default(), &TcpOptions::default(), (&[], &[]));
        assert_eq!(result, Err(EmitError::MixedFamilies));
    }
}
