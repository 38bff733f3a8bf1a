//! Random schedules of loss, duplication, reordering, truncation and damage in both directions, of
//! writes, reads and closes: every byte arrives in order, or the connection reports its failure.
//!
//! `HEADWAY_SEEDS=N` runs N schedules instead of the ordinary number (and `HEADWAY_SEEDS_FROM=M` starts with
//! another than the first), `HEADWAY_SEED=0x...` replays one and prints all that happens in it.

use headway_sim::derive_seed;
use headway_swarm::Outcome;
use headway_swarm::pair::{Mode, Senders, run};
use headway_test_fixture::seeds::number;

/// Schedules of an ordinary run.
const ORDINARY: u64 = 4_000;
/// And of those with our senders.
const OURS: u64 = 1_600;

/// Failures that are reported before a run stops.
const TOLD: usize = 10;

/// Seeds of schedules that once failed, with what they showed.
const REGRESSIONS: &[(u64, &str)] = &[
    (0x5eaf_826c_a2d8_5a7e, "bytes unsent, counted once FIN is acknowledged, wrapped below zero"),
    (0x6f1d_4d8d_3455_d7a9, "an ACK in old data moved SND.UNA without its window: data beyond the edge"),
    (0xe95a_a569_741d_5079, "the same with small segments"),
    (0x5b28_8401_59bb_6c5e, "with both windows closed and probed, ACKs beyond them answered each other"),
    (0xdbb0_392f_c32c_6353, "the same, while a window opens"),
    (0xc767_ab35_6a05_1ce0, "on a path that duplicates, answers to ACKs with old timestamps multiplied"),
    (0x47b1_f997_5b5e_5e92, "a damaged sequence number half of the space away made the host panic"),
    (0x39be_fd2f_7099_a6aa, "the same, beside the window's edge"),
    (0xe7fa_0205_0558_087d, "a repeated SYN and its ACK at once: a SYN owed that nothing was left of"),
    (0x1850_c0a1_3338_3704, "a keep-alive took along the ACK that was owed, and the peer dropped both"),
    (0x7848_3fd9_42e3_47fd, "repeats of the peer's SYN used up the retries of the SYN-ACK"),
];

/// The same for schedules of our senders.
const REGRESSIONS_OF_OURS: &[(u64, &str)] = &[
    (
        0x1a9c_0051_92e9_ce08,
        "BBR paced by a rate of next to nothing: nothing was sent for as long as one watched",
    ),
    (0xa9e3_e792_518f_54bc, "the same before the first round-trip sample"),
    (0xe8d5_9fe1_025f_051d, "the bound of memory did not count the segments of a poisoned connection"),
];

fn seed(number: u64) -> u64 {
    derive_seed(1, "schedule", number)
}

#[test]
fn every_octet_arrives_or_the_connection_fails() {
    let Some((total, count)) = many(ORDINARY, Mode::default()) else { return };
    if count >= ORDINARY {
        // Schedules that never meet what they are about show nothing.
        assert!(total.corrupted > 800 && total.special_acks > 800, "{total:?}");
        assert!(total.wrong_bytes > 80 && total.poisoned > 8, "{total:?}");
        assert!(total.failed > total.flows / 20 && total.failed < total.flows / 2, "{total:?}");
    }
}

#[test]
fn so_it_is_with_our_senders() {
    let Some((total, count)) = many(OURS, Mode { senders: Senders::Ours, ..Mode::default() }) else { return };
    if count >= OURS {
        assert!(total.corrupted > 640 && total.special_acks > 640, "{total:?}");
        assert!(total.completed > 1, "{total:?}");
        assert!(total.failed > total.flows / 20 && total.failed < total.flows / 2, "{total:?}");
    }
}

/// Runs N schedules, or as many as the environment says; `None` if it asks for a single one, which is run
/// with a trace of all that happens.
fn many(ordinary: u64, mode: Mode) -> Option<(Outcome, u64)> {
    if let Some(seed) = number("HEADWAY_SEED") {
        let outcome = run(seed, Mode { trace: true, ..mode });
        println!("{:?}", outcome.unwrap_or_else(|what| panic!("{what}")));
        return None;
    }
    let count = number("HEADWAY_SEEDS").unwrap_or(ordinary);
    let first = number("HEADWAY_SEEDS_FROM").unwrap_or(0);
    let mut total = Outcome::default();
    let mut failures = Vec::new();
    for number in first..first + count {
        match run(seed(number), mode) {
            Ok(outcome) => total.add(&outcome),
            Err(what) => failures.push(what),
        }
        if failures.len() >= TOLD {
            break;
        }
    }
    println!("{total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    Some((total, count))
}

#[test]
fn what_failed_once_holds() {
    for (senders, seeds) in [(Senders::Papers, REGRESSIONS), (Senders::Ours, REGRESSIONS_OF_OURS)] {
        for &(seed, about) in seeds {
            let mode = Mode { senders, ..Mode::default() };
            run(seed, mode).unwrap_or_else(|what| panic!("{about}: {what}"));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for senders in [Senders::Papers, Senders::Ours] {
        let mode = Mode { senders, ..Mode::default() };
        let digests = || (0..50).map(|number| run(seed(number), mode).map(|outcome| outcome.digest));
        let first: Vec<_> = digests().collect();
        assert!(first.iter().all(Result::is_ok));
        assert_eq!(first, digests().collect::<Vec<_>>());
    }
}

#[test]
fn one_wrong_octet_is_noticed() {
    /// Turns a bit of the hundredth byte of a stream.
    fn flip(at: usize, bytes: &mut [u8]) {
        if let Some(byte) = 100usize.checked_sub(at).and_then(|place| bytes.get_mut(place)) {
            *byte ^= 4;
        }
    }
    let noticed = (0..50)
        .filter_map(|number| run(seed(number), Mode { sabotage: Some(flip), ..Mode::default() }).err())
        .inspect(|what| assert!(what.contains("byte 100 was read as"), "{what}"))
        .count();
    assert!(noticed > 15, "{noticed} of 50 schedules, and nearly all carry a hundred bytes");
}
