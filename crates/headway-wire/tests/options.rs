//! Options byte by byte: hand-made vectors, and lengths that make no sense.

use headway_wire::{OptionError, SeqNumber, Skipped, TcpOptions, Timestamps};

const NONE: fn() -> TcpOptions = TcpOptions::default;

fn sack(blocks: &[(u32, u32)]) -> TcpOptions {
    let mut options = NONE();
    for (left, right) in blocks {
        assert!(options.sack.push((SeqNumber(*left), SeqNumber(*right))));
    }
    options
}

fn xhack_ack(numbers: &[u32]) -> TcpOptions {
    let mut options = NONE();
    for number in numbers {
        assert!(options.xhack_ack.push(SeqNumber(*number)));
    }
    options
}

/// Each option alone and the usual company, as they stand on the wire.
#[test]
fn vectors() {
    let timestamps = Some(Timestamps { tsval: 0x0102_0304, tsecr: 0x0506_0708 });
    let cases: [(TcpOptions, &[u8]); 14] = [
        (NONE(), &[]),
        (TcpOptions { mss: Some(1460), ..NONE() }, &[2, 4, 0x05, 0xb4]),
        (TcpOptions { window_scale: Some(7), ..NONE() }, &[1, 3, 3, 7]),
        (TcpOptions { sack_permitted: true, ..NONE() }, &[1, 1, 4, 2]),
        (TcpOptions { timestamps, ..NONE() }, &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]),
        (TcpOptions { hack: Some(0x5848), ..NONE() }, &[14, 4, 0x58, 0x48]),
        (
            TcpOptions { hack_ack: Some(SeqNumber(0xfefd_fcfb)), ..NONE() },
            &[1, 1, 15, 6, 0xfe, 0xfd, 0xfc, 0xfb],
        ),
        (xhack_ack(&[1, 0xffff_ffff]), &[1, 1, 16, 10, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]),
        (sack(&[(1, 2)]), &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]),
        (
            sack(&[(1, 2), (0xa0b0_c0d0, 3)]),
            &[1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0xa0, 0xb0, 0xc0, 0xd0, 0, 0, 0, 3],
        ),
        // A SYN of Linux, and the same with HACK.
        (
            TcpOptions {
                mss: Some(1460),
                sack_permitted: true,
                timestamps,
                window_scale: Some(10),
                ..NONE()
            },
            &[2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 10],
        ),
        (
            TcpOptions {
                mss: Some(1460),
                sack_permitted: true,
                timestamps,
                window_scale: Some(10),
                hack: Some(0x5848),
                ..NONE()
            },
            &[2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 10, 14, 4, 0x58, 0x48],
        ),
        (
            TcpOptions { timestamps, hack: Some(0xabcd), ..NONE() },
            &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 14, 4, 0xab, 0xcd],
        ),
        (
            TcpOptions { timestamps, hack_ack: Some(SeqNumber(9)), sack: sack(&[(5, 6)]).sack, ..NONE() },
            &[
                1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 15, 6, 0, 0, 0, 9, 1, 1, 5, 10, 0, 0, 0, 5, 0, 0,
                0, 6,
            ],
        ),
    ];
    for (options, bytes) in cases {
        let mut buf = [0; 40];
        let len = options.emit(&mut buf).unwrap();
        assert_eq!(&buf[..len], bytes, "{options:?}");
        assert_eq!(options.encoded_len(), bytes.len());
        assert_eq!(TcpOptions::parse(bytes), Ok((options, None)));
    }
}

