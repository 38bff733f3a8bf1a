//! Hosts at work: programs, timers, and what is sent.

use std::net::SocketAddr;
use std::rc::Rc;

use headway_tcp::{ConnectionId, Transmit};
use headway_test_fixture::packet::{icmp, ip};
use headway_wire::{Segment, TcpFlags};

use super::ending;
use super::middlebox::BoxPlan;
use super::plan::{LISTEN, START};
use super::rewrite::Rewrite;
use super::stages::Stage;
use super::wire::{Outer, Sent, Wire};
use super::world::World;
use crate::bounds;
use crate::side::program::Moment;
use crate::text::{digest, is_special_ack, line};

/// Packets that a host may send without time passing or a packet arriving.
const LARGEST_BURST: usize = 60_000;
/// How often the whole state of a host is checked.
const CHECK_EVERY: u64 = 8;
/// Packets that an attacker remembers: more than a replay window holds, in both directions.
const REMEMBERED: usize = 20_000;

impl World {
    pub(super) fn open_what_is_due(&mut self) -> Result<(), String> {
        for n in 0..self.flows.len() {
            let plan = &self.plan.flows[n];
            let [from, to] = plan.ends;
            let side = &self.flows[n].sides[0];
            if START + plan.starts > self.now
                || side.id.is_some()
                || side.released
                || self.nodes[from].stalled.is_some()
            {
                continue;
            }
            let port = plan.port;
            let (ours, theirs) = match &self.nodes[from].gateway {
                Some(gateway) => gateway.inner(to),
                None => (self.plan.hosts[from].address, self.plan.hosts[to].address),
            };
            let clock = self.clock(from);
            let node = &mut self.nodes[from];
            let profile = node.profile.clone();
            let ends = (SocketAddr::new(ours, port), SocketAddr::new(theirs, LISTEN));
            match node.host.connect(clock, ends.0, ends.1, profile) {
                Ok(id) => {
                    self.known[from].insert(id, (n, 0));
                    self.flows[n].restarts = [from, to].map(|end| self.nodes[end].restarts);
                    self.flows[n].sides[0].opened(id, self.now);
                }
                Err(headway_tcp::Error::TooManyConnections) => {
                    // The program does without.
                    let side = &mut self.flows[n].sides[0];
                    (side.aborted, side.released) = (true, true);
                }
                Err(error) => return Err(format!("connect: {error}")),
            }
        }
        Ok(())
    }

    pub(super) fn let_timers_expire(&mut self, number: usize) -> Result<(), String> {
        if self.nodes[number].stalled.is_some() {
            return Ok(());
        }
        self.nodes[number].handle_timeout(self.now);
        self.serve(number)?;
        if self.nodes[number].is_overdue(self.now) {
            // Once more: what was sent may have made something due at once.
            self.nodes[number].handle_timeout(self.now);
            self.serve(number)?;
            if self.nodes[number].is_overdue(self.now) {
                return Err(format!("host {number} has a deadline in the past and does nothing about it"));
            }
        }
        Ok(())
    }

    /// Lets the programs of a host work, and carries away what it sends.
    pub(super) fn serve(&mut self, number: usize) -> Result<(), String> {
        if self.nodes[number].stalled.is_some() {
            return Ok(());
        }
        let mut burst = 0;
        loop {
            let clock = self.clock(number);
            let node = &mut self.nodes[number];
            if let Some(gateway) = &mut node.gateway {
                gateway.tell(clock, &mut node.host);
            }
            ending::check_events(self, number)?;
            self.accept(number)?;
            self.outcome.completed +=
                self.nodes[number].host.observer_mut().completed.drain(..).count() as u64;
            while let Some((id, notification)) = self.nodes[number].host.poll_notification() {
                if let Some(&(n, s)) = self.known[number].get(&id) {
                    self.flows[n].sides[s].told(notification);
                }
            }
            for n in 0..self.flows.len() {
                for s in [0, 1] {
                    if self.plan.flows[n].ends[s] != number {
                        continue;
                    }
                    // Programs wait for times of the world; their calls have the clock of the host.
                    let moment = Moment {
                        now: self.now,
                        clock,
                        start: START,
                        healed: self.stage != Stage::Harsh,
                        at_rest: self.stage == Stage::Closing,
                        poisoned: false,
                        sabotage: self.sabotage,
                    };
                    self.flows[n].sides[s]
                        .work(&mut self.nodes[number].host, &moment, &mut self.rng)
                        .map_err(|what| format!("connection {n}, end {s}: {what}"))?;
                    ending::check_error(self, n, s)?;
                }
            }
            let sent = self.carry_away(number, &mut burst)?;
            self.check_state(number)?;
            if sent == 0 {
                return Ok(());
            }
        }
    }

