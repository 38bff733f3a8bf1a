//! One schedule, from its first packet to silence.

use std::collections::BTreeMap;
use std::rc::Rc;

use headway_tcp::{ConnectionId, Host, HostConfig, ListenerId, State, Transmit};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Instant};
use headway_wire::{Integrity, Received, Segment, TcpFlags, judge};

use super::adversary::PacketKind;
use super::bounds::packet;
use super::channel::Channel;
use super::ending;
use super::packet::{Packet, Sent, Undetected};
use super::plan::{LISTEN, Plan};
use super::stages::{SETTLE, Stage};
use super::start;
use crate::bounds;
use crate::capture::Tape;
use crate::outcome::Outcome;
use crate::side::ledger::Role;
use crate::side::program::{Moment, Side};
use crate::side::recorder::Recorder;
use crate::text::{digest, line};

/// A connection between host 0 and host 1.
pub(crate) struct Flow {
    pub(crate) sides: [Side; 2],
    /// Damage to one of its headers passed every check: nothing about it is certain.
    pub(crate) poisoned: bool,
}

/// More than every timer together needs once nothing is lost any more.
const PATIENCE: Duration = Duration::from_secs(1_500);
/// Mere ACKs that may answer each other in a chain.
const LONGEST_CHAIN: u32 = 3;
/// The number of longer chains that is allowed per interval while packets are reordered: RFC 5961's
/// limit of challenge ACKs may be used up at the end of one of its periods and again at the start of the
/// next.
const MOST_ANSWERS: usize = 20;
const ANSWERS_INTERVAL: Duration = Duration::from_secs(5);
/// How often the whole state of a host is checked, in turns.
const CHECK_EVERY: u64 = 8;
/// Packets that a host may send without time passing or a packet arriving.
const LARGEST_BURST: usize = 60_000;

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    pub(crate) hosts: [Host<Recorder>; 2],
    listeners: [ListenerId; 2],
    pub(crate) channels: [Channel; 2],
    pub(crate) flows: Vec<Flow>,
    known: [BTreeMap<ConnectionId, usize>; 2],
    /// Path MTUs on their way to a host.
    told_mtu: BTreeMap<(Instant, u64), (usize, u16)>,
    pub(crate) stage: Stage,
    pub(crate) rest_from: Option<Instant>,
    rng: Rng,
    numbers: u64,
    /// How often the hosts were served.
    turns: u64,
    buffer: Vec<u8>,
    tape: Tape,
    pub(crate) outcome: Outcome,
    /// See [`Moment::sabotage`].
    pub(crate) sabotage: Option<fn(usize, &mut [u8])>,
}

impl World {
    pub(crate) fn new(plan: Plan, trace: bool, tape: Tape) -> Self {
        let mut rng = Rng::new(plan.seed ^ 0x5eed_0f3b_0d1e_5000);
        let secrets = [(); 2].map(|()| u128::from(rng.next()) << 64 | u128::from(rng.next()));
        let start = start::time(&plan, &secrets);
        let host = |side: usize| {
            let recorder =
                Recorder { host: side, start, on: trace, keep_alive: Vec::new(), completed: Vec::new() };
            let config = HostConfig::new(plan.addresses[side], secrets[side].to_be_bytes());
            Host::with_observer(config, recorder)
        };
        let mut hosts = [host(0), host(1)];
        let listeners = [0, 1].map(|side| {
            let local = (plan.addresses[side], LISTEN).into();
            hosts[side].listen(local, plan.backlog, plan.profiles[side].clone()).expect("nothing listens yet")
        });
        let channels = [0, 1].map(|side| {
            let adversary = plan.adversaries[side].clone();
            Channel::new(adversary, plan.links[side].clone(), plan.healed.clone(), start, &mut rng)
        });
        let flows = plan.flows.iter().zip(0..).map(|(flow, n): (_, u64)| {
            let content = [0, 1]
                .map(|side| Rng::new(plan.seed ^ (n * 2 + side + 1) << 40))
                .map(|mut rng| Pattern(rng.next() as u32));
            let side = |side: usize| Side::new(flow.sides[side].clone(), content[side], content[1 - side]);
            Flow { sides: [side(0), side(1)], poisoned: false }
        });
        Self {
            flows: flows.collect(),
            start,
            now: start,
            hosts,
            listeners,
            channels,
            known: Default::default(),
            told_mtu: BTreeMap::new(),
            stage: Stage::Harsh,
            rest_from: None,
            rng,
            numbers: 0,
            turns: 0,
            buffer: vec![0; 65_536],
            tape,
            outcome: Outcome { flows: plan.flows.len() as u64, ..Outcome::default() },
            plan,
            sabotage: None,
        }
    }

