//! A world, from its first packet to silence.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use headway_tcp::{ConnectionId, State};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Instant};

use super::amount::Amounts;
use super::channel::Channel;
use super::ending;
use super::node::{self, Node};
use super::plan::{Plan, START};
use super::stages::Stage;
use super::wire::Sent;
use crate::capture::Tape;
use crate::outcome::Outcome;
use crate::side::program::Side;

/// Between the end of harsh times and the end of the world at most.
const PATIENCE: Duration = Duration::from_secs(2_500);
/// Times at which something happens.
const MOST_STEPS: u64 = 3_000_000;
/// How often something may happen at the same time.
const MOST_AT_ONCE: u32 = 20_000;

/// A connection between two hosts.
pub(super) struct Flow {
    /// Of the one who opens, and of the other.
    pub(super) sides: [Side; 2],
    /// When something of it last arrived at each end.
    pub(super) last_arrivals: [Instant; 2],
    /// How often its hosts had been restarted when it was opened.
    pub(super) restarts: [u32; 2],
}

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) now: Instant,
    pub(super) nodes: Vec<Node>,
    /// The outer addresses that hosts have now, and every one that one had.
    pub(super) outers: Vec<SocketAddr>,
    pub(super) proven: BTreeMap<SocketAddr, usize>,
    /// From each host to each other one.
    pub(super) channels: Vec<Vec<Channel>>,
    pub(super) flows: Vec<Flow>,
    pub(super) known: Vec<BTreeMap<ConnectionId, (usize, usize)>>,
    /// ICMP messages on their way to a host.
    pub(super) told: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    pub(super) stage: Stage,
    pub(super) rest_from: Option<Instant>,
    pub(super) rng: Rng,
    pub(super) attacker: Rng,
    pub(super) next_attack: Option<Instant>,
    /// What attackers have seen: the latest packets, with who sent them and to whom.
    pub(super) seen: VecDeque<(usize, usize, Rc<Sent>)>,
    pub(super) numbers: u64,
    pub(super) amounts: Amounts,
    pub(super) tape: Tape,
    pub(super) trace: bool,
    /// See [`Recording`](crate::Recording).
    pub(super) sabotage: Option<fn(usize, &mut [u8])>,
    pub(super) outcome: Outcome,
    /// How often the hosts were served, to check their state now and then.
    pub(super) turns: u64,
}

impl World {
    pub(super) fn new(plan: Plan, trace: bool, tape: Tape) -> Self {
        let mut rng = Rng::new(plan.seed ^ 0x6e65_7400_776f_726c);
        let count = plan.hosts.len();
        let outers: Vec<SocketAddr> = (0..count).map(node::outer).collect();
        let nodes = (0..count).map(|number| Node::new(&plan, number, &outers, trace)).collect();
        let channels = plan.paths[..count].iter().map(|paths| {
            let to = paths[..count].iter();
            to.map(|path| Channel::new(path.link.clone(), plan.healed.clone(), &mut rng)).collect()
        });
        let channels = channels.collect();
        let flows = plan.flows.iter().map(|flow| {
            let content = [1, 2].map(|side| {
                Pattern(Rng::new(plan.seed ^ (u64::from(flow.port) * 2 + side) << 40).next() as u32)
            });
            let side = |side: usize| Side::new(flow.sides[side].clone(), content[side], content[1 - side]);
            Flow { sides: [side(0), side(1)], last_arrivals: [START; 2], restarts: [0; 2] }
        });
        Self {
            flows: flows.collect(),
            now: START,
            nodes,
            proven: outers.iter().copied().zip(0..).collect(),
            outers,
            channels,
            known: vec![BTreeMap::new(); count],
            told: BTreeMap::new(),
            stage: Stage::Harsh,
            rest_from: None,
            attacker: rng.fork(),
            rng,
            next_attack: plan.attack_gap.map(|gap| START + gap),
            seen: VecDeque::new(),
            numbers: 0,
            amounts: Amounts::default(),
            tape,
            trace,
            sabotage: None,
            outcome: Outcome { flows: plan.flows.len() as u64, ..Outcome::default() },
            turns: 0,
            plan,
        }
    }

