//! Replays the fuzz corpus, so that what the fuzzer once reached stays reached without it.

use crate::checks;
use crate::common;

use headway_test_fixture::corpus::{check_stored, folder, replay};
use headway_wire::{TcpFlags, TcpOptions, options::MAX_LEN};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

#[test]
fn segments() {
    replay("parse_segment", checks::check_segment);
}

#[test]
fn options() {
    replay("parse_options", checks::check_options);
}

#[test]
fn icmp() {
    replay("parse_icmp", checks::check_icmp);
}

/// The seeds that fuzzing starts from: packets and options as emitted, and each with one byte changed.
/// Always the same ones; `HEADWAY_UPDATE=1` writes them anew.
#[test]
fn seeds_are_what_is_emitted_today() {
    let mut runner = TestRunner::deterministic();
    let write = |target: &str, number: usize, bytes: &[u8]| {
        let mut changed = bytes.to_vec();
        // Not in the IPv4 header, whose checksum would end it there.
        let start = if target == "parse_segment" { 20 } else { 0 };
        if let Some(byte) = changed[start..].get_mut(number * 7 % (bytes.len() - start)) {
            *byte = byte.rotate_left(3) ^ 0x21;
        }
        for (name, bytes) in [("emitted", bytes), ("changed", &changed)] {
            check_stored(&folder(target).join(format!("{name}-{number:02}")), bytes);
        }
    };
    for number in 0..12 {
        let mut input = common::data_with_hack().new_tree(&mut runner).unwrap().current();
        input.payload.truncate(16);
        match number % 3 {
            0 => input.options.hack = None,
            1 => {
                input.options = TcpOptions { timestamps: input.options.timestamps, ..TcpOptions::default() };
                let v2 = common::any_v2().new_tree(&mut runner).unwrap().current();
                if v2.as_syn().is_some() {
                    input.tcp.flags.insert(TcpFlags::SYN);
                }
                input.options.v2 = Some(v2);
                if input.options.encoded_len() > MAX_LEN {
                    input.options.timestamps = None;
                }
            }
            _ => {}
        }
        write("parse_segment", number, &input.packet());
    }
    let mut number = 0;
    while number < 12 {
        let options = common::fitting_options().new_tree(&mut runner).unwrap().current();
        let mut buf = [0; 40];
        if let Ok(len @ 1..) = options.emit(&mut buf) {
            write("parse_options", number, &buf[..len]);
            number += 1;
        }
    }
}