    pub(crate) fn say(&self, what: impl std::fmt::Display) {
        if self.hosts[0].observer().on {
            let recorder = Recorder {
                host: 9,
                start: self.start,
                on: true,
                keep_alive: Vec::new(),
                completed: Vec::new(),
            };
            recorder.say(self.now, what);
        }
    }

    /// Runs the schedule to its end.
    pub(crate) fn run(mut self) -> Result<Outcome, String> {
        let outcome = self.run_to_end();
        self.tape.finish()?;
        outcome
    }

    fn run_to_end(&mut self) -> Result<Outcome, String> {
        self.say(format_args!("{:#?}", self.plan));
        let mut steps = 0u64;
        loop {
            self.open_what_is_due()?;
            self.deliver()?;
            for side in [0, 1] {
                self.let_timers_expire(side)?;
                self.serve(side, &[])?;
            }
            self.advance_stage()?;
            let Some(next) = self.next_time() else { break };
            if next > self.now {
                self.now = next;
            }
            steps += 1;
            if steps > 2_000_000 {
                return Err(format!("no end after {steps} steps; {}", self.describe()));
            }
            if self.now > self.start + self.plan.harsh + PATIENCE {
                return Err(format!("nothing comes of it; {}", self.describe()));
            }
        }
        ending::check(self)?;
        self.outcome.time = self.now.saturating_since(self.start);
        Ok(self.outcome)
    }

    fn next_time(&mut self) -> Option<Instant> {
        let mut times: Vec<Option<Instant>> = Vec::with_capacity(24);
        for side in [0, 1] {
            times.push(self.hosts[side].next_deadline());
            times.push(self.channels[side].next());
        }
        for (flow, plan) in self.flows.iter().zip(&self.plan.flows) {
            for side in [0, 1] {
                times.push(flow.sides[side].next_time(self.start));
                if self.opens(plan.opener, side) && flow.sides[side].id.is_none() {
                    times.push(Some(self.start + plan.starts[side]));
                }
            }
        }
        times.push(self.told_mtu.keys().next().map(|key| key.0));
        times.push(self.plan.mtu_changes.first().map(|change| self.start + change.0));
        match self.stage {
            Stage::Harsh => times.push(Some(self.start + self.plan.harsh)),
            Stage::Healed => times.push(self.rest_from.map(|from| from + SETTLE)),
            Stage::Rest(until) => times.push(Some(until)),
            Stage::Closing => {}
        }
        times.into_iter().flatten().min()
    }

    fn opens(&self, opener: Option<usize>, side: usize) -> bool {
        opener.is_none_or(|opener| opener == side)
    }

