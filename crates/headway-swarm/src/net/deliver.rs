//! Packets that arrive.

use headway_tcp::Host;
use headway_wire::{ChecksumTrust, Received, Segment};

use super::drive::data_len;
use super::middlebox::BoxPlan;
use super::wire::Wire;
use super::world::World;
use crate::text::line;

impl World {
    /// Everything arrives that is due.
    pub(super) fn deliver(&mut self) -> Result<(), String> {
        while let Some(entry) = self.told.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, message) = entry.remove();
            self.hand_in(to, &message);
        }
        for to in 0..self.nodes.len() {
            for from in 0..self.nodes.len() {
                if from != to {
                    self.deliver_between(from, to)?;
                }
            }
        }
        Ok(())
    }

    fn deliver_between(&mut self, from: usize, to: usize) -> Result<(), String> {
        let mut any = false;
        let mut arrived: Vec<Wire> = Vec::new();
        while let Some(wire) = self.channels[from][to].poll(self.now) {
            arrived.push(wire);
        }
        let boxes = &self.plan.paths[from][to].boxes;
        if arrived.len() > 1 && boxes.iter().any(|plan| matches!(plan, BoxPlan::Join(_))) {
            arrived = BoxPlan::join(boxes, arrived);
        }
        for wire in arrived {
            any = true;
            if self.nodes[to].stalled.is_some() {
                self.nodes[to].waiting.push(wire);
                continue;
            }
            self.arrive(to, wire)?;
            // A carrier may hand over several packets before it asks for answers.
            if !self.plan.batches {
                self.serve(to)?;
            }
        }
        if any && self.plan.batches {
            self.serve(to)?;
        }
        Ok(())
    }

    /// A packet arrives at host `to`.
    pub(super) fn arrive(&mut self, to: usize, wire: Wire) -> Result<(), String> {
        let is_damaged = wire.is_damaged();
        if is_damaged {
            self.amounts.lost += data_len(&wire) as u64;
        }
        if let Some(n) = wire.sent.flow
            && let Some(s) = self.plan.flows[n].ends.iter().position(|&end| end == to)
        {
            self.flows[n].last_arrivals[s] = self.now;
        }
        let Some(outer) = wire.outer else {
            return self.arrive_plain(to, &wire, is_damaged);
        };
        // An address that the gateway has no longer.
        if outer.to != self.nodes[to].outer {
            return Ok(());
        }
        // UDP's checksum sees what is flipped.
        if is_damaged && outer.has_checksum {
            return Ok(());
        }
        if !self.proven.contains_key(&outer.from) {
            self.amounts.count_from(outer.from, wire.bytes.len());
        }
        let clock = self.clock(to);
        let node = &mut self.nodes[to];
        let Some(gateway) = &mut node.gateway else { return Ok(()) };
        let opened = gateway.open(clock, &wire, outer)?;
        gateway.tell(clock, &mut node.host);
        if let Some(opened) = opened {
            self.outcome.corrupted +=
                u64::from(opened.verdict == headway_trunk_proto::SegmentIntegrity::Corrupted);
            self.tape.received(to, self.now, &opened.packet, is_damaged);
            if self.trace {
                let what = Segment::parse(&opened.packet)
                    .map_or_else(|_| "unreadable".into(), |segment| line(&segment));
                self.say(format_args!("host {to} <- #{} {:?} {what}", wire.sent.number, opened.verdict));
            }
            opened.hand_in(clock, &mut self.nodes[to].host);
        }
        Ok(())
    }

    fn arrive_plain(&mut self, to: usize, wire: &Wire, is_damaged: bool) -> Result<(), String> {
        self.tape.received(to, self.now, &wire.bytes, is_damaged);
        let received = Received::parse(&wire.bytes, ChecksumTrust::None);
        if let Received::Intact(now) = &received
            && is_damaged
            && Segment::parse(&wire.sent.bytes).ok().as_ref() != Some(now)
        {
            // Damage that no checksum sees is the subject of the worlds of two hosts.
            return Ok(());
        }
        if let (Received::Intact(segment), true) = (&received, wire.sent.is_forged)
            && !self.plan.hosts.iter().any(|host| host.address == segment.ip.src)
        {
            self.amounts.count_from((segment.ip.src, segment.tcp.src_port).into(), wire.bytes.len());
        }
        self.outcome.corrupted += u64::from(matches!(received, Received::Corrupted(_)));
        if self.trace {
            let what =
                Segment::parse(&wire.bytes).map_or_else(|_| "unreadable".into(), |segment| line(&segment));
            let damage = if is_damaged { ", damaged" } else { "" };
            self.say(format_args!("host {to} <- #{} {what}{damage}", wire.sent.number));
        }
        self.hand_in(to, &wire.bytes);
        Ok(())
    }

    /// Hands a packet to a host as a carrier does.
    pub(super) fn hand_in(&mut self, to: usize, packet: &[u8]) {
        let clock = self.clock(to);
        Host::receive(&mut self.nodes[to].host, clock, &Received::parse(packet, ChecksumTrust::None));
    }
}
