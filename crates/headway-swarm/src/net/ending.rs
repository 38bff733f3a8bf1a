//! How connections may end: with everything delivered, or with an error that has a reason, at both ends.

use headway_tcp::ConnectionError;
use headway_trunk_proto::{Event, PeerId};
use headway_units::Duration;

use super::sealed::Gateway;
use super::world::World;
use crate::Feature;
use crate::side::{complete, program::Side};

/// What arrives late was sent so long before at most.
const LATE: Duration = Duration::from_secs(10);
/// SYNs of which one is answered.
const HEARD: u32 = 3;
/// Nothing has come from the peer for long.
const IN_VAIN: Duration = Duration::from_secs(60);

/// A gateway says that a peer was restarted only if it was.
pub(super) fn check_events(world: &mut World, number: usize) -> Result<(), String> {
    let Some(gateway) = &mut world.nodes[number].gateway else { return Ok(()) };
    for event in std::mem::take(&mut gateway.events) {
        if let Event::Restarted(PeerId(place)) = event
            && let Some(gateway) = &world.nodes[number].gateway
        {
            let peer = gateway.peer_number(place);
            if world.nodes[peer].restarts == 0 {
                return Err(format!(
                    "gateway {number} says that gateway {peer} was restarted, which it was not"
                ));
            }
        }
        world.say(format_args!("gateway {number}: {event:?}"));
    }
    Ok(())
}

/// A side shows an error: is there a reason for it?
pub(super) fn check_error(world: &mut World, n: usize, s: usize) -> Result<(), String> {
    let side = &world.flows[n].sides[s];
    let Some(error) = side.error else { return Ok(()) };
    if side.judged == Some(error) || world.plan.flows[n].liar.is_some() {
        return Ok(());
    }
    judge(world, n, s, error).map_err(|why| {
        let told = world.flows[n].sides[1 - s].error;
        format!("connection {n}, end {s}: {error}, but {why} (the peer: {told:?}); {}", world.describe())
    })?;
    world.flows[n].sides[s].judged = Some(error);
    Ok(())
}

/// Whether a host of the connection was restarted since it was opened.
fn was_restarted(world: &World, n: usize) -> bool {
    let restarts = world.plan.flows[n].ends.map(|end| world.nodes[end].restarts);
    restarts != world.flows[n].restarts
}

fn judge(world: &World, n: usize, s: usize, error: ConnectionError) -> Result<(), String> {
    let flow = &world.flows[n];
    let (side, peer) = (&flow.sides[s], &flow.sides[1 - s]);
    let is_early = world.now < world.healed_at() + LATE;
    let restarted = was_restarted(world, n);
    let ensure = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
    let peer_gone = peer.has_failed() || peer.released || peer.id.is_none();
    match error {
        ConnectionError::Aborted => {
            // A gateway may learn late that its peer was restarted.
            let end = world.plan.flows[n].ends[1 - s];
            let learnt = world.plan.is_sealed && world.nodes[end].restarts > 0;
            ensure(side.aborted || learnt, "the program did not abort")
        }
        ConnectionError::Closing => {
            ensure(side.program.closed && !side.connected, "the program did not close while it was opening")
        }
        ConnectionError::Refused => ensure(restarted, "the peer listens"),
        ConnectionError::Reset => ensure(peer_gone || restarted, "the peer has not failed"),
        ConnectionError::TimedOut => {
            // A host that listens answers, but where forged SYNs keep its backlog full, or while it stands still. Gateways of which
            // one was restarted, or has moved, may have to wait until the one that knows where the other is says something.
            let has = |feature| world.plan.features.has(feature);
            let ends = world.plan.flows[n].ends;
            let any_restarted = ends.iter().any(|&end| world.nodes[end].restarts > 0);
            let waits = world.plan.is_sealed && (any_restarted || has(Feature::Roam));
            let is_silent = has(Feature::Forge) || has(Feature::Stall);
            let answers = side.ledger.syns < HEARD || restarted || is_silent || waits;
            ensure(side.connected || answers, "the peer listens, and nothing was lost any more")?;
            let in_vain = world.now.saturating_since(flow.last_arrivals[s]) > IN_VAIN;
            ensure(is_early || peer_gone || restarted || in_vain, "the peer answers")
        }
        _ => Err("no error says why".into()),
    }
}

/// The world is over and all is silent.
pub(super) fn check(world: &mut World) -> Result<(), String> {
    let mut written = 0;
    for n in 0..world.flows.len() {
        let sides = &world.flows[n].sides;
        world.outcome.bytes += sides.iter().map(|side| side.read as u64).sum::<u64>();
        written += sides.iter().map(|side| side.program.written as u64).sum::<u64>();
        if world.plan.flows[n].liar.is_some() {
            continue;
        }
        world.outcome.failed += u64::from(sides.iter().any(Side::has_failed));
        for s in [0, 1] {
            complete(&sides[s], &sides[1 - s])
                .map_err(|what| format!("connection {n}, end {s}: {what}; {}", world.describe()))?;
        }
    }
    for node in &world.nodes {
        world.outcome.handshakes += node.gateway.as_ref().map_or(0, Gateway::handshakes);
    }
    // Who is lied to sends again what has arrived.
    if world.plan.flows.iter().all(|flow| flow.liar.is_none()) {
        world.amounts.check(written, world.plan.flows.len() as u64)?;
    }
    Ok(())
}