    fn open_what_is_due(&mut self) -> Result<(), String> {
        for n in 0..self.flows.len() {
            for side in [0, 1] {
                let plan = &self.plan.flows[n];
                let due = self.start + plan.starts[side] <= self.now;
                if !self.opens(plan.opener, side) || !due || self.flows[n].sides[side].id.is_some() {
                    continue;
                }
                let (local, remote) = (plan.socket(&self.plan, side), plan.socket(&self.plan, 1 - side));
                let profile = self.plan.profiles[side].clone();
                let id = self.hosts[side]
                    .connect(self.now, local, remote, profile)
                    .map_err(|error| format!("connect: {error}"))?;
                self.known[side].insert(id, n);
                self.flows[n].sides[side].opened(id, self.now);
            }
        }
        while let Some(entry) = self.told_mtu.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (side, mtu) = entry.remove();
            let [local, remote] = [side, 1 - side].map(|side| self.plan.addresses[side]);
            self.hosts[side].set_path_mtu(self.now, local, remote, mtu);
        }
        while self.plan.mtu_changes.first().is_some_and(|change| self.start + change.0 <= self.now) {
            let (_, mtu) = self.plan.mtu_changes.remove(0);
            self.say(format_args!("the path's MTU becomes {mtu}"));
            self.channels.iter_mut().for_each(|channel| channel.mtu = mtu);
        }
        Ok(())
    }

    /// Hands over what has arrived.
    fn deliver(&mut self) -> Result<(), String> {
        for from in [0, 1] {
            let to = 1 - from;
            let mut causes = Vec::new();
            while let Some(packet) = self.channels[from].poll(self.now) {
                self.note_arrival(to, &packet);
                let received = packet.received();
                self.outcome.corrupted += u64::from(matches!(received, Received::Corrupted(_)));
                self.hosts[to].receive(self.now, &received);
                for (seq, len) in std::mem::take(&mut self.hosts[to].observer_mut().completed) {
                    let [first, second] = &mut self.flows[packet.sent.flow].sides;
                    let (ours, theirs) = if to == 0 { (first, second) } else { (second, first) };
                    ours.ledger.completed(seq, len, &theirs.ledger);
                    self.outcome.completed += 1;
                }
                causes.push(packet);
                // A carrier may hand over several packets before it asks for answers.
                if !self.plan.batches {
                    self.serve(to, &causes)?;
                    causes.clear();
                }
            }
            if !causes.is_empty() {
                self.serve(to, &causes)?;
            }
        }
        Ok(())
    }

    /// The oracle looks at a packet before the host does.
    fn note_arrival(&mut self, to: usize, packet: &Packet) {
        let intact = packet.bytes == packet.sent.bytes;
        self.tape.received(to, self.now, &packet.bytes, !intact);
        let recorder = self.hosts[to].observer();
        if recorder.on {
            let what = packet.segment().map_or_else(|| "unreadable".into(), |segment| line(&segment));
            let integrity = judge(&packet.bytes).unwrap_or(Integrity::Unreadable);
            let damage = if intact { String::new() } else { format!(" damaged: {integrity:?}") };
            recorder.say(self.now, format_args!("<- #{} {what}{damage}", packet.sent.number));
        }
        let flow = &mut self.flows[packet.sent.flow];
        let [first, second] = &mut flow.sides;
        let (ours, theirs) = if to == 0 { (first, second) } else { (second, first) };
        let undetected = packet.undetected();
        if (intact || undetected == Some(Undetected::Harmless))
            && let Some(segment) = packet.segment()
            && (!packet.sent.ghost || packet.sent.kind == PacketKind::Reset)
        {
            ours.ledger.arrived(&segment, &theirs.ledger, self.now);
        }
        match undetected {
            None | Some(Undetected::Harmless) => {}
            Some(Undetected::Payload) => {
                if let Some(segment) = packet.segment() {
                    ours.ledger.arrived_wrong(&segment, &theirs.ledger);
                    // It counts as arrived, whatever it says.
                    ours.ledger.arrived(&segment, &theirs.ledger, self.now);
                }
            }
            Some(Undetected::Header) => {
                let poisoned = packet.segment().map(|segment| [segment.tcp.src_port, segment.tcp.dst_port]);
                for (flow, plan) in self.flows.iter_mut().zip(&self.plan.flows) {
                    let mut ports = plan.ports;
                    if to == 0 {
                        ports.reverse();
                    }
                    flow.poisoned |= poisoned == Some(ports);
                }
                self.flows[packet.sent.flow].poisoned = true;
            }
        }
    }

    fn let_timers_expire(&mut self, side: usize) -> Result<(), String> {
        if self.hosts[side].next_deadline().is_some_and(|at| at <= self.now) {
            self.hosts[side].handle_timeout(self.now);
            self.serve(side, &[])?;
            if self.hosts[side].next_deadline().is_some_and(|at| at <= self.now) {
                return Err(format!("host {side} has a deadline in the past and does nothing about it"));
            }
        }
        Ok(())
    }

    /// Lets the programs of a host work and carries away what it sends.
    pub(crate) fn serve(&mut self, side: usize, causes: &[Packet]) -> Result<(), String> {
        let mut burst = 0;
        loop {
            self.accept(side)?;
            while let Some((id, notification)) = self.hosts[side].poll_notification() {
                if let Some(&n) = self.known[side].get(&id) {
                    self.flows[n].sides[side].told(notification);
                }
            }
            for n in 0..self.flows.len() {
                let flow = &mut self.flows[n];
                let moment = Moment {
                    now: self.now,
                    clock: self.now,
                    start: self.start,
                    healed: self.stage != Stage::Harsh,
                    at_rest: self.stage == Stage::Closing,
                    poisoned: flow.poisoned,
                    sabotage: self.sabotage,
                };
                flow.sides[side]
                    .work(&mut self.hosts[side], &moment, &mut self.rng)
                    .map_err(|what| format!("connection {n}, host {side}: {what}"))?;
                ending::check_error(self, n, side)?;
            }
            let sent = self.carry_away(side, causes, &mut burst)?;
            self.check_bounds(side)?;
            if sent == 0 {
                return Ok(());
            }
        }
    }

    fn accept(&mut self, side: usize) -> Result<(), String> {
        while let Some(id) = self.hosts[side].accept(self.listeners[side]) {
            let Some(ends) = self.hosts[side].endpoints(id) else { continue };
            let n = self.plan.flows.iter().position(|flow| {
                flow.socket(&self.plan, side) == ends.local
                    && flow.socket(&self.plan, 1 - side) == ends.remote
            });
            match n {
                Some(n) if self.flows[n].sides[side].id.is_none() => {
                    self.flows[n].sides[side].opened(id, self.now);
                    self.known[side].insert(id, n);
                }
                // A wrong header may open anything.
                _ if self.flows.iter().any(|flow| flow.poisoned) => {
                    self.hosts[side].abort(self.now, id).map_err(|error| error.to_string())?;
                    self.hosts[side].release(self.now, id);
                }
                _ => return Err(format!("host {side} accepts a connection that no host opened: {ends:?}")),
            }
        }
        Ok(())
    }

    fn carry_away(&mut self, side: usize, causes: &[Packet], burst: &mut usize) -> Result<usize, String> {
        let mut sent = 0;
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(Transmit { len, .. }) = self.hosts[side].poll_transmit(self.now, &mut buffer) {
            sent += 1;
            *burst += 1;
            if *burst > LARGEST_BURST {
                return Err(format!("host {side} sends and sends; {}", self.describe()));
            }
            self.carry(side, &buffer[..len], causes)?;
        }
        self.buffer = buffer;
        Ok(sent)
    }

    /// A packet leaves `side`: checks it and puts it into the channel.
    fn carry(&mut self, side: usize, bytes: &[u8], causes: &[Packet]) -> Result<(), String> {
        let segment = Segment::parse(bytes).map_err(|error| format!("host {side} sends garbage: {error}"))?;
        if judge(bytes) != Ok(Integrity::Intact) {
            return Err(format!("host {side} sends wrong checksums: {}", line(&segment)));
        }
        self.tape.sent(side, self.now, bytes);
        self.outcome.packets += 1;
        self.numbers += 1;
        let number = self.numbers;
        let flow = self.plan.flows.iter().position(|flow| {
            flow.ports[side] == segment.tcp.src_port && flow.ports[1 - side] == segment.tcp.dst_port
        });
        let kind = PacketKind::of(&segment);
        self.outcome.special_acks += u64::from(kind == PacketKind::SpecialAck);
        // What led to it, if anything that arrived just now did.
        let cause = causes.iter().rfind(|cause| flow == Some(cause.sent.flow));
        let (flow, role) = match flow {
            Some(flow) => {
                let role = self
                    .check_sent(flow, side, &segment, cause)
                    .map_err(|what| format!("connection {flow}, host {side}: {what}: {}", line(&segment)))?;
                (flow, role)
            }
            // Only a wrong header can lead to this.
            None if self.flows.iter().any(|flow| flow.poisoned) => (0, Role::Ghost),
            None => return Err(format!("host {side} sends to no flow: {}", line(&segment))),
        };
        let mere = kind == PacketKind::Ack || kind == PacketKind::SpecialAck;
        let ghost = role == Role::Ghost || cause.is_some_and(|cause| cause.sent.ghost);
        let chain = match cause {
            Some(cause) if mere && cause.sent.kind == PacketKind::Ack => cause.sent.chain + 1,
            _ => 0,
        };
        let certain = !self.flows[flow].poisoned && !ghost;
        if chain > LONGEST_CHAIN && certain && self.chains_multiply(flow, side) {
            return Err(format!("connection {flow}: ACKs answer ACKs without end: {}", line(&segment)));
        }
        let keeps_alive = role == Role::KeepAlive || chain > 0;
        let in_order =
            certain && self.flows[flow].sides.iter().all(|side| side.id.is_some() && !side.has_failed());
        if let (Stage::Rest(_), false) = (self.stage, keeps_alive || kind == PacketKind::Reset)
            && in_order
        {
            return Err(format!("connection {flow}: no rest, host {side} sends {}", line(&segment)));
        }
        let limit = packet(&self.hosts[side], &self.plan, side);
        if bytes.len() > limit && certain {
            return Err(format!("connection {flow}: {} bytes, longer than {limit}", bytes.len()));
        }
        self.outcome.digest = digest(self.outcome.digest ^ self.now.as_nanos(), bytes);
        let packet = Sent { number, bytes: bytes.to_vec(), kind, flow, ghost, chain };
        let copies = self.channels[side].send(self.now, bytes.to_vec(), Rc::new(packet));
        if self.hosts[side].observer().on {
            let fate = match copies {
                Some(1) => String::new(),
                Some(0) => " dropped".into(),
                Some(n) => format!(" {n} copies"),
                None => " too long for the path".into(),
            };
            let what = format!("-> #{number} {}{fate}", line(&segment));
            self.hosts[side].observer().say(self.now, what);
        }
        if copies.is_none() {
            // An ICMP message may be lost too.
            if self.stage != Stage::Harsh || self.rng.permille(700) {
                let mtu = self.channels[side].mtu;
                self.told_mtu.insert((self.now + self.plan.healed.delay, number), (side, mtu));
            }
        }
        Ok(())
    }

    /// Whether a side answers mere ACKs with mere ACKs more often than it may: never on a path that
    /// keeps order, rarely on one that does not.
    fn chains_multiply(&mut self, flow: usize, side: usize) -> bool {
        if self.stage != Stage::Harsh && self.channels.iter().all(Channel::is_cleared) {
            return true;
        }
        let answers = &mut self.flows[flow].sides[side].ledger.answers;
        answers.retain(|&at| self.now.saturating_since(at) < ANSWERS_INTERVAL);
        answers.push(self.now);
        answers.len() > MOST_ANSWERS
    }

    fn check_sent(
        &mut self,
        n: usize,
        side: usize,
        segment: &Segment<'_>,
        cause: Option<&Packet>,
    ) -> Result<Role, String> {
        let state = self.flows[n].sides[side].id.map(|id| self.hosts[side].state(id));
        let expired = &self.hosts[side].observer().keep_alive;
        let keeps_alive = self.flows[n].sides[side].id.is_some_and(|id| expired.contains(&(self.now, id)));
        let flow = &mut self.flows[n];
        let poisoned = flow.poisoned;
        let [first, second] = &mut flow.sides;
        let (ours, theirs) = if side == 0 { (first, second) } else { (second, first) };
        let ghost = cause.is_some_and(|cause| cause.sent.ghost);
        if segment.tcp.flags.contains(TcpFlags::RST) {
            if state.is_some_and(State::is_synchronized) && !poisoned && !ghost {
                return Err(format!("a RST from a connection in {state:?}"));
            }
            return Ok(if ghost { Role::Ghost } else { Role::Ordinary });
        }
        if segment.tcp.flags.contains(TcpFlags::SYN) {
            return Ok(ours.ledger.syn_sent(segment, ours.id.is_some(), self.now));
        }
        // What a poisoned connection sends is not judged, but its records take memory all the same.
        ours.ledger.data_sent += usize::from(segment.sequence_len() > 0);
        if ghost || poisoned {
            return Ok(Role::Ghost);
        }
        if state == Some(State::Closed) {
            // Unless it is another by now, which an old SYN has opened.
            return if ours.ledger.ghosts {
                Ok(Role::Ghost)
            } else {
                Err("a closed connection sends".into())
            };
        }
        ours.ledger.sent(segment, &ours.program, &theirs.ledger, self.now, keeps_alive)
    }

    fn check_bounds(&mut self, side: usize) -> Result<(), String> {
        self.turns += 1;
        if self.turns.is_multiple_of(CHECK_EVERY) {
            self.hosts[side].check().map_err(|what| format!("host {side}: {what}"))?;
        }
        for (n, flow) in self.flows.iter().enumerate() {
            let Some(id) = flow.sides[side].id else { continue };
            let Some(statistics) = self.hosts[side].statistics(id) else { continue };
            bounds::check(&statistics, &self.plan.profiles[side], flow.sides[side].ledger.data_sent)
                .map_err(|what| format!("connection {n}, host {side}: {what}"))?;
        }
        Ok(())
    }

    pub(crate) fn connections(&self) -> usize {
        self.hosts.iter().map(Host::connections).sum()
    }

    pub(crate) fn healed_at(&self) -> Instant {
        self.start + self.plan.harsh
    }

    /// Where everything stands, for the report of a failure.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.stage);
        for (n, flow) in self.flows.iter().enumerate() {
            for (s, side) in flow.sides.iter().enumerate() {
                let state = side.id.map(|id| self.hosts[s].state(id));
                text += &format!(
                    "\n  connection {n}, host {s}: {state:?}, wrote {} of {}, read {}, closed {}, error {:?}",
                    side.program.written, side.plan.total, side.read, side.program.closed, side.error
                );
                if let Some(statistics) = side.id.and_then(|id| self.hosts[s].statistics(id)) {
                    text += &format!(
                        ", {} unsent, {} unacknowledged, pipe {}, cwnd {}, window {}, offers {}",
                        statistics.unsent,
                        statistics.unacknowledged,
                        statistics.pipe,
                        statistics.cwnd,
                        statistics.send_window,
                        statistics.receive_window
                    );
                }
            }
        }
        text
    }
}
