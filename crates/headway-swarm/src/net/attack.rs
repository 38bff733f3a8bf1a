//! Attackers. One who does not see the traffic knows addresses and ports, and guesses the rest. One who sees that of a tunnel
//! sends datagrams again, at any time, from any place, and changes them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use headway_test_fixture::packet::{headers, icmp, ip, segment};
use headway_units::Duration;
use headway_wire::{SeqNumber, TcpFlags, TcpOptions};

use super::middlebox::BoxPlan;
use super::plan::LISTEN;
use super::sealed::index_and_number;
use super::stages::Stage;
use super::wire::{Outer, Sent, Wire};
use super::world::World;

/// How many numbers a replay window holds, about.
const WINDOW: u32 = 8192;
/// The type of a datagram that begins a handshake.
const INITIATION: u8 = 1;

impl World {
    /// Attacks, if it is time for that.
    pub(super) fn attack(&mut self) -> Result<(), String> {
        if self.next_attack.is_none_or(|at| at > self.now) {
            return Ok(());
        }
        let gap = self.plan.attack_gap.unwrap_or(Duration::from_secs(1));
        let micros = self.attacker.between(1, gap.as_micros() * 2);
        // There is an end to it.
        self.next_attack = (self.stage == Stage::Harsh).then(|| self.now + Duration::from_micros(micros));
        self.outcome.attacks += 1;
        if self.plan.is_sealed { self.repeat() } else { self.forge() }
    }

    /// A forged packet arrives at an end of a connection.
    fn forge(&mut self) -> Result<(), String> {
        if self.plan.flows.is_empty() {
            return Ok(());
        }
        let rng = &mut self.attacker;
        let flow = &self.plan.flows[rng.below(self.plan.flows.len())];
        let side = rng.below(2_usize);
        let (to, from) = (flow.ends[side], flow.ends[1 - side]);
        let shift = BoxPlan::port_shift(&self.plan.paths[from][to].boxes);
        // A client behind a translator has its own port.
        let ports = if side == 0 { [LISTEN, flow.port] } else { [flow.port.wrapping_add(shift), LISTEN] };
        let hosts = &self.plan.hosts;
        let mut ends =
            [SocketAddr::new(hosts[from].address, ports[0]), SocketAddr::new(hosts[to].address, ports[1])];
        let guess = SeqNumber(rng.next() as u32);
        let kind = rng.below(8);
        let mut packet = match kind {
            0..=5 => {
                let flags = match kind {
                    0 => TcpFlags::RST,
                    1 => TcpFlags::SYN,
                    2 => TcpFlags::ACK | TcpFlags::PSH,
                    3 => TcpFlags::ACK | TcpFlags::FIN,
                    4 => TcpFlags::ACK,
                    _ => TcpFlags::RST | TcpFlags::ACK,
                };
                // A SYN that meets one makes a simultaneous open of it (RFC 9293, 3.5): who knows the port of a client that is
                // opening a connection can end that.
                if kind == 1 && (side == 0 || rng.coin()) {
                    // From an address that no one has.
                    ends[0] = SocketAddr::new(nowhere(ends[0].ip(), rng.below(8)), rng.between(1024, 60_000));
                    ends[1].set_port(LISTEN);
                }
                let (ip, mut tcp) = headers(ends[0], ends[1], flags);
                tcp.seq = guess;
                tcp.ack = SeqNumber(rng.next() as u32);
                tcp.window = rng.next() as u16;
                let len = if kind == 2 { rng.between(1, 100) } else { 0 };
                segment(&ip, &tcp, &TcpOptions::default(), &vec![0xee; len])
            }
            _ => {
                // A message about a segment that may be in flight.
                let (inner, mut tcp) = headers(ends[1], ends[0], TcpFlags::ACK);
                tcp.seq = guess;
                let quoted = segment(&inner, &tcp, &TcpOptions::default(), &[0; 20]);
                let start = if ends[0].is_ipv4() { rng.pick(&[[3, 4], [3, 3], [3, 1]]) } else { [2, 0] };
                icmp(&ip(ends[0].ip(), ends[1].ip()), start, [0, 0, 2, 0], &quoted)
            }
        };
        if rng.permille(200) {
            let len = rng.between(1, packet.len());
            packet.truncate(len);
        }
        if rng.permille(200) {
            rng.flip_bit(&mut packet);
        }
        self.numbers += 1;
        let number = self.numbers;
        let sent =
            Sent { bytes: packet.clone(), number, from, flow: None, inner: Vec::new(), is_forged: true };
        self.receive_attack(to, Wire { bytes: packet, outer: None, sent: Rc::new(sent) })
    }

    /// A datagram that was seen is sent again.
    fn repeat(&mut self) -> Result<(), String> {
        let len = self.seen.len();
        if len == 0 {
            return Ok(());
        }
        let rng = &mut self.attacker;
        let recent = len - 1 - rng.below(len.min(20));
        let (kind, behind) = (rng.below(4), rng.between(WINDOW - 100, WINDOW + 10));
        let place = match kind {
            0 => recent,
            // Where the window ends.
            1 => self.seen_before(recent, behind).unwrap_or(recent),
            _ => rng.below(len),
        };
        let rng = &mut self.attacker;
        let (from, to, sent) = self.seen[place].clone();
        let mut bytes = sent.bytes.clone();
        match rng.below(4) {
            0 => rng.flip_bit(&mut bytes),
            1 => {
                let len = rng.between(1, bytes.len());
                bytes.truncate(len);
            }
            _ => {}
        }
        let source = match rng.below(3) {
            0 => self.nodes[from].outer,
            1 => {
                SocketAddr::new(nowhere(self.nodes[from].outer.ip(), rng.below(8)), rng.between(1024, 60_000))
            }
            _ => SocketAddr::new(self.nodes[from].outer.ip(), rng.between(1024, 60_000)),
        };
        let outer = Outer { from: source, to: self.nodes[to].outer, has_checksum: false };
        // Whoever sends a datagram first from another place may be taken for the peer.
        if source != self.nodes[from].outer && !self.has_passed(to, &sent) {
            return Ok(());
        }
        self.receive_attack(to, Wire { bytes, outer: Some(outer), sent })
    }

    /// Where the datagram is that was sealed `behind` packets before the one at `place`, in the same session.
    fn seen_before(&self, place: usize, behind: u32) -> Option<usize> {
        let (from, to, last) = &self.seen[place];
        let (index, number) = index_and_number(&last.bytes)?;
        let wanted = Some((index, number.checked_sub(behind)?));
        let is_it = |(its_from, its_to, sent): &(usize, usize, Rc<Sent>)| {
            its_from == from && its_to == to && index_and_number(&sent.bytes) == wanted
        };
        self.seen.iter().position(is_it)
    }

    /// Whether a datagram is behind what its receiver has taken, or begins a handshake.
    fn has_passed(&self, to: usize, sent: &Sent) -> bool {
        self.plan.features.has(crate::Feature::Spoof)
            || sent.bytes.first() == Some(&INITIATION)
            || self.nodes[to].gateway.as_ref().is_some_and(|gateway| gateway.has_passed(sent))
    }

    fn receive_attack(&mut self, to: usize, wire: Wire) -> Result<(), String> {
        if self.nodes[to].stalled.is_some() {
            return Ok(());
        }
        self.arrive(to, wire)?;
        self.serve(to)
    }
}

/// An address of no host.
fn nowhere(like: IpAddr, number: u8) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(203, 0, 113, number)),
        IpAddr::V6(_) => format!("2001:db8::{number:x}").parse().expect("an address"),
    }
}
