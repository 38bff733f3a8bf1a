//! State by state. "A.n" is a case of the draft's appendix.

mod control;
mod feed;
mod idle;
mod losses;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod startup;

use alloc::vec::Vec;

use headway_units::Duration;

use super::super::bottleneck::Bottleneck;
use super::super::testing::setup;
use super::super::{CongestionControl, Setup};
use super::*;

/// 10 Mbit/s: 125 packets of 1000 bytes fill 100 ms.
fn path_of(round_trip: u64, limit: usize) -> Bottleneck<DraftBbr> {
    let bbr = DraftBbr::new(&Setup { pacing: true, deliveries: true, ..setup(10) });
    let mut path = Bottleneck::new(bbr, "10mbit", round_trip, limit);
    path.control.on_established(path.now, Some(Duration::from_millis(round_trip)));
    path
}

fn path(limit: usize) -> Bottleneck<DraftBbr> {
    path_of(100, limit)
}

/// The states in their order, each with when it began, in milliseconds.
fn states(path: &mut Bottleneck<DraftBbr>, millis: u64) -> Vec<(State, u64)> {
    let mut seen = alloc::vec![(path.control.state, 0)];
    for milli in 1..=millis {
        path.run(1);
        if seen.last().is_some_and(|&(state, _)| state != path.control.state) {
            seen.push((path.control.state, milli));
        }
    }
    seen
}

fn run_to(path: &mut Bottleneck<DraftBbr>, state: State) {
    for _ in 0..20_000 {
        if path.control.state == state {
            return;
        }
        path.run(1);
    }
    panic!("{state:?} did not begin: {:?}", path.control.state);
}
