//! Profiles of hosts, drawn.

use headway_tcp::congestion::Algorithm;
use headway_tcp::{DelayedAck, Features, HackRules, LossRecovery, Profile, Variant};
use headway_test_fixture::rng::Rng;

use crate::side::plan::keep_alive;
use crate::spans::Spans as _;

/// A profile of a variant, with any of its settings.
pub(crate) fn profile(rng: &mut Rng, variant: Variant) -> Profile {
    let base = match rng.coin() {
        _ if variant.is_modern() => Profile::modern(),
        true => Profile::linux22(),
        false => Profile::standard(),
    };
    let mut p = variant.apply(base);
    if variant.is_modern() {
        some_switches(rng, &mut p);
    }
    if rng.permille(350) {
        p.hack_rules = HackRules::Literal;
    }
    p.mtu = rng.pick(&[128, 200, 296, 576, 1280, 1500, 1500, 9000]);
    p.timestamps = rng.permille(650);
    p.window_scaling = rng.permille(650);
    p.nagle = rng.permille(700);
    p.s_buffer = rng.pick(&[0, 1, 6, 64]);
    p.limited_transmit = rng.coin();
    p.initial_window = rng.pick(&[1, 2, 4, 10]);
    if rng.permille(100) && !variant.is_modern() {
        p.recovery = LossRecovery::Reno;
    }
    if rng.permille(300) {
        p.rto.min = rng.pick(&[1, 50, 1000]).into_millis();
        p.rto.max = rng.pick(&[2_000, 10_000]).into_millis();
        p.rto.initial = p.rto.initial.min(p.rto.max);
    }
    p.rto.retries = if rng.permille(300) { Some(rng.pick(&[2, 5, 15])) } else { None };
    p.syn_retries = rng.pick(&[2, 6, 10]);
    if rng.permille(300) {
        p.clock = rng.pick(&[1, 10, 100]).into_millis();
    }
    if rng.permille(400) {
        let timeout = rng.pick(&[0, 1, 40, 200, 500]);
        let part = (timeout == 40).then_some(32);
        p.delayed_ack = DelayedAck { timeout: timeout.into_millis(), adaptive: rng.coin(), part };
    }
    p.keep_alive = rng.permille(200).then(|| keep_alive(rng));
    p.user_timeout = rng.permille(150).then(|| rng.millis(100, 60_000));
    p.time_wait = rng.pick(&[4, 20, 60]).into_secs();
    p.send_buffer = buffer(rng);
    p.receive_buffer = buffer(rng);
    p
}

/// Each part of the modern sender works without the others.
fn some_switches(rng: &mut Rng, p: &mut Profile) {
    p.congestion = rng.pick(&[Algorithm::Cubic, Algorithm::Cubic, Algorithm::Bbr, Algorithm::Reno]);
    let Features {
        tlp,
        prr,
        frto,
        undo,
        hystart,
        pacing,
        ecn,
        autotune,
        sharing,
        cookies,
        ledger,
        own_path,
        bundling,
        tail_copies,
        repair,
        partial,
        rules_off: _,
    } = &mut p.features;
    for switch in [tlp, prr, frto, undo, hystart, pacing, ecn, autotune, sharing, cookies, ledger, repair] {
        *switch &= rng.permille(850);
    }
    *partial = *repair && rng.coin();
    *own_path = rng.permille(300);
    // No draw of its own: those of known seeds stay.
    *bundling = *ledger;
    *tail_copies = *ledger;
}

fn buffer(rng: &mut Rng) -> usize {
    match rng.below(20) {
        0 => rng.between(1, 10),
        1..=2 => rng.between(11, 600),
        3..=6 => rng.between(600, 5_000),
        7..=13 => rng.between(5_000, 70_000),
        _ => rng.between(70_000, 1 << 20),
    }
}
