//! What fails: hosts that are restarted, that stand still, whose clocks jump, and gateways that move.

use super::plan::{Fault, START};
use super::sealed::Gateway;
use super::world::World;

impl World {
    /// What is due of that.
    pub(super) fn let_fail(&mut self) -> Result<(), String> {
        while self.plan.faults.first().is_some_and(|fault| START + fault.0 <= self.now) {
            let (_, fault) = self.plan.faults.remove(0);
            self.say(format_args!("{fault:?}"));
            match fault {
                Fault::Restart(number) => self.restart(number),
                Fault::Jump(number, by) => self.nodes[number].jump(by),
                Fault::Stall(number, time) => self.nodes[number].stalled = Some(self.now + time),
                Fault::Roam(number) => self.roam(number),
            }
        }
        for number in 0..self.nodes.len() {
            if self.nodes[number].stalled.is_some_and(|until| until <= self.now) {
                self.nodes[number].stalled = None;
                let waiting = std::mem::take(&mut self.nodes[number].waiting);
                for wire in waiting {
                    self.arrive(number, wire)?;
                }
                self.serve(number)?;
            }
        }
        Ok(())
    }

    /// The process of a host begins anew: programs and connections are gone.
    fn restart(&mut self, number: usize) {
        self.outcome.handshakes += self.nodes[number].gateway.as_ref().map_or(0, Gateway::handshakes);
        self.nodes[number].restart(&self.plan, number, &self.outers, self.trace);
        for (id, (n, s)) in std::mem::take(&mut self.known[number]) {
            let side = &mut self.flows[n].sides[s];
            debug_assert_eq!(side.id, Some(id));
            (side.aborted, side.released) = (true, true);
        }
    }

    /// A gateway gets another address, as from a translator that has forgotten the last one.
    fn roam(&mut self, number: usize) {
        let mut outer = self.nodes[number].outer;
        outer.set_port(outer.port() + 1);
        self.nodes[number].outer = outer;
        self.outers[number] = outer;
        self.proven.insert(outer, number);
    }
}
