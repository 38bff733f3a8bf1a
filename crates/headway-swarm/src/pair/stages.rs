//! The stages of a schedule: harsh, healed, at rest, closing.

use headway_tcp::{ConnectionId, State};
use headway_units::{Duration, Instant};

use super::channel::Channel;
use super::world::{Flow, World};
use crate::side::program::Side;

/// The stages of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Harsh,
    /// Everything arrives: what is to be sent is sent.
    Healed,
    /// Nothing is left to do until then: silence, except for keep-alives.
    Rest(Instant),
    /// All programs close.
    Closing,
}

/// How long delayed ACKs may take when everything has arrived.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);
/// How long the silence is watched.
const REST: Duration = Duration::from_secs(20);

impl World {
    pub(crate) fn advance_stage(&mut self) -> Result<(), String> {
        loop {
            let before = (self.stage, self.rest_from);
            self.try_next_stage()?;
            if before == (self.stage, self.rest_from) {
                return Ok(());
            }
        }
    }

    fn try_next_stage(&mut self) -> Result<(), String> {
        match self.stage {
            Stage::Harsh if self.now >= self.start + self.plan.harsh => {
                self.say("healed");
                self.stage = Stage::Healed;
                self.channels.iter_mut().for_each(Channel::heal);
                self.serve_both()?;
            }
            Stage::Healed => {
                let quiet = self.is_at_rest();
                match self.rest_from {
                    _ if !quiet => self.rest_from = None,
                    None => self.rest_from = Some(self.now),
                    Some(from) if self.now >= from + SETTLE => {
                        self.say("at rest");
                        self.stage = Stage::Rest(self.now + REST);
                    }
                    Some(_) => {}
                }
            }
            Stage::Rest(until) if self.now >= until => {
                self.say("all close");
                self.stage = Stage::Closing;
                self.serve_both()?;
            }
            Stage::Closing => self.abandon()?,
            _ => {}
        }
        Ok(())
    }

    fn serve_both(&mut self) -> Result<(), String> {
        self.serve(0, &[])?;
        self.serve(1, &[])
    }

    /// Whether every connection that is in order has carried all that was written, and nothing is
    /// under way.
    fn is_at_rest(&self) -> bool {
        // Keep-alives go on.
        let channels = self.channels.iter().all(Channel::is_cleared);
        channels && !self.opens_something() && self.flows.iter().all(|flow| self.flow_is_at_rest(flow))
    }

    /// Whether a host has connections that no program knows yet: they are in SYN-RECEIVED.
    fn opens_something(&self) -> bool {
        [0, 1].into_iter().any(|side| {
            let sides = self.flows.iter().filter_map(|flow| flow.sides[side].id);
            let known = sides.filter(|&id| self.hosts[side].endpoints(id).is_some()).count();
            self.hosts[side].connections() > known
        })
    }

    fn flow_is_at_rest(&self, flow: &Flow) -> bool {
        if flow.poisoned || flow.sides.iter().any(Side::has_failed) {
            return true;
        }
        // A side that no program knows gave up its SYN-ACK before the ACK of it arrived. (If it answered by a
        // cookie, what its peer still retransmits opens it.)
        let alone = |s: usize| {
            let (side, peer) = (&flow.sides[s], &flow.sides[1 - s]);
            let outstanding = side.id.and_then(|id| self.hosts[s].statistics(id)).map(|it| it.unacknowledged);
            peer.id.is_none() && side.connected && outstanding.unwrap_or(0) == 0
        };
        if alone(0) || alone(1) {
            return true;
        }
        [0, 1].into_iter().all(|s| {
            let (side, peer) = (&flow.sides[s], &flow.sides[1 - s]);
            let carried = side.program.written == side.plan.total && peer.read == side.program.written;
            let idle = side.id.is_some_and(|id| match self.hosts[s].statistics(id) {
                Some(statistics) => statistics.unacknowledged == 0 && statistics.unsent == 0,
                None => side.released,
            });
            carried && idle && (!side.program.closed || peer.finished)
        })
    }

    /// Ends what cannot end by itself: a side that was not notified of its peer's failure may wait
    /// for ever in FIN-WAIT-2, and a connection with an unseen damaged header wherever it is.
    fn abandon(&mut self) -> Result<(), String> {
        for n in 0..self.flows.len() {
            for side in [0, 1] {
                let flow = &self.flows[n];
                let alive = |id: &ConnectionId| self.hosts[side].endpoints(*id).is_some();
                let Some(id) = flow.sides[side].id.filter(alive) else { continue };
                let peer = &flow.sides[1 - side];
                let state = self.hosts[side].state(id);
                let peer_gone = peer.id.is_none_or(|id| self.hosts[1 - side].endpoints(id).is_none());
                let waits = state == State::FinWait2 && peer_gone;
                if (waits || flow.poisoned) && !flow.sides[side].aborted {
                    self.hosts[side].abort(self.now, id).map_err(|error| error.to_string())?;
                    self.flows[n].sides[side].aborted = true;
                    self.serve(side, &[])?;
                }
            }
        }
        Ok(())
    }
}
