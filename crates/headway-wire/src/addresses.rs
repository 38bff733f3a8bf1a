//! Other addresses for a TCP segment, as an address translator that knows HACK gives it.

use crate::{
    IpHeader, TcpFlags, V2, checksum,
    checksum::Sum,
    header_crc::{Seal, header_crc, path_check},
    integrity,
    options::{kind, walk::Walk},
    tcp::{CHECKSUM_AT, FIXED_LEN},
};

/// Changes every sum of a TCP segment that covers its addresses (the checksum, the Header Checksum, the CRC-32C
/// of the header and the path check of a SYN), from those between the addresses of `from` to those between the
/// addresses of `to`.
///
/// A sum holds afterwards if it held before, and no other does: each is changed by the difference that the
/// addresses make, and never computed anew. So damage stays what it was. Only where the options are damaged such
/// that they cannot be told apart are sums left that do not hold.
///
/// `segment` begins with the TCP header. A segment without a whole header is left as it is.
pub fn change_addresses(segment: &mut [u8], from: &IpHeader, to: &IpHeader) {
    let tcp_len = segment.len();
    let header_len = segment.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    let Some((fixed, options)) = segment.get_mut(..header_len).and_then(<[u8]>::split_first_chunk_mut) else {
        return;
    };
    let mut before = addresses_sum(from);
    let mut after = addresses_sum(to);
    before.add_bytes(options);
    change_options(fixed, options, tcp_len, from, to);
    after.add_bytes(options);
    change_sum(&mut fixed[CHECKSUM_AT..], before, after);
}

fn change_options(
    fixed: &[u8; FIXED_LEN],
    options: &mut [u8],
    tcp_len: usize,
    from: &IpHeader,
    to: &IpHeader,
) {
    if TcpFlags::from_bits(fixed[13]).contains(TcpFlags::SYN) {
        let difference = path_check(from, fixed) ^ path_check(to, fixed);
        if let Some(place) = find_path_check(options).and_then(|at| options.get_mut(at..)?.first_chunk_mut())
        {
            *place = (u16::from_be_bytes(*place) ^ difference).to_be_bytes();
        }
    } else if let Some(Seal { crc_at, .. }) = Seal::find(options) {
        let difference = header_crc(from, tcp_len, fixed, options, crc_at)
            ^ header_crc(to, tcp_len, fixed, options, crc_at);
        if let Some(place) = options.get_mut(crc_at..).and_then(<[u8]>::first_chunk_mut) {
            *place = (u32::from_be_bytes(*place) ^ difference).to_be_bytes();
        }
    } else if let Some((_, value_at)) = integrity::find_hack(options)
        && let Some(place) = options.get_mut(value_at..)
    {
        // It was taken with the checksum and its own value as zero.
        change_sum(place, addresses_sum(from), addresses_sum(to));
    }
}

/// Where the path check of a SYN is in its options.
fn find_path_check(options: &[u8]) -> Option<usize> {
    let mut found = None;
    for option in Walk::new(options) {
        let option = option.ok()?;
        if let Some((id, value)) = option.value.split_first_chunk()
            && option.kind == kind::EXPERIMENT
            && V2::has_id(*id)
            && let Some(V2::Syn(_)) = V2::parse(*id, value)
        {
            // Behind the identifier, the version and the flags.
            found = Some(option.value_at + 4);
        }
    }
    found
}

fn addresses_sum(ip: &IpHeader) -> Sum {
    ip.pseudo_header_sum(0, 0)
}

/// Changes the checksum at the front of `place` by what changed of the bytes that it covers.
fn change_sum(place: &mut [u8], before: Sum, after: Sum) {
    if let Some(check) = place.first_chunk_mut() {
        *check = checksum::update(u16::from_be_bytes(*check), before.fold(), after.fold()).to_be_bytes();
    }
}
