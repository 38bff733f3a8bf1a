//! What a program does at its end of a connection.

use headway_tcp::{KeepAlive, Profile};
use headway_test_fixture::rng::Rng;
use headway_units::Duration;

/// What a program does at its end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct SidePlan {
    /// Bytes to write in all.
    pub(crate) total: usize,
    pub(crate) style: Style,
    /// Writes before the connection is open.
    pub(crate) writes_early: bool,
    pub(crate) closes: Closes,
    /// Aborts at this time, if it still can.
    pub(crate) aborts: Option<Duration>,
    /// Changes a setting at this time.
    pub(crate) changes: Option<(Duration, Change)>,
}

/// When a program works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    /// After each notification, and only then: without a notification it waits for ever.
    Told,
    /// At random intervals of at most `gap`, at most `writes` and `reads` bytes each time, while the schedule is harsh; at
    /// once and without a limit afterwards.
    Timed { gap: Duration, writes: usize, reads: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closes {
    /// When all is written.
    Written,
    /// When all is written and the peer has closed.
    After,
    /// When all is written and everything has come to rest.
    AtRest,
    /// When all is written; then it ignores what arrives.
    Leaves,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Nagle(bool),
    KeepAlive(Option<KeepAlive>),
    UserTimeout(Option<Duration>),
}

/// Draws what the program of a host with the profile `ours` does.
pub(crate) fn side_plan(rng: &mut Rng, ours: &Profile, theirs: &Profile, harsh: Duration) -> SidePlan {
    // With small buffers and small packets a transfer takes many round trips: less is written.
    let buffer = ours.send_buffer.min(theirs.receive_buffer);
    let mtu = usize::from(ours.mtu.min(theirs.mtu));
    let most = match rng.below(10) {
        0..=1 => 0,
        2..=3 => 300,
        4..=8 => 15_000,
        _ => 120_000,
    };
    let total = rng.between(0, most).min(buffer.saturating_mul(40)).min(mtu * 150);
    let style = if rng.coin() {
        Style::Told
    } else {
        let writes = rng.pick(&[1, 30, 500, 3000, 50_000]);
        let reads = rng.pick(&[1, 30, 500, 3000, 50_000]);
        Style::Timed { gap: rng.millis(1, 800), writes, reads }
    };
    let some_time = |rng: &mut Rng| Duration::from_micros(rng.below(harsh.as_micros() * 2));
    let changes = rng.permille(150).then(|| {
        let change = match rng.below(3) {
            0 => Change::Nagle(rng.coin()),
            1 => Change::KeepAlive(rng.coin().then(|| keep_alive(rng))),
            _ => Change::UserTimeout(rng.coin().then(|| rng.millis(1_000, 60_000))),
        };
        (some_time(rng), change)
    });
    SidePlan {
        total,
        style,
        writes_early: rng.coin(),
        closes: match rng.below(20) {
            0..=8 => Closes::Written,
            9..=13 => Closes::After,
            14..=18 => Closes::AtRest,
            _ => Closes::Leaves,
        },
        aborts: rng.permille(70).then(|| some_time(rng)),
        changes,
    }
}

/// Draws times of keep-alive.
pub(crate) fn keep_alive(rng: &mut Rng) -> KeepAlive {
    KeepAlive {
        idle: rng.millis(100, 20_000),
        // Longer than a round trip, so that an answer can arrive in time.
        interval: rng.millis(1_500, 5_000),
        probes: rng.between(1, 9),
    }
}
