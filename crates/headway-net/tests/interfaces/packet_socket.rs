//! Frames of an interface.

use std::net::UdpSocket;

use headway_net::Clock;
use headway_net::packet_socket::{
    ChecksumPlace, ETHERNET_HEADER, FrameChecksum, Framing, Offload, PacketSocket,
};
use headway_test_fixture::process::wait_until;
use headway_units::Duration;
use socket2::SockRef;

use super::cable::{IPV4, MACS, Station, connect, frame, in_namespace, ip, wait, wait_until_up};

/// The number in a frame.
fn numbered(number: u16) -> Vec<u8> {
    frame(MACS[0], MACS[1], [0x88, 0xb5], &number.to_be_bytes())
}

#[test]
fn frames_are_received_in_batches_and_in_order() {
    in_namespace(|| {
        connect("hw1", "hw2");
        let mut socket = PacketSocket::open("hw1", 1514).expect("an interface");
        let (clock, station) = (Clock::new(), Station::at("hw2"));
        assert_eq!(socket.fill(&clock).expect("an interface"), 0);
        assert!(socket.is_empty());
        for number in 0..100 {
            station.send(&numbered(number));
        }
        let before = clock.now();
        for numbers in [0..64, 64..100] {
            wait(socket.fd());
            let count = socket.fill(&clock).expect("an interface");
            assert_eq!((count, socket.len(), socket.is_empty()), (numbers.len(), numbers.len(), false));
            for (index, number) in numbers.enumerate() {
                let frame = socket.frame(index);
                assert_eq!(frame.bytes, numbered(number));
                assert!(
                    frame.at <= clock.now() && before.saturating_since(frame.at) < Duration::from_secs(60)
                );
                assert_eq!((frame.checksum, frame.vlan, frame.whole), (FrameChecksum::Final, None, true));
            }
        }
        assert_eq!(socket.drops().expect("a packet socket"), 0);
        assert_eq!(socket.unreadable(), 0);
    });
}

#[test]
fn frames_are_sent_in_batches_and_in_order() {
    in_namespace(|| {
        connect("hw1", "hw2");
        let mut socket = PacketSocket::open("hw1", 1514).expect("an interface");
        let mut station = Station::at("hw2");
        for round in 0..2 {
            for number in 0..64 {
                let slot = socket.slot().expect("room");
                assert_eq!(slot.len(), 1514);
                let bytes = numbered(round * 64 + number);
                slot[..bytes.len()].copy_from_slice(&bytes);
                socket.queue(bytes.len());
            }
            assert!(socket.slot().is_none(), "the batch is full");
            assert!(socket.flush().expect("an interface"));
        }
        for number in 0..128 {
            assert_eq!(station.receive(), numbered(number));
        }
    });
}

/// Linux removes the outer tag of a frame.
#[test]
fn the_tag_that_the_interface_removed_is_known() {
    in_namespace(|| {
        connect("hw1", "hw2");
        let (station, mut other) = (Station::at("hw2"), Station::at("hw1"));
        for tag in [[0x81, 0, 0x20, 5], [0x88, 0xa8, 0, 9]] {
            station.send(&[&MACS.concat()[..], &tag, &IPV4, &[0x45; 30]].concat());
            let seen = other.next();
            assert_eq!((seen.vlan, seen.whole), (Some(tag), true));
            assert_eq!(seen.bytes, [&MACS.concat()[..], &IPV4, &[0x45; 30]].concat());
        }
    });
}

/// A kernel leaves checksums to its interface.
#[test]
fn what_is_left_to_the_interface_is_known() {
    in_namespace(|| {
        connect("hw1", "hw2");
        ip("addr add 10.78.0.1/24 dev hw2");
        ip("neigh add 10.78.0.2 lladdr 02:00:00:00:00:01 dev hw2");
        let mut relaying = Station::at("hw1");
        let mut socket = PacketSocket::open("hw1", 1514).expect("an interface");
        let kernel = UdpSocket::bind("10.78.0.1:7").expect("an address");
        kernel.send_to(b"data", "10.78.0.2:9").expect("a route");
        let seen = relaying.next();
        let place = ChecksumPlace { start: ETHERNET_HEADER + 20, offset: 6 };
        assert_eq!(seen.offload, Offload { checksum: Some(place), segments: None });
        assert_eq!(seen.checksum, FrameChecksum::Missing);
        wait(socket.fd());
        assert_eq!(socket.fill(&Clock::new()).expect("an interface"), 1);
        let frame = socket.frame(0);
        assert_eq!((frame.checksum, frame.offload), (FrameChecksum::Missing, Offload::default()));
        assert_eq!(frame.bytes, seen.bytes);
    });
}

#[test]
fn a_relay_gets_frames_for_every_address() {
    in_namespace(|| {
        connect("hw1", "hw2");
        let promiscuity = || ip("-d link show dev hw1").contains("promiscuity 1");
        let relaying = PacketSocket::open_for_relaying("hw1").expect("an interface");
        assert!(promiscuity());
        drop(relaying);
        // A process that another test starts at this moment has the socket too, until it becomes its program.
        wait_until("the end of it", || !promiscuity());
        let _socket = PacketSocket::open("hw1", 1514).expect("an interface");
        assert!(!promiscuity());
    });
}

#[test]
fn the_framing_is_known() {
    in_namespace(|| {
        connect("hw1", "hw2");
        ip("tuntap add tun0 mode tun");
        for (name, expected) in
            [("hw1", Framing::Ethernet), ("tun0", Framing::Ip), ("lo", Framing::Other(772))]
        {
            let socket = PacketSocket::open(name, 1514).expect("an interface");
            assert_eq!(socket.framing().expect("a packet socket"), expected);
            assert_eq!(socket.interface().name, name);
        }
    });
}

#[test]
fn an_interface_may_go_down_and_come_up_until_it_is_removed() {
    in_namespace(|| {
        connect("hw1", "hw2");
        let mut socket = PacketSocket::open("hw1", 1514).expect("an interface");
        let clock = Clock::new();
        ip("link set hw1 down");
        let mut wait_for_error = || {
            wait(socket.fd());
            socket.fill(&clock)
        };
        assert_eq!(wait_for_error().expect("it may come up"), 0);
        assert!(socket.exists());
        ip("link set hw1 up");
        wait_until_up("hw1");
        wait_until_up("hw2");
        let station = Station::at("hw2");
        station.send(&numbered(1));
        wait(socket.fd());
        assert_eq!(socket.fill(&clock).expect("an interface"), 1);
        ip("link del hw1");
        assert!(!socket.exists());
        wait(socket.fd());
        assert!(socket.fill(&clock).is_err(), "it is gone");
        // Another one of this name is not the one that was opened.
        connect("hw1", "hw2");
        assert!(!socket.exists());
    });
}

#[test]
fn what_the_kernel_drops_is_counted() {
    in_namespace(|| {
        connect("hw1", "hw2");
        let socket = PacketSocket::open("hw1", 1514).expect("an interface");
        SockRef::from(&socket.fd()).set_recv_buffer_size(4096).expect("a socket");
        let station = Station::at("hw2");
        for number in 0..100 {
            station.send(&numbered(number));
        }
        let dropped = socket.drops().expect("a packet socket");
        assert!((2..100).contains(&dropped), "{dropped}");
        assert_eq!(socket.drops().expect("a packet socket"), 0, "since the last time");
    });
}
