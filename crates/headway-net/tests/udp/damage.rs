//! Damaged payloads are delivered, and reported for retransmission at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headway_tcp::{Profile, Variant};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::rng::Rng;
use tokio::io::AsyncReadExt as _;

use super::pair::{Pair, receive, send};

/// A bit is flipped in the payload of one in N long datagrams, as by a link without a frame check.
const ONE_IN: u32 = 20;
/// Beyond any TCP header, in a data segment.
const HEADER: usize = 60;

async fn through_damage(variant: Variant) {
    let hits = Arc::new(AtomicU64::new(0));
    let (pair, relay) = Pair::across(variant.apply(Profile::modern()), |from| {
        let (mut rng, hits) = (Rng::new(7 + from as u64), hits.clone());
        move |datagram, _| {
            if datagram.len() > HEADER && rng.one_in(ONE_IN) {
                rng.flip_bit(&mut datagram[HEADER..]);
                hits.fetch_add(1, Ordering::Relaxed);
            }
            true
        }
    });
    let (mut client, mut server) = pair.connect().await;
    let (pattern, len) = (Pattern(6), 5_000_000);
    let bytes = pattern.bytes(0, len);
    let (sent, got) = tokio::join!(send(&mut client, &bytes), receive(&mut server, pattern));
    sent.unwrap();
    assert_eq!(got.unwrap(), len, "{variant}");
    let (sender, receiver) = (client.statistics().unwrap(), server.statistics().unwrap());
    drop(server);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    drop(relay);
    let hit = hits.load(Ordering::Relaxed);
    eprintln!(
        "{variant}: {hit} hit, {} retransmissions, {} recoveries, {} timeouts",
        sender.damage_retransmissions, sender.fast_recoveries, sender.timeouts
    );
    assert!(hit > 50, "{variant}: only {hit} packets were hit");
    assert!(receiver.damaged_received > hit / 2, "{variant}: {hit} hit, {receiver:?}");
    assert!(
        receiver.special_acks_sent > 0 && sender.damage_retransmissions > hit / 4,
        "{variant}: {hit} hit, {sender:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extended_hack() {
    through_damage(Variant::XhackSack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_2() {
    through_damage(Variant::Headway).await;
}
