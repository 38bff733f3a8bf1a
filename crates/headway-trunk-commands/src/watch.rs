//! The live page of a gateway.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use headway_report::command_line;
use headway_trunk::{Gateway, PeerStatus, Status};
use headway_watch::{Description, Panel, SourceId, Time, Watch, WatchError};
use tokio::time::{MissedTickBehavior, interval};

use super::status::checksums;

/// How often the gateway is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// A gateway whose peers are shown.
pub(super) struct Watched {
    watch: Watch,
    /// By name: peers come and go when the configuration is read again.
    peers: BTreeMap<String, SourceId>,
}

impl Watched {
    /// Serves a page.
    pub(super) fn start(address: SocketAddr) -> Result<Self, WatchError> {
        let description = Description::new(
            "A gateway and its peers",
            command_line(&headway_command::words()),
            "Peer",
            Time::Real,
        )
        .with_panels(panels())
        .with_end("The gateway has ended.");
        Ok(Self { watch: Watch::start(address, description)?, peers: BTreeMap::new() })
    }

    fn update(&mut self, status: &Status) {
        for peer in &status.peers {
            let known = self.peers.get(&peer.name).copied();
            let source = known.unwrap_or_else(|| {
                let begun = self.watch.begin(&peer.name, "");
                self.peers.insert(peer.name.clone(), begun);
                begun
            });
            self.watch.sample(source, &sample(status.seconds, peer));
        }
        let gone = |name: &String| !status.peers.iter().any(|peer| peer.name == *name);
        let names: Vec<String> = self.peers.keys().filter(|name| gone(name)).cloned().collect();
        for name in names {
            if let Some(source) = self.peers.remove(&name) {
                self.watch.end(source, "no longer in the configuration");
            }
        }
        self.watch.progress(&progress(status));
    }
}

/// Shows the gateway, for ever.
pub(super) async fn follow(gateway: &Gateway, watched: Option<Watched>) {
    let Some(mut watched) = watched else { return std::future::pending().await };
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        watched.update(&gateway.status());
    }
}

/// How the peers are, in a line.
fn progress(status: &Status) -> String {
    let peer = |peer: &PeerStatus| {
        let connected = if peer.connected { "connected" } else { "not connected" };
        format!("{}: {connected}, {} streams open, {}", peer.name, peer.open_streams, checksums(peer))
    };
    status.peers.iter().map(peer).collect::<Vec<_>>().join("; ")
}

/// The places of these values in a sample are those of [`sample`].
fn panels() -> [Panel; 7] {
    const CAUSES: [(&str, usize); 5] = [
        ("damage, announced", 6),
        ("damage, counted", 7),
        ("damage, inferred", 8),
        ("congestion", 9),
        ("unexplained", 10),
    ];
    [
        Panel::of_bit_rate("Goodput to the peer", 0, "Bytes of streams."),
        Panel::of_bit_rate("Goodput from the peer", 1, "Bytes of streams."),
        Panel::of_value("Congestion window", "B", 2, "That of the path, which all streams share."),
        Panel::of_value("In flight", "B", 3, "Bytes in the network, of all streams."),
        Panel::of_value("Round-trip time", "ms", 4, "The smoothed RTT of the path."),
        Panel::of_value("Streams", "open", 5, "Streams that are open."),
        Panel::of_counts(
            "Losses by cause",
            "segments",
            &CAUSES,
            "Segments to the peer that did not arrive intact, from the beginning.",
        ),
    ]
}

fn sample(seconds: f64, peer: &PeerStatus) -> [f64; 12] {
    let path = peer.path.unwrap_or_default();
    let losses = path.losses;
    // Before anything was sent there is no window.
    let known = |value: u32| peer.path.map_or(f64::NAN, |_| f64::from(value));
    [
        seconds,
        peer.bytes_to_peer as f64,
        peer.bytes_from_peer as f64,
        known(path.congestion_window_bytes),
        known(path.in_flight_bytes),
        path.smoothed_rtt_seconds.map_or(f64::NAN, |seconds| seconds * 1e3),
        peer.open_streams as f64,
        losses.announced as f64,
        losses.counted as f64,
        losses.inferred as f64,
        losses.congestion as f64,
        losses.unexplained as f64,
    ]
}
