//! A peer is restarted, and what its new process sends arrives together with the news.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use headway_net::{Arrival, Carrier, CarrierProperties, Clock, Housekeeping, Stack, StackConfig};
use headway_tcp::Transmit;
use headway_units::Instant;
use headway_wire::{ChecksumTrust, IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};

const OURS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const THEIRS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const PORT: u16 = 1;

/// Packets are datagrams of a socket. The first batch of them comes from a process that took the place of another.
struct News {
    socket: UnixDatagram,
    arrived: Vec<(Vec<u8>, Instant)>,
    slot: Vec<u8>,
    is_restarted: Option<bool>,
}

impl Carrier for News {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        1500
    }

    fn name(&self) -> String {
        "a socket".into()
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties::default()
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.arrived.clear();
        let mut packet = [0; 1500];
        while let Ok(len) = self.socket.recv(&mut packet) {
            self.arrived.push((packet[..len].to_vec(), clock.now()));
            self.is_restarted.get_or_insert(true);
        }
        Ok(self.arrived.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        packets
            .extend(self.arrived.iter().map(|(packet, at)| Arrival::new(packet, *at, ChecksumTrust::None)));
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        Some(&mut self.slot)
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        self.socket.send(&self.slot[..len]).expect("sent");
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

impl Housekeeping for News {
    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        let is_news = self.is_restarted == Some(true);
        self.is_restarted = self.is_restarted.map(|_| false);
        if is_news { vec![THEIRS.into()] } else { Vec::new() }
    }
}

#[test]
fn a_connection_that_the_new_process_opens_is_not_reset_with_the_old_ones() {
    let (socket, outside) = UnixDatagram::pair().expect("sockets");
    socket.set_nonblocking(true).expect("an option");
    outside.set_read_timeout(Some(Duration::from_secs(60))).expect("an option");
    let carrier = News { socket, arrived: Vec::new(), slot: vec![0; 1500], is_restarted: None };
    let addresses = vec![OURS.into()];
    let stack = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() }).expect("a stack");
    let _listener = stack.listen(SocketAddr::new(OURS.into(), PORT), 4).expect("a listener");

    let ip = IpHeader::new(THEIRS.into(), OURS.into());
    let tcp = TcpHeader {
        src_port: 50_000,
        dst_port: PORT,
        seq: SeqNumber(7),
        flags: TcpFlags::SYN,
        window: 1000,
        ..TcpHeader::default()
    };
    let mut packet = [0; 100];
    let len = emit(&mut packet, &ip, &tcp, &TcpOptions::default(), (&[], &[])).expect("a packet");
    outside.send(&packet[..len]).expect("sent");
    let mut answer = [0; 1500];
    let len = outside.recv(&mut answer).expect("an answer");
    let Received::Intact(answer) = Received::parse(&answer[..len], ChecksumTrust::None) else {
        panic!("a segment")
    };
    assert_eq!(answer.tcp.flags, TcpFlags::SYN | TcpFlags::ACK);
}
