//! Transfers deliver the bytes that were sent.

use std::net::IpAddr;

use headway_net::UdpConfig;
use headway_tcp::{Profile, Variant};
use headway_test_fixture::process::{free_addresses, free_addresses_of, say_skipped};

use super::pair::{INNER, Pair, both_ways};

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
    let loopback = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
    if std::net::UdpSocket::bind((loopback, 0)).is_err() {
        return say_skipped("ipv6", "on the loopback");
    }
    let [a, b] = free_addresses_of(loopback);
    let pair = Pair::between(Profile::modern(), UdpConfig::new(a, b), UdpConfig::new(b, a));
    both_ways(&pair, 1_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_inner_addresses() {
    let [a, b] = free_addresses();
    let inner = INNER.map(|address| Some(address.parse().unwrap()));
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
    let [a, b] = free_addresses();
    let server = UdpConfig { peer: None, ..UdpConfig::new(b, a) };
    let pair = Pair::between(Profile::modern(), UdpConfig::new(a, b), server);
    both_ways(&pair, 1_000_000).await;
}
