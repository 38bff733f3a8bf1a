//! Wi-Fi cards in monitor mode, emulated in a namespace of the test: frames are damaged anywhere and lost, beside those of other
//! stations and noise. Several cards, one that is unplugged and back, and interfaces in another mode.

use std::thread;

use headway_net::{ModemConfig, Stack};
use headway_tcp::Statistics;
use headway_test_fixture::air::{Air, Receive, damage, open};
use headway_test_fixture::process::say_skipped;
use headway_test_fixture::rng::Rng;
use nix::sched::{CloneFlags, unshare};
use tokio::runtime::Runtime;

use super::both_ways;

/// What an interface with an MTU of 1500 carries.
const MTU: u16 = 1472;

/// Runs a test in a namespace of its own.
fn within(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let run = || match unshare(CloneFlags::CLONE_NEWNET) {
            Ok(()) => test(),
            Err(error) => say_skipped("root", &format!("network namespaces: {error}")),
        };
        scope.spawn(run).join().unwrap();
    });
}

fn modem(interfaces: &[String]) -> ModemConfig {
    ModemConfig::Monitor { interfaces: interfaces.to_vec(), rate: None }
}

fn stacks(air: &Air) -> [Stack; 2] {
    [0, 1].map(|own| super::start(modem(&air.interfaces(own)), own as u8 + 1, MTU))
}

/// What the ends say of `len` bytes each way; `None`: it was skipped.
fn transfer(cards: usize, has_fcs: bool, receive: Receive, len: usize) -> Option<[Statistics; 2]> {
    let mut statistics = None;
    within(|| {
        let Some(air) = Air::start(cards, has_fcs, receive) else { return };
        let runtime = Runtime::new().unwrap();
        statistics = Some(runtime.block_on(both_ways(&stacks(&air), len, || {})));
    });
    statistics
}

#[test]
fn frames_that_are_damaged_anywhere_among_those_of_others() {
    for has_fcs in [true, false] {
        for end in transfer(1, has_fcs, damage, 300_000).into_iter().flatten() {
            assert!(end.damaged_received > 20, "{end:?}");
            assert!(end.special_acks_sent > 0 && end.damage_retransmissions > 0, "{end:?}");
        }
    }
}

/// Half are hit in three places, anywhere, at each card for itself.
fn hit_half(rng: &mut Rng, _card: usize, mut frame: Vec<u8>) -> Option<Vec<u8>> {
    if rng.one_in(2) {
        (0..3).for_each(|_| rng.flip_bit(&mut frame));
    }
    Some(frame)
}

#[test]
fn two_cards_whose_damage_is_independent_deliver_more_than_one() {
    let damaged = [1, 2].map(|cards| {
        let ends = transfer(cards, true, hit_half, 300_000)?;
        Some(ends.map(|end| end.damaged_received).iter().sum::<u64>())
    });
    let [Some(one), Some(two)] = damaged else { return };
    assert!(one > 100 && two < one / 10, "{one} damaged with one card, {two} with two");
}

/// All cards receive everything, and the TCP sees each frame once.
#[test]
fn what_every_card_receives_arrives_once() {
    let Some([client, server]) = transfer(3, true, |_, _, frame| Some(frame), 300_000) else { return };
    assert_eq!((client.damaged_received, server.damaged_received), (0, 0));
    // The client was asked first.
    assert!(client.segments_received <= server.segments_sent, "{client:?} {server:?}");
    assert!(client.duplicate_reports <= client.retransmissions, "{client:?}");
}

#[test]
fn connections_survive_cards_that_are_unplugged_and_back() {
    // The only one; and of two the one that only receives, where the other receives nothing.
    let cases: [(usize, Receive); 2] =
        [(0, |_, _, frame| Some(frame)), (1, |_, card, frame| (card == 1).then_some(frame))];
    for (card, receive) in cases {
        within(|| {
            let Some(air) = Air::start(card + 1, true, receive) else { return };
            Runtime::new().unwrap().block_on(both_ways(&stacks(&air), 300_000, || {
                (0..2).for_each(|end| air.unplug(end, card));
                (0..2).for_each(|end| air.plug(end, card));
            }));
        });
    }
}

/// The second sends while the first is gone.
#[test]
fn one_card_of_two_is_enough() {
    within(|| {
        let Some(air) = Air::start(2, true, damage) else { return };
        Runtime::new().unwrap().block_on(both_ways(&stacks(&air), 300_000, || {
            (0..2).for_each(|end| air.unplug(end, 0));
        }));
    });
}

#[test]
fn what_is_no_card_in_monitor_mode_is_named() {
    within(|| {
        const ETHERNET: i32 = 1;
        let Some(_air) = Air::start(1, true, damage) else { return };
        let _other = open("hwe", ETHERNET).unwrap();
        for (interfaces, mtu, expected) in [
            (
                &["hwa0"][..],
                2298,
                "with their headers they have 2338 bytes, and it takes 1514; expected shorter frames",
            ),
            (&["hwa0"], 2299, "frames of 2299 bytes: expected at most 2298"),
            (&["hwa0", "hwa0"], MTU, "\"hwa0,hwa0\": expected one or more, each once"),
            (&[], MTU, "expected one or more"),
            (
                &["hwe"],
                MTU,
                "interface hwe: is not in monitor mode: it has link type 1, not 803; expected a Wi-Fi card",
            ),
            (&["hwa0", "hwx"], MTU, "interface hwx: cannot be found"),
        ] {
            let interfaces: Vec<String> = interfaces.iter().map(|&name| name.into()).collect();
            let error = super::open(modem(&interfaces), 1, mtu).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let down = std::process::Command::new("ip").args(["link", "set", "hwa0", "down"]).status();
        assert!(down.unwrap().success());
        let error = super::open(modem(&["hwa0".into()]), 1, MTU).err().unwrap().to_string();
        assert!(error.contains("hwa0: cannot carry frames: Network is down"), "{error}");
    });
}
