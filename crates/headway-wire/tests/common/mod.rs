//! Packets of every kind, for the property tests.

use headway_wire::{
    Dscp, Ecn, IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Ack, V2Data,
    V2Offsets, V2Syn, emit, options,
};
use proptest::{collection::vec, option, prelude::*};
use std::net::IpAddr;

/// What goes into a packet.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) ip: IpHeader,
    pub(crate) tcp: TcpHeader,
    pub(crate) options: TcpOptions,
    pub(crate) payload: Vec<u8>,
}

impl Input {
    /// The packet, its payload handed over in one piece.
    pub(crate) fn packet(&self) -> Vec<u8> {
        self.packet_split(self.payload.len())
    }

    /// The packet, its payload handed over in two pieces.
    pub(crate) fn packet_split(&self, at: usize) -> Vec<u8> {
        // Stale bytes, so that one that is not written shows.
        let mut buf = vec![0xa5; 120 + self.payload.len()];
        let len = emit(&mut buf, &self.ip, &self.tcp, &self.options, self.payload.split_at(at)).unwrap();
        buf.truncate(len);
        buf
    }
}

pub(crate) fn ip_header() -> impl Strategy<Value = IpHeader> {
    let addresses = prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(src, dst)| (IpAddr::from(src), IpAddr::from(dst))),
        any::<([u8; 16], [u8; 16])>().prop_map(|(src, dst)| (IpAddr::from(src), IpAddr::from(dst))),
    ];
    (addresses, any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|((src, dst), class, hop_limit, id)| {
        IpHeader {
            dscp: Dscp::from_traffic_class(class),
            ecn: Ecn::from_bits(class),
            hop_limit,
            identification: if src.is_ipv4() { id } else { 0 },
            ..IpHeader::new(src, dst)
        }
    })
}

pub(crate) fn tcp_header() -> impl Strategy<Value = TcpHeader> {
    any::<(u16, u16, u32, u32, u8, u16, u16)>().prop_map(
        |(src_port, dst_port, seq, ack, flags, window, urgent)| TcpHeader {
            src_port,
            dst_port,
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: TcpFlags::from_bits(flags),
            window,
            urgent,
        },
    )
}

/// The option of version 2 in any form.
pub(crate) fn any_v2() -> impl Strategy<Value = V2> {
    let syn = any::<(bool, bool, u16)>().prop_map(|(partial_recovery, compact, path_check)| {
        V2::Syn(V2Syn { partial_recovery, compact, path_check })
    });
    let data = any::<(u32, u32)>()
        .prop_map(|(header_crc, payload_crc)| V2::Data(V2Data { header_crc, payload_crc }));
    let patch = any::<(u32, u32)>()
        .prop_map(|(header_crc, payload_crc)| V2::Patch(V2Data { header_crc, payload_crc }));
    let segments = vec(any::<u32>(), 0..=7).prop_map(|list| {
        let mut offsets = V2Offsets::default();
        assert!(list.into_iter().all(|offset| offsets.push(offset)));
        offsets
    });
    let ack = (any::<(u32, u16)>(), segments)
        .prop_map(|((header_crc, damaged), reported)| V2::Ack(V2Ack { header_crc, damaged, reported }));
    prop_oneof![1 => syn, 1 => data, 1 => patch, 3 => ack]
}

/// Any options at all, more than a header has room for among them.
pub(crate) fn any_options() -> impl Strategy<Value = TcpOptions> {
    (
        option::of(any::<u16>()),
        option::of(any::<u8>()),
        any::<bool>(),
        option::of(any::<(u32, u32)>()),
        vec(any::<(u32, u32)>(), 0..=4),
        option::of(any::<u16>()),
        option::of(any::<u32>()),
        vec(any::<u32>(), 0..=9),
        option::of(any_v2()),
    )
        .prop_map(
            |(mss, window_scale, sack_permitted, timestamps, sack, hack, hack_ack, xhack_ack, v2)| {
                let mut options = TcpOptions {
                    mss,
                    window_scale,
                    sack_permitted,
                    timestamps: timestamps.map(|(value, echo)| Timestamps { tsval: value, tsecr: echo }),
                    hack,
                    hack_ack: hack_ack.map(SeqNumber),
                    v2,
                    ..TcpOptions::default()
                };
                for (left, right) in sack {
                    assert!(options.sack.push((SeqNumber(left), SeqNumber(right))));
                }
                for seq in xhack_ack {
                    assert!(options.xhack_ack.push(SeqNumber(seq)));
                }
                options
            },
        )
}

/// Options that a header has room for: lists are dropped until the rest fits.
pub(crate) fn fitting_options() -> impl Strategy<Value = TcpOptions> {
    any_options().prop_map(|mut options| {
        if options.encoded_len() > options::MAX_LEN {
            options.xhack_ack.clear();
        }
        if options.encoded_len() > options::MAX_LEN {
            options.sack.clear();
        }
        if options.encoded_len() > options::MAX_LEN {
            options.hack_ack = None;
            options.mss = None;
        }
        if options.encoded_len() > options::MAX_LEN {
            options.v2 = None;
        }
        options
    })
}

/// Any packet; version 2 has the form for it, if it is there.
pub(crate) fn input() -> impl Strategy<Value = Input> {
    (ip_header(), tcp_header(), fitting_options(), vec(any::<u8>(), 0..300)).prop_map(
        |(ip, mut tcp, options, payload)| {
            match options.v2 {
                Some(v2) if v2.as_syn().is_some() => tcp.flags.insert(TcpFlags::SYN),
                Some(_) => tcp.flags.remove(TcpFlags::SYN),
                None => {}
            }
            Input { ip, tcp, options, payload }
        },
    )
}

/// A segment with data, a Header Checksum and no SYN.
pub(crate) fn data_with_hack() -> impl Strategy<Value = Input> {
    input().prop_filter_map("there is room for kind 14", |mut input| {
        input.tcp.flags.remove(TcpFlags::SYN);
        input.options.hack = Some(0);
        input.options.v2 = None;
        input.payload.push(7);
        (input.options.encoded_len() <= options::MAX_LEN).then_some(input)
    })
}
