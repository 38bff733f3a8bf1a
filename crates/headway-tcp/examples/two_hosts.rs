//! Two hosts in memory: a transfer over a path that corrupts, in virtual time.
//!
//! ```sh
//! cargo run -p headway-tcp --example two_hosts
//! ```
//!
//! The path takes 50 ms in each direction and flips one bit in every tenth packet with data. With HACK v2 the
//! server reports each of them, and the client retransmits it at once: no window is reduced for corruption,
//! and nothing waits for a timeout.

use std::collections::VecDeque;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use headway_tcp::{Host, HostConfig, Profile, Transmit, Variant};
use headway_units::{Duration, Instant};
use headway_wire::{ChecksumTrust, Received};

/// Bytes to be transferred.
const SIZE: usize = 1_000_000;
const ONE_WAY_DELAY: Duration = Duration::from_millis(50);
/// A packet that is longer has data.
const LONGEST_HEADERS: usize = 80;

fn main() -> Result<(), Box<dyn Error>> {
    let [client_address, server_address] = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
    // What a connection is configured with: here headway's own sender and receiver, with HACK v2.
    let profile = Arc::new(Variant::Headway.apply(Profile::modern()));
    // From the secret follow sequence numbers that others cannot guess: a real host draws it at random.
    let mut client = Host::new(HostConfig::new(client_address, [1; 16]));
    let mut server = Host::new(HostConfig::new(server_address, [2; 16]));

    // A host reads no clock: every call that needs the time is given it.
    let mut now = Instant::ZERO;
    let listener = server.listen((server_address, 80).into(), 4, profile.clone())?;
    // Port 0: the host chooses one.
    let id = client.connect(now, (client_address, 0).into(), (server_address, 80).into(), profile)?;

    let data: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    let (mut written, mut received) = (0, Vec::new());
    let mut accepted = None;
    // Packets on the path: when they arrive, whether at the server, and their bytes.
    let mut in_flight: VecDeque<(Instant, bool, Vec<u8>)> = VecDeque::new();
    let (mut with_data, mut corrupted) = (0, 0);

    while received.len() < SIZE {
        // The programs write what the host takes and read what it has.
        written += client.write(id, &data[written..])?;
        accepted = accepted.or_else(|| server.accept(listener));
        if let Some(id) = accepted {
            let (first, second) = server.peek(id);
            let len = first.len() + second.len();
            received.extend_from_slice(first);
            received.extend_from_slice(second);
            server.consume(id, len);
        }

        // The hosts send: after every call that may have given them a reason to, until there is nothing left.
        let mut buffer = [0; 1500];
        for (host, to_server) in [(&mut client, true), (&mut server, false)] {
            while let Some(Transmit { len, .. }) = host.poll_transmit(now, &mut buffer) {
                let mut packet = buffer[..len].to_vec();
                if len > LONGEST_HEADERS {
                    with_data += 1;
                    if with_data % 10 == 0 {
                        corrupted += 1;
                        packet[len / 2] ^= 1;
                    }
                }
                in_flight.push_back((now + ONE_WAY_DELAY, to_server, packet));
            }
        }

        // Time passes until a packet arrives or a timer expires.
        let arrival = in_flight.front().map(|(at, ..)| *at);
        let next = [arrival, client.next_deadline(), server.next_deadline()];
        now = next.into_iter().flatten().min().ok_or("nothing can happen any more")?.max(now);
        let due = in_flight.iter().take_while(|(at, ..)| *at <= now).count();
        for (_, to_server, packet) in in_flight.drain(..due) {
            // The checksums say what has become of the packet.
            let packet = Received::parse(&packet, ChecksumTrust::None);
            if to_server { server.receive(now, &packet) } else { client.receive(now, &packet) }
        }
        client.handle_timeout(now);
        server.handle_timeout(now);
    }

    assert_eq!(received, data);
    let statistics = client.statistics(id).ok_or("the connection is still there")?;
    println!(
        "{SIZE} bytes in {}, {corrupted} of {with_data} packets with data were corrupted",
        now.saturating_since(Instant::ZERO)
    );
    println!(
        "{} retransmissions for corruption, {} timeouts",
        statistics.damage_retransmissions, statistics.timeouts
    );
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
