//! Segments between other addresses: what held holds, and what was damaged is damaged.

use crate::common;

use common::{Input, input, ip_header};
use headway_wire::{ChecksumTrust, IpHeader, Received, change_addresses, judge};
use proptest::prelude::*;

/// The packet with the addresses of `to`.
fn moved(packet: &[u8], from: &IpHeader, to: &IpHeader) -> Vec<u8> {
    let mut segment = packet[from.emitted_len()..].to_vec();
    change_addresses(&mut segment, from, to);
    let mut buffer = vec![0; to.emitted_len() + segment.len()];
    let header_len = to.emit(&mut buffer, 6, segment.len()).unwrap();
    buffer[header_len..].copy_from_slice(&segment);
    buffer
}

proptest! {
    #[test]
    fn a_segment_is_as_if_sent_between_them(input in input(), to in ip_header()) {
        let to = IpHeader { src: to.src, dst: to.dst, ..input.ip };
        let got = moved(&input.packet(), &input.ip, &to);
        let expected = Input { ip: to, ..input }.packet();
        let parse = |packet: &[u8]| format!("{:?}", Received::parse(packet, ChecksumTrust::None));
        prop_assert_eq!(parse(&got), parse(&expected));
    }

    #[test]
    fn damage_is_judged_the_same(input in input(), to in ip_header(), hit in any::<prop::sample::Index>()) {
        let mut packet = input.packet();
        let header_len = input.ip.emitted_len();
        let bit = hit.index((packet.len() - header_len) * 8);
        packet[header_len + bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert_eq!(judge(&moved(&packet, &input.ip, &to)), judge(&packet));
    }

    #[test]
    fn any_bytes_are_taken(mut bytes in prop::collection::vec(any::<u8>(), 0..100), from in ip_header(), to in ip_header()) {
        change_addresses(&mut bytes, &from, &to);
    }
}
