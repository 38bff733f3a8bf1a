//! When a schedule begins: the clock decides initial sequence numbers and timestamps, so a wrap-around
//! is near at the right time of the year.

use headway_tcp::{Host, HostConfig};
use headway_test_fixture::rng::Rng;
use headway_test_fixture::two_hosts::hand_in;
use headway_units::Instant;
use headway_wire::Segment;

use super::plan::{Near, Plan};

/// The timer of initial sequence numbers (RFC 6528) ticks every 4 microseconds.
const SEQUENCE_TICK: u64 = 4_000;

pub(crate) fn time(plan: &Plan, secrets: &[u128; 2]) -> Instant {
    let mut rng = Rng::new(plan.seed ^ 0x57a7);
    let (side, tick) = match plan.near {
        Near::Nothing => return Instant::from_nanos(rng.below(1 << 40)),
        Near::Sequence(side) => (side, SEQUENCE_TICK),
        Near::Stamp(side) => (side, plan.profiles[side].clock.as_nanos()),
    };
    let Some((sequence, stamp)) = at_zero(plan, secrets, side) else { return Instant::ZERO };
    let value = if let Near::Stamp(_) = plan.near { stamp } else { sequence };
    // Some way before the wrap-around.
    let before = rng.below(20_000);
    let ticks = 0u32.wrapping_sub(value).wrapping_sub(before);
    let at = u64::from(ticks) * tick;
    let begins = plan.flows.first().map_or(0, |flow| flow.starts[side].as_nanos());
    Instant::from_nanos(at.saturating_sub(begins))
}

/// The initial sequence number and timestamp that `side` of the first connection would have at time
/// zero.
fn at_zero(plan: &Plan, secrets: &[u128; 2], side: usize) -> Option<(u32, u32)> {
    let flow = plan.flows.first()?;
    let mut hosts =
        [0, 1].map(|side| Host::new(HostConfig::new(plan.addresses[side], secrets[side].to_be_bytes())));
    let opener = flow.opener.unwrap_or(side);
    let mut buffer = [0; 256];
    let (local, remote) = (flow.socket(plan, opener), flow.socket(plan, 1 - opener));
    hosts[1 - opener].listen(remote, 1, plan.profiles[1 - opener].clone()).ok()?;
    hosts[opener].connect(Instant::ZERO, local, remote, plan.profiles[opener].clone()).ok()?;
    let mut len = hosts[opener].poll_transmit(Instant::ZERO, &mut buffer)?.len;
    if side != opener {
        hand_in(&mut hosts[side], Instant::ZERO, &buffer[..len]);
        len = hosts[side].poll_transmit(Instant::ZERO, &mut buffer)?.len;
    }
    let syn = Segment::parse(&buffer[..len]).ok()?;
    Some((syn.tcp.seq.0, syn.options.timestamps.map_or(0, |stamps| stamps.tsval)))
}
