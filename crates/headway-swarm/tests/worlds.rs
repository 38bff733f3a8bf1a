//! Worlds of every kind hold, are the same each time, and shrink where they fail.

use std::panic::resume_unwind;
use std::thread;

use headway_swarm::search::seed_of;
use headway_swarm::shrink::shrink;
use headway_swarm::{Case, Feature, Features, Outcome, Recording, WorldKind, run};
use headway_test_fixture::seeds::number;

/// Worlds of an ordinary run.
const ORDINARY: u64 = 300;

/// Worlds that once failed, with what they showed.
const REGRESSIONS: &[(u64, &str, &str)] = &[
    (
        0x2c55_42d1_40bf_c0d7,
        "aqm,undetected,translate,strip,renumber,join,abort,leave,jump,replay",
        "a SYN was refused right after a RST that had ended an attempt from the same port",
    ),
    (
        0x2c5f_9f10_dfa6_638f,
        "rate,jitter,loss,damage,reorder,aqm,policer,mute,steps,truncate,undetected,mtu,translate,strip,renumber,clamp,\
         split,join,lie,slow,abort,leave,change,restart,jump,limits,roam,replay,unchecked,long",
        "the same",
    ),
    (0x8bf3_bf85_e383_c7fa, "", "a peer without an address was due to be sent something, for ever"),
    (0xddeb_30c2_8c7b_9434, "", "an address was to be asked when the time for it had passed, for ever"),
    (0x5547_4099_e755_7649, "", "a gateway that had begun a session was silent before the peer could use it"),
    (0x8e13_0bb9_aa0f_2e8f, "", "an outage on a path of milliseconds was probed with megabytes"),
    (0xf63e_e319_a27f_3a90, "", "the same"),
];

fn case(number: u64) -> Case {
    Case::new(seed_of(7, number))
}

#[test]
fn a_few_worlds_hold() {
    let count = number("HEADWAY_SEEDS").unwrap_or(ORDINARY);
    let half = |first: u64| {
        let mut total = Outcome::default();
        for case in (first..count).step_by(2).map(case) {
            let outcome = run(&case, Recording::default()).unwrap_or_else(|what| {
                panic!("{what}\nreplay it:\n  cargo run -p headway-swarm -- {case} --trace")
            });
            total.add(&outcome);
        }
        total
    };
    // On two processors: no test of this crate takes longer.
    let total = thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut total = half(0);
        total.add(&other.join().unwrap_or_else(|cause| resume_unwind(cause)));
        total
    });
    println!("{total:?}");
    if count >= ORDINARY {
        // Worlds that never meet what they are about show nothing.
        assert!(total.flows > count && total.bytes > 1_000_000, "{total:?}");
        assert!(total.corrupted > 100 && total.special_acks > 100 && total.completed > 10, "{total:?}");
        assert!(total.handshakes > count / 4 && total.attacks > 10_000, "{total:?}");
        assert!(total.failed > total.flows / 50 && total.failed < total.flows / 2, "{total:?}");
    }
}

#[test]
fn what_failed_once_holds() {
    for &(seed, without, about) in REGRESSIONS {
        let without = without.parse().expect("names of features");
        let case = Case { without, ..Case::new(seed) };
        run(&case, Recording::default()).unwrap_or_else(|what| panic!("{about}: {what}"));
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for kind in WorldKind::ALL {
        for number in 0..12 {
            let case = Case { kind: Some(kind), ..case(number) };
            let [first, second] = [(); 2].map(|()| run(&case, Recording::default()));
            assert!(first.is_ok(), "{case}: {first:?}");
            assert_eq!(first, second, "{case}");
        }
    }
}

#[test]
fn one_wrong_byte_is_noticed_in_every_kind_of_world() {
    /// Turns a bit of the hundredth byte of a stream.
    fn flip(at: usize, bytes: &mut [u8]) {
        if let Some(byte) = 100usize.checked_sub(at).and_then(|place| bytes.get_mut(place)) {
            *byte ^= 4;
        }
    }
    for kind in WorldKind::ALL {
        let cases = (0..20).map(|number| Case { kind: Some(kind), ..case(number) });
        let results =
            cases.map(|case| run(&case, Recording { sabotage: Some(flip), ..Recording::default() }));
        let noticed =
            results.filter_map(Result::err).inspect(|what| assert!(what.contains("byte 100"), "{what}"));
        assert!(noticed.count() > 5, "{kind:?}");
    }
}

#[test]
fn what_a_failure_does_not_need_is_left_out() {
    let whole = Case { with: Features::ALL, ..Case::new(1) };
    // A defect that shows where there are losses, resets, and the connection 2.
    let has_defect = |case: &Case| {
        let features = case.features();
        let has_flow = case.flows.as_ref().is_none_or(|flows| flows.contains(&2));
        let has_all =
            features.has(Feature::Loss) && features.has(Feature::Abort) && has_flow && case.time >= 20;
        Ok(has_all.then(|| "the defect".to_owned()))
    };
    let shrunk = shrink(&whole, "the defect".to_owned(), has_defect);
    assert_eq!(shrunk.needs, Features::NONE.with(Feature::Loss).with(Feature::Abort));
    assert_eq!((shrunk.case.flows.clone(), shrunk.case.hosts, shrunk.case.time), (Some(vec![2]), 2, 25));
    assert_eq!(has_defect(&shrunk.case), Ok(Some("the defect".to_owned())));
}

#[test]
fn a_world_is_written_as_it_is_read() {
    let whole = Case {
        kind: Some(WorldKind::Tunnel),
        without: Features::NONE.with(Feature::Loss).with(Feature::Abort),
        hosts: 3,
        flows: Some(vec![0, 2]),
        time: 25,
        ..Case::new(0x1f)
    };
    assert_eq!(
        whole.to_string(),
        "--seed 0x1f --kind tunnel --without loss,abort --hosts 3 --flows 0,2 --time 25"
    );
    let text = "loss,abort".parse::<Features>();
    assert_eq!(text, Ok(whole.without));
}
