//! What an idle connection costs.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use headway_units::{Duration, Instant};
use headway_wire::{ChecksumTrust, Received};

use super::connections::HeldConnection;
use super::{Host, HostConfig, Transmit};
use crate::congestion::{CongestionDomain, Reno};
use crate::path::table::PathEntry;
use crate::profile::{HackMode, Profile};

/// Heap bytes that an idle connection may cost beyond its buffers.
const LIMIT: usize = 2048;

/// Lets one host send what it has to send to the other, with every third data packet damaged in its
/// payload. Says whether there was any.
fn carry(hosts: &mut [Host; 2], from: usize, now: Instant, count: &mut u32) -> bool {
    let mut buffer = [0; 1500];
    let mut packets = Vec::new();
    while let Some(Transmit { len, .. }) = hosts[from].poll_transmit(now, &mut buffer) {
        packets.push(buffer[..len].to_vec());
    }
    for packet in &mut packets {
        *count += 1;
        if packet.len() > 200
            && count.is_multiple_of(3)
            && let Some(last) = packet.last_mut()
        {
            *last ^= 1;
        }
        hosts[1 - from].receive(now, &Received::parse(packet, ChecksumTrust::None));
    }
    !packets.is_empty()
}

#[test]
fn an_idle_connection_is_small() {
    let profile = Arc::new(Profile { hack: HackMode::Xhack, ..Profile::standard() });
    let address = |n| IpAddr::from(Ipv4Addr::new(192, 0, 2, n));
    let mut hosts = [1, 2].map(|n| Host::new(HostConfig::new(address(n), [n; 16])));
    let listener = hosts[1].listen((address(2), 80).into(), 1, profile.clone()).unwrap();
    let mut now = Instant::from_nanos(1_000_000_000);
    let client = hosts[0].connect(now, (address(1), 0).into(), (address(2), 80).into(), profile).unwrap();
    let (mut count, mut server, mut left, mut received) = (0, None, 4_000_000_usize, 0);
    let mut damage_retransmissions = 0;
    for _ in 0..20_000 {
        now += Duration::from_millis(5);
        for host in &mut hosts {
            host.handle_timeout(now);
        }
        let n = left.min(100_000);
        left -= hosts[0].write(client, &alloc::vec![0; n]).unwrap();
        let busy = carry(&mut hosts, 0, now, &mut count) | carry(&mut hosts, 1, now, &mut count);
        server = server.or_else(|| hosts[1].accept(listener));
        if let Some(server) = server {
            let n = hosts[1].readable(server);
            received += n;
            hosts[1].consume(server, n);
        }
        damage_retransmissions = hosts[0].statistics(client).unwrap().damage_retransmissions;
        if !busy && received == 4_000_000 {
            break;
        }
    }
    assert_eq!(received, 4_000_000);
    assert!(damage_retransmissions > 100, "the bookkeeping of damage was in use");
    let fixed = size_of::<HeldConnection>()
        + size_of::<PathEntry>()
        + size_of::<CongestionDomain>()
        + size_of::<Reno>();
    for (host, id) in [(&hosts[0], client), (&hosts[1], server.unwrap())] {
        let connection = host.connection(id).unwrap();
        let cost = fixed + connection.allocated() - connection.buffers();
        assert!(cost <= LIMIT, "{cost} bytes, {fixed} of them fixed");
    }
}
