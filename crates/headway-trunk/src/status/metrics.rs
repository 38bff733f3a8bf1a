//! The status of a gateway as metrics for Prometheus.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{PeerStatus, Status};

/// The media type of what [`metrics`] returns.
pub const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The status in the text format of OpenMetrics. A value that is not known is left out.
pub fn metrics(status: &Status) -> String {
    let mut registry = Registry::with_prefix("headway_trunk");
    registry.register_collector(Box::new(Snapshot(status.clone())));
    let mut text = String::new();
    // Writing to a `String` does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// A value, with a second label and its value where the metric has one.
type Value = (Option<(&'static str, &'static str)>, Option<f64>);

/// A metric of the gateway, or of each peer. A counter has `_total` appended.
struct Metric<T> {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    values: fn(&T) -> Vec<Value>,
}

const GATEWAY: &[Metric<Status>] = &[
    counter("ignored_datagrams", "Datagrams that belong to no session, or to no packet of it", |gateway| {
        one(gateway.ignored)
    }),
    counter(
        "bad_handshakes",
        "Handshake messages that were not valid",
        |gateway| one(gateway.bad_handshakes),
    ),
    counter("cookies_sent", "Handshake messages that were answered with a cookie", |gateway| {
        one(gateway.cookies_sent)
    }),
    counter("unsent_segments", "Segments that were not sent, for lack of a session", |gateway| {
        one(gateway.without_session)
    }),
    gauge("memory_bytes", "Memory that the buffers of streams use", |gateway| {
        known(Some(gateway.memory_bytes as f64))
    }),
    gauge("uptime_seconds", "Time since the start", |gateway| known(Some(gateway.seconds))),
];

const PEER: &[Metric<PeerStatus>] = &[
    gauge("connected", "1: there is a session with the peer", |peer| known(Some(peer.connected.into()))),
    gauge(
        "damage_arrives",
        "1: datagrams without UDP checksum reach the peer; 0: damage is dropped unseen",
        |peer| known(peer.passes_unchecked.map(f64::from)),
    ),
    gauge("silence_seconds", "Time since something authenticated arrived", |peer| {
        known(peer.last_received_seconds)
    }),
    counter("handshakes", "Handshakes that came to a session", |peer| one(peer.handshakes)),
    gauge("streams", "Streams that are open", |peer| known(Some(peer.open_streams as f64))),
    counter("streams_opened", "Streams that were opened", |peer| one(peer.opened_streams)),
    counter("streams_refused", "Streams that were refused, by the destination or by rules", |peer| {
        one(peer.refused_streams)
    }),
    gauge("streams_half_open", "Streams that wait for their destination", |peer| {
        known(Some(peer.half_open_streams as f64))
    }),
    counter("streams_abandoned", "Streams whose host was gone before they were open", |peer| {
        one(peer.abandoned_streams)
    }),
    counter("streams_displaced", "Half-open streams that gave way to others, or were turned away", |peer| {
        one(peer.displaced_streams)
    }),
    counter("bytes", "Bytes of streams, by direction, counted as they pass", |peer| {
        vec![
            labelled("direction", "to_peer", peer.bytes_to_peer),
            labelled("direction", "from_peer", peer.bytes_from_peer),
        ]
    }),
    counter("arrived_packets", "Packets that arrived, by what they were worth", |peer| {
        vec![
            labelled("verdict", "intact", peer.arrived.intact),
            labelled("verdict", "corrupted", peer.arrived.corrupted),
            labelled("verdict", "unreadable", peer.arrived.unreadable),
            labelled("verdict", "disbelieved", peer.arrived.disbelieved),
            labelled("verdict", "ignored", peer.arrived.ignored),
        ]
    }),
    counter("packets", "Packets of other protocols, through a TUN, by what became of them", |peer| {
        let Some(packets) = peer.packets else { return Vec::new() };
        vec![
            labelled("fate", "to_peer", packets.to_peer),
            labelled("fate", "from_peer", packets.from_peer),
            labelled("fate", "dropped", packets.dropped),
            labelled("fate", "refused", packets.refused),
            labelled("fate", "late", packets.late),
        ]
    }),
    counter("sent_segments", "Segments with data that were sent, retransmissions included", |peer| {
        peer.path.map_or_else(Vec::new, |path| one(path.segments_sent))
    }),
    counter(
        "losses",
        "Segments sent that did not arrive intact, by the cause that the ledger found",
        |peer| {
            let losses = peer.path.map(|path| path.losses.by_cause());
            losses.into_iter().flatten().map(|(cause, segments)| labelled("cause", cause, segments)).collect()
        },
    ),
    counter("ecn_marks", "ECN marks that the peer echoed", |peer| {
        peer.path.map_or_else(Vec::new, |path| one(path.ecn_marks))
    }),
    gauge("rtt_seconds", "Smoothed round-trip time", |peer| {
        known(peer.path.and_then(|path| path.smoothed_rtt_seconds))
    }),
    gauge("min_rtt_seconds", "Minimum round-trip time", |peer| {
        known(peer.path.and_then(|path| path.min_rtt_seconds))
    }),
    gauge("congestion_window_bytes", "Congestion window that all streams share", |peer| {
        known(peer.path.map(|path| path.congestion_window_bytes.into()))
    }),
    gauge("in_flight_bytes", "Bytes in the network", |peer| {
        known(peer.path.map(|path| path.in_flight_bytes.into()))
    }),
    gauge("delivery_rate_bits_per_second", "What the path delivers, damaged packets included", |peer| {
        known(peer.path.and_then(|path| path.delivery_rate_bits_per_second).map(|rate| rate as f64))
    }),
    gauge(
        "bound_bits_per_second",
        "The most goodput that the link permits, where link-rate is given",
        |peer| known(peer.recent.and_then(|recent| recent.bound_bits_per_second)),
    ),
    gauge(
        "share_of_bound",
        "Goodput of ten seconds as a share of the bound, where link-rate is given",
        |peer| known(peer.recent.and_then(|recent| recent.share_of_bound)),
    ),
];

const fn counter<T>(name: &'static str, help: &'static str, values: fn(&T) -> Vec<Value>) -> Metric<T> {
    Metric { name, help, kind: MetricType::Counter, values }
}

const fn gauge<T>(name: &'static str, help: &'static str, values: fn(&T) -> Vec<Value>) -> Metric<T> {
    Metric { name, help, kind: MetricType::Gauge, values }
}

fn one(count: u64) -> Vec<Value> {
    known(Some(count as f64))
}

fn known(value: Option<f64>) -> Vec<Value> {
    vec![(None, value)]
}

fn labelled(label: &'static str, name: &'static str, count: u64) -> Value {
    (Some((label, name)), Some(count as f64))
}

#[derive(Debug)]
struct Snapshot(Status);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for metric in GATEWAY {
            let mut encoder = encoder.encode_descriptor(metric.name, metric.help, None, metric.kind)?;
            for (_, value) in (metric.values)(&self.0) {
                put(metric.kind, value, encoder.encode_family(&[] as &[(&str, &str); 0])?)?;
            }
        }
        for metric in PEER {
            let mut encoder = encoder.encode_descriptor(metric.name, metric.help, None, metric.kind)?;
            for peer in &self.0.peers {
                for (label, value) in (metric.values)(peer) {
                    let mut labels = vec![("peer", peer.name.as_str())];
                    labels.extend(label);
                    put(metric.kind, value, encoder.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}

fn put(kind: MetricType, value: Option<f64>, encoder: MetricEncoder<'_>) -> fmt::Result {
    match (value, kind) {
        (None, _) => Ok(()),
        (Some(value), MetricType::Counter) => ConstCounter::new(value).encode(encoder),
        (Some(value), _) => ConstGauge::new(value).encode(encoder),
    }
}
