//! The attacker.

use headway_net::Clock;
use headway_net::packet_socket::PacketSocket;
use headway_test_fixture::packet;
use headway_test_fixture::process::wait_until;
use headway_test_fixture::rng::Rng;
use headway_wire::icmp::ICMP;
use headway_wire::{Segment, TcpFlags, ip::Datagram};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::mutation::{LastPacket, damage, icmp, ip, noise, replayed, segment};

/// Packets per seed, and packets before waiting for the stack.
const PACKETS: usize = 5_000;
const AT_ONCE: usize = 50;

pub(crate) struct Attacker {
    socket: PacketSocket,
    clock: Clock,
    recorded: Vec<Vec<u8>>,
    last: LastPacket,
    sent: usize,
    pings: u16,
}

impl Attacker {
    /// An attacker on the kernel's side of the TUN.
    pub(crate) fn new(recorded: Vec<Vec<u8>>) -> Self {
        let tcp = packet::tcp(80, 1000, TcpFlags::SYN);
        let last = LastPacket { family: 0, tcp, timestamp: 0, bytes: vec![0x45; 40] };
        let socket = PacketSocket::open("hw0", 2048).unwrap();
        Self { socket, clock: Clock::new(), recorded, last, sent: 0, pings: 0 }
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    pub(crate) fn attack(&mut self, seed: u64) {
        let chance = &mut Rng::new(seed);
        let mut next = chance.below(self.recorded.len());
        for count in 0..PACKETS {
            // Conversations continue in order, or jump.
            next = if chance.below(10) == 0 { chance.below(self.recorded.len()) } else { next + 1 };
            let recorded = self.recorded[next % self.recorded.len()].clone();
            let mut packet = match chance.below(10) {
                0 => noise(chance),
                1..=4 => segment(chance, &self.last),
                5 => icmp(chance, &self.last),
                _ => replayed(chance, &recorded, &self.last),
            };
            if chance.below(2) == 0 {
                damage(chance, &mut packet, &recorded);
            }
            self.send(&packet);
            if count % AT_ONCE == 0 {
                self.wait_for_answer();
            }
            if chance.next().is_multiple_of(4) {
                self.listen();
            }
        }
    }

    fn send(&mut self, packet: &[u8]) {
        let Some(slot) = self.socket.slot() else { panic!("the batch was flushed") };
        slot[..packet.len()].copy_from_slice(packet);
        self.socket.queue(packet.len());
        self.sent += 1;
        while !self.socket.flush().unwrap() {
            self.wait_for(PollFlags::OUT);
        }
    }

    /// Reads the packets of the stack; returns whether the answer to the last ping is among them.
    fn listen(&mut self) -> bool {
        let mut answered = false;
        while self.socket.fill(&self.clock).unwrap() > 0 {
            for index in 0..self.socket.len() {
                let bytes = self.socket.frame(index).bytes;
                if let Ok(segment) = Segment::parse(bytes) {
                    let timestamp = segment.options.timestamps.map_or(0, |stamps| stamps.tsval);
                    let family = usize::from(segment.ip.dst.is_ipv6());
                    self.last = LastPacket { family, tcp: segment.tcp, timestamp, bytes: bytes.to_vec() };
                } else if let Ok(Datagram { protocol: ICMP, body, .. }) = Datagram::parse(bytes) {
                    answered |= body.first() == Some(&0) && body.get(6..8) == Some(&self.pings.to_be_bytes());
                }
            }
        }
        answered
    }

    /// An answered ping shows that the stack is alive; a ping may be lost, or exceed the rate of answers.
    fn wait_for_answer(&mut self) {
        wait_until("an answer of the stack", || {
            self.pings = self.pings.wrapping_add(1);
            self.send(&ping(self.pings));
            while self.wait_for(PollFlags::IN) {
                if self.listen() {
                    return true;
                }
            }
            false
        });
    }

    /// Whether the socket is ready for it within 10 ms.
    fn wait_for(&self, flags: PollFlags) -> bool {
        let socket = self.socket.fd();
        let timeout = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        poll(&mut [PollFd::new(&socket, flags)], Some(&timeout)).unwrap() > 0
    }
}

fn ping(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    packet::icmp(&ip(0), [8, 0], [0, 1, high, low], &[])
}
