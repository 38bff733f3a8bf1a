//! Transfers deliver the bytes that were sent.

use std::io::Write as _;

use headway_tcp::{Profile, Variant};

use crate::pair::{Pair, content, digest, free_ports, receive, send};
use headway_net::UdpConfig;

async fn both_ways(pair: &Pair, len: usize) {
    let (client, server) = pair.connect().await;
    let (up, down) = (content(1, len), content(2, len));
    let (client_in, client_out) = tokio::io::split(client);
    let (server_in, server_out) = tokio::io::split(server);
    let (sent_up, sent_down, got_up, got_down) =
        tokio::join!(send(client_out, &up), send(server_out, &down), receive(server_in), receive(client_in));
    sent_up.unwrap();
    sent_down.unwrap();
    assert_eq!(got_up.unwrap(), (len, digest(&up)));
    assert_eq!(got_down.unwrap(), (len, digest(&down)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_megabytes_each_way_at_once() {
    for variant in [Variant::Modern, Variant::Headway, Variant::XhackSack] {
        let pair = Pair::new(variant.apply(Profile::modern()));
        both_ways(&pair, 10_000_000).await;
        for stack in [pair.client, pair.server] {
            assert_eq!(stack.counters().malformed, 0, "{variant}");
            assert_eq!(stack.counters().unreadable, 0, "{variant}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_ipv6_too() {
    let [a, b] = free_ports().map(|mut address| {
        address.set_ip(std::net::Ipv6Addr::LOCALHOST.into());
        address
    });
    if std::net::UdpSocket::bind(a).is_err() {
        let why = "SKIPPED over_ipv6_too: this machine has no IPv6 on its loopback";
        let _ = writeln!(std::io::stderr(), "{why}");
        return;
    }
    let pair = Pair::between(Profile::modern(), UdpConfig::new(a, b), UdpConfig::new(b, a));
    both_ways(&pair, 1_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_inner_addresses() {
    let [a, b] = free_ports();
    let inner = ["10.77.2.1", "10.77.2.2"].map(|address| Some(address.parse().unwrap()));
    let config = |local, peer, inner_local, inner_peer| UdpConfig {
        inner_local,
        inner_peer,
        ..UdpConfig::new(local, peer)
    };
    let pair =
        Pair::between(Profile::modern(), config(a, b, inner[0], inner[1]), config(b, a, inner[1], inner[0]));
    both_ways(&pair, 1_000_000).await;
    let (client, server) = pair.connect().await;
    assert_eq!(Some(server.peer_addr().unwrap().ip()), inner[0]);
    assert_eq!(client.peer_addr().unwrap(), pair.address);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_for_any_peer() {
    let [a, b] = free_ports();
    let server = UdpConfig { peer: None, ..UdpConfig::new(b, a) };
    let pair = Pair::between(Profile::modern(), UdpConfig::new(a, b), server);
    both_ways(&pair, 1_000_000).await;
}