    pub(super) fn say(&self, what: impl std::fmt::Display) {
        if self.trace {
            let since = self.now.saturating_since(START).as_micros();
            println!("{:>6}.{:06} {what}", since / 1_000_000, since % 1_000_000);
        }
    }

    /// Runs the world to its end.
    pub(super) fn run(mut self) -> Result<Outcome, String> {
        let result = self.run_to_end();
        let (outcome, tape) = (self.outcome, self.tape);
        tape.finish()?;
        result.map(|()| outcome)
    }

    fn run_to_end(&mut self) -> Result<(), String> {
        self.say(format_args!("{:#?}", self.plan));
        let (mut steps, mut at_once) = (0_u64, 0_u32);
        loop {
            self.let_fail()?;
            self.attack()?;
            self.open_what_is_due()?;
            self.deliver()?;
            for number in 0..self.nodes.len() {
                self.let_timers_expire(number)?;
            }
            self.advance_stage()?;
            if self.stage == Stage::Over {
                break;
            }
            let Some(next) = self.next_time() else {
                return Err(format!("nothing is left to happen; {}", self.describe()));
            };
            at_once = if next > self.now { 0 } else { at_once + 1 };
            self.now = self.now.max(next);
            steps += 1;
            if steps > MOST_STEPS || at_once > MOST_AT_ONCE {
                return Err(format!("no end after {steps} steps, {at_once} at once; {}", self.describe()));
            }
            if self.now > START + self.plan.harsh + PATIENCE {
                return Err(format!("nothing comes of it; {}", self.describe()));
            }
        }
        self.outcome.time = self.now.saturating_since(START);
        ending::check(self)
    }

    fn next_time(&mut self) -> Option<Instant> {
        let mut times: Vec<Option<Instant>> = Vec::with_capacity(32);
        let now = self.now;
        times.extend(self.nodes.iter_mut().map(|node| node.next(now)));
        times.extend(self.channels.iter().flatten().map(Channel::next));
        for (flow, plan) in self.flows.iter().zip(&self.plan.flows) {
            for (side, end) in flow.sides.iter().zip(plan.ends) {
                times.push(side.next_time(START).filter(|_| self.nodes[end].stalled.is_none()));
            }
            if flow.sides[0].id.is_none()
                && !flow.sides[0].released
                && self.nodes[plan.ends[0]].stalled.is_none()
            {
                times.push(Some(START + plan.starts));
            }
        }
        times.push(self.told.keys().next().map(|key| key.0));
        times.push(self.plan.faults.first().map(|fault| START + fault.0));
        times.push(self.next_attack);
        times.push(self.stage_due());
        times.into_iter().flatten().min()
    }

    /// What the clock of a host says now.
    pub(super) fn clock(&self, number: usize) -> Instant {
        self.nodes[number].clock(self.now)
    }

    pub(super) fn healed_at(&self) -> Instant {
        START + self.plan.harsh
    }

    /// Where everything stands, for the report of a failure.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{:?} at {:?}", self.stage, self.now.saturating_since(START));
        for (n, flow) in self.flows.iter().enumerate() {
            for (s, side) in flow.sides.iter().enumerate() {
                let host = &self.nodes[self.plan.flows[n].ends[s]].host;
                let state = side.id.map_or(State::Closed, |id| host.state(id));
                text += &format!(
                    "\n  connection {n}, end {s} at host {}: {state:?}, wrote {} of {}, read {}, closed {}, released {}, error {:?}",
                    self.plan.flows[n].ends[s],
                    side.program.written,
                    side.plan.total,
                    side.read,
                    side.program.closed,
                    side.released,
                    side.error
                );
                if let Some(statistics) = side.id.and_then(|id| host.statistics(id)) {
                    text += &format!(
                        ", {} unsent, {} unacknowledged, pipe {}, cwnd {}, window {}, offers {}, rto {}",
                        statistics.unsent,
                        statistics.unacknowledged,
                        statistics.pipe,
                        statistics.cwnd,
                        statistics.send_window,
                        statistics.receive_window,
                        statistics.rto
                    );
                }
            }
        }
        text
    }
}
