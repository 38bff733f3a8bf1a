//! The stages of a world: harsh, healed, closing, over.

use headway_tcp::{ConnectionId, Host, State};
use headway_units::{Duration, Instant};

use super::channel::Channel;
use super::world::World;
use crate::side::program::Side;

/// The stages of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Harsh,
    /// Everything arrives: what is to be sent is sent.
    Healed,
    /// All programs close.
    Closing,
    Over,
}

/// How long delayed ACKs may take when everything has arrived.
const SETTLE: Duration = Duration::from_secs(2);

impl World {
    pub(super) fn advance_stage(&mut self) -> Result<(), String> {
        loop {
            let before = (self.stage, self.rest_from);
            self.try_next_stage()?;
            if before == (self.stage, self.rest_from) || self.stage == Stage::Over {
                return Ok(());
            }
        }
    }

    /// When the stage may end.
    pub(super) fn stage_due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Harsh => Some(self.healed_at()),
            Stage::Healed => self.rest_from.map(|from| from + SETTLE),
            Stage::Closing | Stage::Over => None,
        }
    }

    fn try_next_stage(&mut self) -> Result<(), String> {
        match self.stage {
            Stage::Harsh if self.now >= self.healed_at() => {
                self.say("healed");
                self.stage = Stage::Healed;
                self.channels.iter_mut().flatten().for_each(Channel::heal);
                self.serve_all()?;
            }
            Stage::Healed => {
                let is_quiet = self.is_at_rest();
                match self.rest_from {
                    _ if !is_quiet => self.rest_from = None,
                    None => self.rest_from = Some(self.now),
                    Some(from) if self.now >= from + SETTLE => {
                        self.say("all close");
                        self.stage = Stage::Closing;
                        self.serve_all()?;
                    }
                    Some(_) => {}
                }
            }
            Stage::Closing => {
                self.abandon()?;
                let is_empty = self.plan.is_sealed || self.channels.iter().flatten().all(Channel::is_empty);
                if is_empty && self.nodes.iter().all(|node| node.host.connections() == 0) {
                    self.stage = Stage::Over;
                }
            }
            Stage::Harsh | Stage::Over => {}
        }
        Ok(())
    }

    fn serve_all(&mut self) -> Result<(), String> {
        (0..self.nodes.len()).try_for_each(|number| self.serve(number))
    }

    /// Whether every connection that is in order has carried all that was written, and nothing is under way.
    fn is_at_rest(&self) -> bool {
        self.plan.faults.is_empty()
            && self.nodes.iter().all(|node| node.stalled.is_none())
            && self.channels.iter().flatten().all(Channel::is_cleared)
            && (0..self.flows.len()).all(|n| self.flow_is_at_rest(n))
    }

    fn flow_is_at_rest(&self, n: usize) -> bool {
        let sides = &self.flows[n].sides;
        if self.plan.flows[n].liar.is_some() || sides.iter().any(Side::has_failed) {
            return true;
        }
        let host = |s: usize| &self.nodes[self.plan.flows[n].ends[s]].host;
        // A host that gave up its SYN-ACK before the ACK of it arrived.
        let outstanding = sides[0].id.and_then(|id| host(0).statistics(id)).map(|it| it.unacknowledged);
        if sides[1].id.is_none() && sides[0].connected && outstanding.unwrap_or(0) == 0 {
            return true;
        }
        [0, 1].into_iter().all(|s| {
            let (side, peer) = (&sides[s], &sides[1 - s]);
            let carried = side.program.written == side.plan.total && peer.read == side.program.written;
            let idle = side.id.is_some_and(|id| match host(s).statistics(id) {
                Some(statistics) => statistics.unacknowledged == 0 && statistics.unsent == 0,
                None => side.released,
            });
            carried && idle && (!side.program.closed || peer.finished)
        })
    }

    /// Ends what cannot end by itself: a side that was not notified of its peer's failure may wait for ever in FIN-WAIT-2, and
    /// one that was lied to wherever it is.
    fn abandon(&mut self) -> Result<(), String> {
        for n in 0..self.flows.len() {
            for s in [0, 1] {
                let number = self.plan.flows[n].ends[s];
                let host: &Host<_> = &self.nodes[number].host;
                let is_alive = |id: &ConnectionId| host.endpoints(*id).is_some();
                let side = &self.flows[n].sides[s];
                let Some(id) = side.id.filter(is_alive).filter(|id| self.known[number].contains_key(id))
                else {
                    continue;
                };
                let peer = &self.flows[n].sides[1 - s];
                let other = &self.nodes[self.plan.flows[n].ends[1 - s]].host;
                let peer_gone =
                    peer.released && peer.aborted || peer.id.is_none_or(|id| other.endpoints(id).is_none());
                let waits = host.state(id) == State::FinWait2 && peer_gone;
                if (waits || self.plan.flows[n].liar.is_some()) && !side.aborted {
                    let clock = self.clock(number);
                    self.nodes[number].host.abort(clock, id).map_err(|error| error.to_string())?;
                    self.flows[n].sides[s].aborted = true;
                    self.serve(number)?;
                }
            }
        }
        Ok(())
    }
}