    fn check_state(&mut self, number: usize) -> Result<(), String> {
        self.turns += 1;
        let node = &self.nodes[number];
        if self.turns.is_multiple_of(CHECK_EVERY) {
            node.host.check().map_err(|what| format!("host {number}: {what}"))?;
        }
        for (&id, &(n, s)) in &self.known[number] {
            let Some(statistics) = node.host.statistics(id) else { continue };
            let side = &self.flows[n].sides[s];
            bounds::check(&statistics, &node.profile, side.ledger.data_sent)
                .map_err(|what| format!("connection {n}, end {s}: {what}"))?;
        }
        Ok(())
    }

    fn accept(&mut self, number: usize) -> Result<(), String> {
        for place in 0..self.nodes[number].listeners.len() {
            let listener = self.nodes[number].listeners[place];
            while let Some(id) = self.nodes[number].host.accept(listener) {
                let Some(ends) = self.nodes[number].host.endpoints(id) else { continue };
                let from = match &self.nodes[number].gateway {
                    Some(gateway) => gateway.number_of(ends.remote.ip()),
                    None => self.plan.hosts.iter().position(|host| host.address == ends.remote.ip()),
                };
                let shift = from.map_or(0, |from| BoxPlan::port_shift(&self.plan.paths[from][number].boxes));
                let port = ends.remote.port().wrapping_sub(shift);
                let n = self.plan.flows.iter().position(|flow| {
                    from == Some(flow.ends[0]) && flow.ends[1] == number && flow.port == port
                });
                match n {
                    Some(n) if self.flows[n].sides[1].id.is_none() && !self.flows[n].sides[1].released => {
                        self.flows[n].sides[1].opened(id, self.now);
                        self.known[number].insert(id, (n, 1));
                    }
                    // An old SYN that comes late may open one anew; so may one that a lie ended.
                    Some(_) => self.dismiss(number, id)?,
                    None => {
                        return Err(format!(
                            "host {number} accepts a connection that no host opened: {ends:?}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn dismiss(&mut self, number: usize, id: ConnectionId) -> Result<(), String> {
        let clock = self.clock(number);
        let host = &mut self.nodes[number].host;
        host.abort(clock, id).map_err(|error| error.to_string())?;
        host.release(clock, id);
        Ok(())
    }

    fn carry_away(&mut self, number: usize, burst: &mut usize) -> Result<usize, String> {
        let clock = self.clock(number);
        let mut buffer = vec![0; 65_536];
        let mut sent = 0;
        loop {
            let node = &mut self.nodes[number];
            let from = node.outer;
            if let Some(Transmit { len, .. }) = node.host.poll_transmit(clock, &mut buffer) {
                let packet = &buffer[..len];
                self.tape.sent(number, self.now, packet);
                self.carry(number, packet)?;
            } else if let Some((outer, datagram)) =
                node.gateway.as_mut().and_then(|gateway| gateway.poll_own(from))
            {
                self.send_datagram(number, outer, datagram, Vec::new(), None)?;
            } else {
                return Ok(sent);
            }
            sent += 1;
            *burst += 1;
            if *burst > LARGEST_BURST {
                return Err(format!("host {number} sends and sends; {}", self.describe()));
            }
        }
    }

    /// A packet leaves host `number`.
    fn carry(&mut self, number: usize, packet: &[u8]) -> Result<(), String> {
        let segment = match Segment::parse(packet) {
            Ok(segment) => segment,
            // An answer to an echo request.
            Err(_) if headway_wire::layout(packet).is_none() => return Ok(()),
            Err(error) => return Err(format!("host {number} sends garbage: {error}")),
        };
        if headway_wire::judge(packet) != Ok(headway_wire::Integrity::Intact) {
            return Err(format!("host {number} sends wrong checksums: {}", line(&segment)));
        }
        self.outcome.packets += 1;
        self.outcome.special_acks += u64::from(is_special_ack(&segment));
        self.outcome.digest = digest(self.outcome.digest ^ self.now.as_nanos(), packet);
        let flow = self.flow_of(number, &segment);
        if let Some((n, s)) = flow {
            let ledger = &mut self.flows[n].sides[s].ledger;
            ledger.data_sent += usize::from(segment.sequence_len() > 0);
            // Those that nothing keeps from arriving.
            ledger.syns += u32::from(segment.tcp.flags.contains(TcpFlags::SYN) && self.stage != Stage::Harsh);
        }
        self.amounts.data += segment.payload.len() as u64;
        if self.trace {
            self.say(format_args!("host {number} -> #{} {}", self.numbers + 1, line(&segment)));
        }
        let clock = self.clock(number);
        let node = &mut self.nodes[number];
        if let Some(gateway) = &mut node.gateway {
            match gateway.seal(clock, node.outer, packet)? {
                Some((outer, datagram)) => {
                    let flow = flow.map(|(n, _)| n);
                    self.send_datagram(number, outer, datagram, packet.to_vec(), flow)?;
                }
                None => self.amounts.lost += segment.payload.len() as u64,
            }
            return Ok(());
        }
        let to = self.plan.hosts.iter().position(|host| host.address == segment.ip.dst);
        let Some(to) = to else {
            return self.amounts.count_to((segment.ip.dst, segment.tcp.dst_port).into(), packet.len(), false);
        };
        let len = segment.payload.len() as u64;
        if !self.fits(number, to, packet)? {
            self.amounts.lost += len;
            return Ok(());
        }
        self.send_plain(number, to, packet, flow)
    }

    /// The connection of a segment that host `number` sends, and which end of it the host is.
    fn flow_of(&self, number: usize, segment: &Segment<'_>) -> Option<(usize, usize)> {
        let (source, destination) = (segment.tcp.src_port, segment.tcp.dst_port);
        self.plan.flows.iter().enumerate().find_map(|(n, flow)| {
            let side = if flow.ends[0] == number && destination == LISTEN && source == flow.port {
                0
            } else if flow.ends[1] == number && source == LISTEN {
                let shift = BoxPlan::port_shift(&self.plan.paths[flow.ends[0]][number].boxes);
                (destination.wrapping_sub(shift) == flow.port).then_some(1)?
            } else {
                return None;
            };
            let host = match &self.nodes[number].gateway {
                Some(gateway) => gateway.number_of(segment.ip.dst),
                None => self.plan.hosts.iter().position(|host| host.address == segment.ip.dst),
            };
            (host == Some(flow.ends[1 - side])).then_some((n, side))
        })
    }

    /// Whether a packet is not too long for its path; if it is, its sender is told.
    fn fits(&mut self, from: usize, to: usize, packet: &[u8]) -> Result<bool, String> {
        let path = &self.plan.paths[from][to];
        if packet.len() <= usize::from(path.mtu) {
            return Ok(true);
        }
        // An ICMP message may be lost too.
        if !path.is_black_hole && (self.stage != Stage::Harsh || self.rng.permille(700)) {
            let message = too_big(packet, path.mtu);
            self.numbers += 1;
            self.told.insert((self.now + self.plan.healed.delay, self.numbers), (from, message));
        }
        Ok(false)
    }

    fn send_plain(
        &mut self,
        from: usize,
        to: usize,
        packet: &[u8],
        flow: Option<(usize, usize)>,
    ) -> Result<(), String> {
        let mut packets = vec![packet.to_vec()];
        if let Some((n, s)) = flow
            && self.plan.flows[n].liar == Some(s)
            && self.stage == Stage::Harsh
        {
            packets = packets.into_iter().map(|packet| self.lie(packet)).collect();
        }
        let boxes = &self.plan.paths[from][to].boxes;
        let mut order: Vec<usize> = (0..boxes.len()).collect();
        if from > to {
            order.reverse();
        }
        for place in order {
            let passed = packets.into_iter().flat_map(|packet| boxes[place].pass(from, to, packet));
            packets = passed.collect();
        }
        for bytes in packets {
            self.numbers += 1;
            let flow = flow.map(|(n, _)| n);
            let sent = Sent {
                bytes: bytes.clone(),
                number: self.numbers,
                from,
                flow,
                inner: Vec::new(),
                is_forged: false,
            };
            self.enqueue(from, to, Wire { bytes, outer: None, sent: Rc::new(sent) });
        }
        Ok(())
    }

    /// A datagram leaves host `number`, to whoever has its outer address.
    pub(super) fn send_datagram(
        &mut self,
        number: usize,
        outer: Outer,
        datagram: Vec<u8>,
        inner: Vec<u8>,
        flow: Option<usize>,
    ) -> Result<(), String> {
        // Keys are drawn by the system, and what is sealed differs.
        self.outcome.digest =
            digest(self.outcome.digest ^ datagram.len() as u64, &[outer.has_checksum.into()]);
        let payload = Segment::parse(&inner).map_or(0, |segment| segment.payload.len() as u64);
        let to = self.outers.iter().position(|&at| at == outer.to);
        let Some(to) = to else {
            self.amounts.lost += payload;
            if !self.proven.contains_key(&outer.to) {
                return self.amounts.count_to(outer.to, datagram.len(), true);
            }
            return Ok(());
        };
        let path = &self.plan.paths[number][to];
        if datagram.len() + 28 > usize::from(path.mtu) || path.drops_unchecked && !outer.has_checksum {
            self.amounts.lost += payload;
            return Ok(());
        }
        self.numbers += 1;
        let sent = Sent {
            bytes: datagram.clone(),
            number: self.numbers,
            from: number,
            flow,
            inner,
            is_forged: false,
        };
        let sent = Rc::new(sent);
        if self.next_attack.is_some() {
            self.seen.push_back((number, to, sent.clone()));
            if self.seen.len() > REMEMBERED {
                self.seen.pop_front();
            }
        }
        self.enqueue(number, to, Wire { bytes: datagram, outer: Some(outer), sent });
        Ok(())
    }

    pub(super) fn enqueue(&mut self, from: usize, to: usize, wire: Wire) {
        let len = data_len(&wire) as u64;
        if !self.channels[from][to].send(self.now, wire) {
            self.amounts.lost += len;
        }
    }

    /// What a side says of what has arrived is changed.
    fn lie(&mut self, mut packet: Vec<u8>) -> Vec<u8> {
        let Ok(segment) = Segment::parse(&packet) else { return packet };
        if segment.tcp.flags.intersects(TcpFlags::SYN | TcpFlags::RST) || !self.rng.permille(300) {
            return packet;
        }
        let has_sums = segment.options.hack.is_some() || segment.options.v2.is_some();
        let (kind, by) = (self.rng.below(4), self.rng.between(1, 20_000_u32));
        let (ip, mut tcp, mut options) = (segment.ip, segment.tcp, segment.options);
        match kind {
            0 => tcp.ack += by,
            1 => {
                let first = tcp.ack + by;
                options.sack.clear();
                options.sack.push((first, first + self.rng.between(1, 5_000_u32)));
            }
            2 => tcp.window = self.rng.pick(&[0, 1, 100, 65_535]),
            _ => {
                if let Some(times) = &mut options.timestamps {
                    times.tsecr = times.tsecr.wrapping_sub(by);
                }
            }
        }
        let mut changed = vec![0; packet.len() + 60];
        let payload = (segment.payload, &[][..]);
        let Ok(len) = headway_wire::emit(&mut changed, &ip, &tcp, &options, payload) else { return packet };
        changed.truncate(len);
        if has_sums && headway_wire::judge(&changed) != Ok(headway_wire::Integrity::Intact) {
            // As a box does it.
            if let Some(mut whole) = Rewrite::new(&mut packet) {
                whole.set(14, tcp.window);
                whole.finish();
            }
            return packet;
        }
        changed
    }
}

/// How much data a packet has.
pub(super) fn data_len(wire: &Wire) -> usize {
    let whole = if wire.outer.is_some() { &wire.sent.inner } else { &wire.sent.bytes };
    Segment::parse(whole).map_or(0, |segment| segment.payload.len())
}

/// A router says that `packet` is too long for a path of `mtu` bytes (RFC 1191, 4; RFC 4443, 3.2).
fn too_big(packet: &[u8], mtu: u16) -> Vec<u8> {
    let segment = Segment::parse(packet).expect("a host has sent it");
    let router = match segment.ip.src {
        std::net::IpAddr::V4(_) => "192.0.2.99".parse().expect("an address"),
        std::net::IpAddr::V6(_) => "fd00::99".parse().expect("an address"),
    };
    let (start, word) = match segment.ip.src {
        std::net::IpAddr::V4(_) => ([3, 4], u32::from(mtu)),
        std::net::IpAddr::V6(_) => ([2, 0], u32::from(mtu)),
    };
    let quoted = &packet[..packet.len().min(segment.header_len + 8)];
    icmp(&ip(router, segment.ip.src), start, word.to_be_bytes(), quoted)
}
