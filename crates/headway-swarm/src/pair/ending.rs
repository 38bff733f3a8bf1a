//! How a connection may end: with everything delivered, or with an error that has a reason.

use headway_tcp::ConnectionError;
use headway_units::{Duration, Instant};

use crate::side::{complete, program::Side};

use super::world::World;

/// What arrives late was sent so long before at most.
const LATE: Duration = Duration::from_secs(10);

/// A side shows an error: is there a reason for it?
pub(crate) fn check_error(world: &mut World, n: usize, s: usize) -> Result<(), String> {
    let flow = &world.flows[n];
    let (side, peer) = (&flow.sides[s], &flow.sides[1 - s]);
    let Some(error) = side.error else { return Ok(()) };
    if flow.poisoned || side.judged == Some(error) {
        return Ok(());
    }
    let reason = judge(world, n, s, error);
    let told = peer.error;
    reason.map_err(|why| {
        let detail = world.describe();
        format!("connection {n}, host {s}: {error}, but {why} (the peer: {told:?}); {detail}")
    })?;
    world.flows[n].sides[s].judged = Some(error);
    Ok(())
}

fn judge(world: &World, n: usize, s: usize, error: ConnectionError) -> Result<(), String> {
    let flow = &world.flows[n];
    let (side, peer) = (&flow.sides[s], &flow.sides[1 - s]);
    let ledger = &side.ledger;
    let profile = &world.plan.profiles[s];
    let simultaneous = world.plan.flows[n].opener.is_none();
    let harsh_until = world.healed_at() + LATE;
    let ensure = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
    match error {
        ConnectionError::Aborted => ensure(side.aborted, "the program did not abort"),
        ConnectionError::Closing => {
            ensure(side.program.closed && !side.connected, "the program did not close while it was opening")
        }
        ConnectionError::Refused => {
            ensure(ledger.resets_arrived > 0, "no RST arrived")?;
            ensure(simultaneous || peer.has_failed(), "the peer listens")
        }
        ConnectionError::Reset => {
            ensure(ledger.resets_arrived > 0, "no RST arrived")?;
            // A side that no program knew of may have given up its SYN-ACK.
            let theirs = &world.plan.profiles[1 - s];
            // A timeout before each repetition, and another before giving up; they only grow.
            let least = theirs.rto.initial * (theirs.syn_retries + 1);
            let tired = world.now >= peer.ledger.first_syn + least || theirs.user_timeout.is_some();
            let gave_up = peer.id.is_none() && (tired || peer.ledger.gave_up);
            ensure(peer.has_failed() || peer.released || gave_up || simultaneous, "the peer has not failed")
        }
        ConnectionError::UserTimeout => {
            let limit = side.shortest_user_timeout(profile.user_timeout);
            // In harsh times an acknowledgement may come in a segment that is not acceptable.
            let waited =
                |limit: Duration| world.now >= ledger.last_advance + limit || world.now < harsh_until + limit;
            ensure(limit.is_some_and(waited), "the limit has not passed")
        }
        ConnectionError::TimedOut => {
            if !side.connected {
                ensure(ledger.syns > profile.syn_retries, "SYNs are left to send")?;
            }
            let unheard = ledger.last_asked < harsh_until || peer_is_gone(peer);
            ensure(unheard || waits_in_vain(side, world.now), "the peer answers")
        }
        _ => Err("no error says why".into()),
    }
}

fn peer_is_gone(peer: &Side) -> bool {
    peer.has_failed() || peer.released || peer.id.is_none()
}

/// Nothing has come from the peer for long.
fn waits_in_vain(side: &Side, now: Instant) -> bool {
    now.saturating_since(side.ledger.last_arrival) > Duration::from_secs(60)
}

/// The schedule is over and all is silent.
pub(crate) fn check(world: &mut World) -> Result<(), String> {
    let left = world.connections();
    if left > 0 {
        return Err(format!("{left} connections are left; {}", world.describe()));
    }
    for n in 0..world.flows.len() {
        let flow = &world.flows[n];
        world.outcome.bytes += flow.sides.iter().map(|side| side.read as u64).sum::<u64>();
        world.outcome.wrong_bytes += flow.sides.iter().map(|side| side.wrong_bytes as u64).sum::<u64>();
        if flow.poisoned {
            world.outcome.poisoned += 1;
            continue;
        }
        world.outcome.failed += u64::from(flow.sides.iter().any(Side::has_failed));
        for s in [0, 1] {
            let (side, peer) = (&flow.sides[s], &flow.sides[1 - s]);
            complete(side, peer)
                .map_err(|what| format!("connection {n}, host {s}: {what}; {}", world.describe()))?;
        }
    }
    Ok(())
}