/// Layouts of other stacks.
#[test]
fn other_orders_and_paddings() {
    let timestamps = Some(Timestamps { tsval: 1, tsecr: 2 });
    let cases: [(&[u8], TcpOptions); 7] = [
        // The end of the list hides what follows.
        (&[0, 2, 4, 5, 0xb4], NONE()),
        (&[4, 2, 0, 0xff], TcpOptions { sack_permitted: true, ..NONE() }),
        // No padding at all, and an odd offset.
        (&[8, 10, 0, 0, 0, 1, 0, 0, 0, 2], TcpOptions { timestamps, ..NONE() }),
        (&[1, 14, 4, 0xab, 0xcd, 0], TcpOptions { hack: Some(0xabcd), ..NONE() }),
        // The fast path's layout with something else behind it.
        (
            &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 3, 3, 15, 0],
            TcpOptions { timestamps, window_scale: Some(15), ..NONE() },
        ),
        // Unknown kinds: TCP Fast Open, an experiment, an empty one.
        (
            &[34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 253, 4, 0, 1, 99, 2, 2, 4, 1, 2],
            TcpOptions { mss: Some(258), ..NONE() },
        ),
        // Twice: the last one counts.
        (&[2, 4, 0, 1, 2, 4, 0, 2], TcpOptions { mss: Some(2), ..NONE() }),
    ];
    for (bytes, options) in cases {
        assert_eq!(TcpOptions::parse(bytes), Ok((options, None)), "{bytes:?}");
    }
}

/// A known kind with another kind's length: skipped and reported, and the rest is read.
#[test]
fn lengths_that_the_kind_cannot_have() {
    for (kind, lengths) in [
        (2, &[2, 3, 5, 6][..]),
        (3, &[2, 4]),
        (4, &[3, 4]),
        (5, &[2, 3, 9, 11, 17, 19, 35]),
        (8, &[2, 9, 11, 12]),
        (14, &[2, 3, 5, 6]),
        (15, &[2, 5, 7, 10]),
        (16, &[2, 3, 5, 7, 37, 39]),
    ] {
        for length in lengths {
            let mut bytes = vec![0xee; usize::from(*length)];
            bytes[..2].copy_from_slice(&[kind, *length]);
            bytes.extend([99, 3, 0]);
            let skipped = Some(Skipped { kind, length: *length });
            assert_eq!(TcpOptions::parse(&bytes), Ok((NONE(), skipped)));
            // Another one after it: the first is the one reported.
            bytes.extend([2, 2, 3, 3, 9]);
            let options = TcpOptions { window_scale: Some(9), ..NONE() };
            assert_eq!(TcpOptions::parse(&bytes), Ok((options, skipped)));
        }
    }
    // Longer than a header allows, but whole: too many for the lists.
    let mut five_blocks = vec![0; 42];
    five_blocks[..2].copy_from_slice(&[5, 42]);
    assert_eq!(TcpOptions::parse(&five_blocks), Ok((NONE(), Some(Skipped { kind: 5, length: 42 }))));
    five_blocks[0] = 16;
    assert_eq!(TcpOptions::parse(&five_blocks), Ok((NONE(), Some(Skipped { kind: 16, length: 42 }))));
}

/// "(e.g., zero)" (RFC 9293, 3.1, MUST-7), and the other lengths that lead nowhere.
#[test]
fn lengths_that_lead_nowhere() {
    let length = |kind, offset, length, room| OptionError::Length { kind, offset, length, room };
    let cases: [(&[u8], OptionError); 8] = [
        (&[2, 0, 0, 0], length(2, 0, 0, 4)),
        (&[2, 1, 0, 0], length(2, 0, 1, 4)),
        (&[99, 0], length(99, 0, 0, 2)),
        (&[1, 1, 8, 10, 0, 0, 0, 0], length(8, 2, 10, 6)),
        (&[1, 1, 8, 11, 0, 0, 0, 0, 0, 0, 0, 0], length(8, 2, 11, 10)),
        (&[1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 14, 5, 0, 0], length(14, 12, 5, 4)),
        (&[1, 1, 1, 2], OptionError::NoLength { kind: 2, offset: 3 }),
        (&[255, 255], length(255, 0, 255, 2)),
    ];
    for (bytes, error) in cases {
        assert_eq!(TcpOptions::parse(bytes), Err(error), "{bytes:?}");
    }
    assert_eq!(
        length(8, 2, 10, 6).to_string(),
        "TCP option kind 8 at offset 2: expected a length of 2 to 6, got 10"
    );
}
