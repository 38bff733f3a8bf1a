//! What a gateway says of itself while it works: its status, and the metrics that alerts and the dashboard name.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headway_test_fixture::pattern::Pattern;
use headway_trunk::{LossStatus, PeerStatus, metrics};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::pair::{LONG, Pair, server, through, wait_until};

const RULES: &str = include_str!("../../../../packaging/prometheus/headway-trunk.rules.yml");
const DASHBOARD: &str = include_str!("../../../../packaging/grafana/headway-trunk.json");

fn near(pair: &Pair) -> PeerStatus {
    pair.near.as_ref().expect("running").status().peers.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_stream_is_counted_as_it_goes_on() {
    let pair = Pair::start("").await;
    let (listener, address) = server().await;
    let mut client = through(pair.socks, address).await.expect("a connection");
    let (mut served, _) = listener.accept().await.expect("a connection");
    client.write_all(b"question").await.expect("open");
    served.read_exact(&mut [0; 8]).await.expect("the question");
    served.write_all(b"answer").await.expect("open");
    client.read_exact(&mut [0; 6]).await.expect("the answer");
    for (gateway, to_peer, from_peer) in [(&pair.near, 8, 6), (&pair.far, 6, 8)] {
        let status = || gateway.as_ref().expect("running").status();
        // Bytes may be there before those who count them have done so.
        wait_until("it is counted", || status().peers[0].bytes_to_peer >= to_peer).await;
        let status = status();
        let peer = &status.peers[0];
        assert_eq!((peer.open_streams, peer.bytes_to_peer, peer.bytes_from_peer), (1, to_peer, from_peer));
        let [stream] = &peer.streams[..] else { panic!("one stream: {:?}", peer.streams) };
        assert_eq!((stream.bytes_to_peer, stream.bytes_from_peer), (to_peer, from_peer));
        assert_eq!(stream.destination, address.to_string());
        assert!(peer.handshakes >= 1);
    }
    let ours = client.local_addr().expect("an address");
    assert_eq!(near(&pair).streams[0].client, Some(ours));
    drop((client, served));
    wait_until("the stream ends", || near(&pair).open_streams == 0).await;
    assert_eq!((near(&pair).bytes_to_peer, near(&pair).bytes_from_peer), (8, 6), "it stays counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn losses_have_causes_and_every_metric_that_is_named_is_exported() {
    let pair = Pair::start("").await;
    pair.road.damaged.store(60, Ordering::Relaxed);
    let (listener, address) = server().await;
    const LEN: usize = 3_000_000;
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.expect("everything");
        Pattern(3).check_all(LEN, &received);
    });
    let mut client = through(pair.socks, address).await.expect("a connection");
    client.write_all(&Pattern(3).bytes(0, LEN)).await.expect("open");
    client.shutdown().await.expect("open");
    timeout(LONG, served).await.expect("in time").expect("the server's side");
    let share = || near(&pair).recent.and_then(|recent| recent.damaged_share);
    wait_until("two samples", || share().is_some()).await;

    let peer = near(&pair);
    assert!(peer.arrived.intact > 20, "ACKs: {:?}", peer.arrived);
    let path = peer.path.expect("something was sent");
    let LossStatus { announced, .. } = path.losses;
    assert!(path.losses.damage() >= announced, "{path:?}");
    // Whatever else is lost, where the machine is busy: what the relay damages is announced, except for bits of headers that
    // cannot be repaired, and nothing else is.
    let hits = u64::from(pair.road.hits[0].load(Ordering::Relaxed));
    assert!(hits > 100 && (hits / 2..=hits).contains(&announced), "{hits} hits: {path:?}");
    assert!(path.segments_sent > 2000 && path.delivery_rate_bits_per_second > Some(0), "{path:?}");
    assert!(
        path.min_rtt_seconds > Some(0.0) && path.smoothed_rtt_seconds >= path.min_rtt_seconds,
        "{path:?}"
    );
    let recent = peer.recent.expect("samples");
    let damaged = recent.damaged_share.expect("something was sent");
    assert!(damaged > 0.01, "{recent:?}");
    // A full packet of 1500 bytes has 1419 bytes of data.
    let bound = recent.bound_bits_per_second.expect("the link's rate is configured");
    assert!((bound / (100e6 * 1419.0 / 1500.0 * (1.0 - damaged)) - 1.0).abs() < 0.01, "{recent:?}");

    let text = metrics(&pair.near.as_ref().expect("running").status());
    let exported: BTreeSet<&str> = text.lines().filter_map(|line| name_in(line).next()).collect();
    for (file, named) in [("rules", RULES), ("dashboard", DASHBOARD)] {
        let named: BTreeSet<&str> = name_in(named).collect();
        assert!(named.len() > 8, "{file}: {named:?}");
        let missing: Vec<_> = named.difference(&exported).collect();
        assert!(missing.is_empty(), "{file} names {missing:?}, which are not in\n{text}");
    }
    for line in [
        "headway_trunk_connected{peer=\"far\"} 1.0",
        "headway_trunk_damage_arrives{peer=\"far\"} 1.0",
        &format!("headway_trunk_bytes_total{{peer=\"far\",direction=\"to_peer\"}} {LEN}.0"),
        &format!("headway_trunk_losses_total{{peer=\"far\",cause=\"announced\"}} {announced}.0"),
        "headway_trunk_streams_opened_total{peer=\"far\"} 1.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_silence_of_a_peer_is_counted_where_nothing_happens_at_all() {
    let pair = Pair::start("").await;
    let silence = || near(&pair).last_received_seconds.expect("something arrived");
    // What the path lets through is found out, and nothing is sent any more.
    wait_until("a second of silence", || silence() >= 1.0).await;
    pair.road.dropped.store(1000, Ordering::Relaxed);
    // Between two clock readings each, however busy the machine is.
    let read = || (Instant::now(), silence(), Instant::now());
    let (begin, before, begun) = read();
    // Time is what is counted.
    sleep(Duration::from_secs(2)).await;
    let (end, after, ended) = read();
    let (least, most) = ((end - begun).as_secs_f64(), (ended - begin).as_secs_f64());
    let passed = after - before;
    assert!((least - 0.1..most + 0.1).contains(&passed), "{before}, {least} to {most} s later {after}");
}

/// Names of metrics in a text. What is recorded by a rule has a colon.
fn name_in(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    text.split(move |c| !is_part(c)).filter(|word| word.starts_with("headway_trunk_") && !word.contains(':'))
}
