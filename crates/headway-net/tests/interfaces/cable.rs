//! Two interfaces that are connected, and what a station at one end sends and receives.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::process::Command;

use headway_net::packet_socket::{ETHERNET_HEADER, FrameChecksum, OFFLOAD_HEADER, Offload, PacketSocket};
use headway_net::{Clock, Namespace};
use headway_test_fixture::process::{say_skipped, wait_until};
use headway_units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) type Mac = [u8; 6];

/// The Ethernet addresses of the two ends of a cable.
pub(crate) const MACS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
pub(crate) const BROADCAST: Mac = [0xff; 6];

pub(crate) const IPV4: [u8; 2] = [0x08, 0x00];
pub(crate) const ARP: [u8; 2] = [0x08, 0x06];
pub(crate) const IPV6: [u8; 2] = [0x86, 0xdd];

/// Runs `test` in a namespace of its own. Its kernel does not have IPv6, of which it would send messages by itself.
pub(crate) fn in_namespace(test: impl FnOnce() + Send) {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => return say_skipped("root", &format!("network namespaces: {error}")),
    };
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    let test = || {
        // Of the thread's namespace. A kernel without IPv6 has no such file.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        test();
    };
    namespace.run(&name, test).expect("a thread in the namespace");
}

/// `ip` in the namespace of this thread, which has to succeed; what it printed.
#[track_caller]
pub(crate) fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes two interfaces that are connected, with the addresses of [`MACS`], and sets them up.
pub(crate) fn connect(first: &str, second: &str) {
    let [a, b] = MACS.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":"));
    ip(&format!("link add {first} address {a} type veth peer name {second} address {b}"));
    for name in [first, second] {
        ip(&format!("link set {name} up"));
    }
    [first, second].into_iter().for_each(wait_until_up);
}

/// Waits until what is sent to the interface is not dropped. The kernel comes to know of a carrier a while after it is there.
#[track_caller]
pub(crate) fn wait_until_up(name: &str) {
    let shown = || ip(&format!("link show dev {name}"));
    wait_until(name, || shown().contains("state UP") && shown().contains("qdisc noqueue"));
}

/// Waits until there is something to read: for so long only where a test fails.
#[track_caller]
pub(crate) fn wait(fd: BorrowedFd<'_>) {
    let longest = Timespec { tv_sec: 20, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&longest));
    assert_eq!(ready.expect("a descriptor"), 1, "nothing has arrived");
}

/// A frame from its two addresses, its type and its content.
pub(crate) fn frame(to: Mac, from: Mac, kind: [u8; 2], body: &[u8]) -> Vec<u8> {
    [&to[..], &from, &kind, body].concat()
}

/// What has arrived at a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: Instant,
    pub(crate) checksum: FrameChecksum,
    pub(crate) offload: Offload,
    pub(crate) vlan: Option<[u8; 4]>,
    pub(crate) whole: bool,
}

/// A station at one end of a cable.
pub(crate) struct Station {
    pub(crate) socket: PacketSocket,
    clock: Clock,
    seen: VecDeque<Seen>,
}

impl Station {
    pub(crate) fn at(interface: &str) -> Self {
        let socket = PacketSocket::open_for_relaying(interface).expect("an interface");
        Self { socket, clock: Clock::new(), seen: VecDeque::new() }
    }

    #[track_caller]
    pub(crate) fn send(&self, frame: &[u8]) {
        self.send_with(&[0; OFFLOAD_HEADER], frame);
    }

    /// Sends a frame which the interface has to complete.
    #[track_caller]
    pub(crate) fn send_with(&self, offload: &[u8; OFFLOAD_HEADER], frame: &[u8]) {
        let whole = [&offload[..], frame].concat();
        assert_eq!(self.socket.send([&whole[..]].into_iter()).expect("a cable"), 1);
    }

    /// Waits for the next frame.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Seen {
        while self.seen.is_empty() {
            wait(self.socket.fd());
            for index in 0..self.socket.fill(&self.clock).expect("a cable") {
                let frame = self.socket.frame(index);
                self.seen.push_back(Seen {
                    bytes: frame.bytes.to_vec(),
                    at: frame.at,
                    checksum: frame.checksum,
                    offload: frame.offload,
                    vlan: frame.vlan,
                    whole: frame.whole,
                });
            }
        }
        self.seen.pop_front().expect("one at least")
    }

    /// Waits for the next frame; its bytes.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Vec<u8> {
        self.next().bytes
    }
}

/// A packet of TCP between two ports of these addresses, with sound checksums.
pub(crate) fn segment(from: &str, to: &str, payload: &[u8]) -> Vec<u8> {
    use headway_test_fixture::packet;
    use headway_wire::{TcpFlags, TcpOptions};

    let [from, to] = [from, to].map(|address| address.parse::<std::net::IpAddr>().expect("an address"));
    let (ip, tcp) = packet::headers((from, 1).into(), (to, 2).into(), TcpFlags::ACK);
    packet::segment(&ip, &tcp, &TcpOptions::default(), payload)
}

/// The packet in a frame.
pub(crate) fn packet_in(frame: &[u8]) -> &[u8] {
    &frame[ETHERNET_HEADER..]
}
