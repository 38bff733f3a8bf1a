//! The statistics of a direction, defined once for text, JSON and CSV.

use headway_trace::analysis::{Connection, Direction, Ending};
use headway_units::Duration;
use headway_wire::TcpFlags;
use serde_json::Value as Json;

use super::units;

/// A value with its unit.
pub enum Value {
    /// A count.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// A mean number of bytes.
    MeanBytes(f64),
    /// Seconds.
    Seconds(f64),
    /// Bits per second.
    Rate(f64),
    /// A boolean.
    Flag(bool),
    /// An unknown value.
    Unknown,
}

impl Value {
    fn bytes(bytes: Option<u64>) -> Self {
        bytes.map_or(Self::Unknown, Self::Bytes)
    }

    fn time(time: Option<Duration>) -> Self {
        time.map_or(Self::Unknown, |time| Self::Seconds(time.as_secs_f64()))
    }

    fn seconds(seconds: Option<f64>) -> Self {
        seconds.map_or(Self::Unknown, Self::Seconds)
    }

    /// Whether the value is zero, false or unknown.
    pub fn is_nothing(&self) -> bool {
        match *self {
            Self::Count(value) | Self::Bytes(value) => value == 0,
            Self::MeanBytes(value) | Self::Seconds(value) | Self::Rate(value) => value == 0.0,
            Self::Flag(value) => !value,
            Self::Unknown => true,
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        match *self {
            Self::Count(value) => units::count(value),
            Self::Bytes(value) => format!("{} B", units::count(value)),
            // A mean of windows, which have at most 30 bits.
            Self::MeanBytes(value) => format!("{} B", units::count(libm::round(value) as u64)),
            Self::Seconds(value) => units::seconds(value),
            Self::Rate(value) => units::rate(value),
            Self::Flag(true) => "yes".into(),
            Self::Flag(false) => "no".into(),
            Self::Unknown => "-".into(),
        }
    }

    /// As JSON: SI units, null if unknown.
    pub fn json(&self) -> Json {
        match *self {
            Self::Count(value) | Self::Bytes(value) => value.into(),
            Self::MeanBytes(value) | Self::Seconds(value) | Self::Rate(value) => value.into(),
            Self::Flag(value) => value.into(),
            Self::Unknown => Json::Null,
        }
    }
}

/// A statistic of a direction.
pub struct Metric {
    /// Its name in JSON and CSV.
    pub key: &'static str,
    /// Its name in text.
    pub label: &'static str,
    /// Whether it is shown in text even if it is zero, false or unknown.
    pub always: bool,
    /// The value.
    pub value: fn(&Connection, &Direction) -> Value,
}

const fn always(
    key: &'static str,
    label: &'static str,
    value: fn(&Connection, &Direction) -> Value,
) -> Metric {
    Metric { key, label, always: true, value }
}

const fn if_any(
    key: &'static str,
    label: &'static str,
    value: fn(&Connection, &Direction) -> Value,
) -> Metric {
    Metric { key, label, always: false, value }
}

use Value::{Bytes, Count, Flag};

/// All statistics, in groups.
#[rustfmt::skip]
pub const GROUPS: &[(&str, &[Metric])] = &[
    ("sent", &[
        always("packets", "packets", |_, d| Count(d.packets)),
        always("data_packets", "with data", |_, d| Count(d.data.packets)),
        always("data_bytes", "data", |_, d| Bytes(d.data.bytes)),
        always("unique_bytes", "new data", |_, d| Bytes(d.data.unique_bytes)),
        always("throughput_bps", "throughput of new data", |c, d| {
            c.throughput(d).map_or(Value::Unknown, |bytes| Value::Rate(bytes * 8.0))
        }),
        always("retransmitted_packets", "retransmitted", |_, d| Count(d.retransmitted.packets)),
        always("retransmitted_bytes", "retransmitted bytes", |_, d| Bytes(d.retransmitted.bytes)),
        if_any("max_retransmissions", "max per segment", |_, d| Count(d.acknowledged().max_retransmissions.into())),
        if_any("retransmission_gap_min_seconds", "min time to retransmission", |_, d| Value::time(d.acknowledged().retransmission_gap.min())),
        if_any("retransmission_gap_mean_seconds", "mean time to retransmission", |_, d| Value::seconds(d.acknowledged().retransmission_gap.mean())),
        if_any("retransmission_gap_max_seconds", "max time to retransmission", |_, d| Value::time(d.acknowledged().retransmission_gap.max())),
        always("out_of_order_packets", "out of order", |_, d| Count(d.out_of_order)),
        if_any("probe_packets", "zero-window probes", |_, d| Count(d.probes.packets)),
        if_any("probe_bytes", "data of probes", |_, d| Bytes(d.probes.bytes)),
        if_any("pushed_packets", "pushed", |_, d| Count(d.data.pushed)),
        if_any("urgent_packets", "urgent", |_, d| Count(d.data.urgent)),
        if_any("segment_min_bytes", "smallest segment", |_, d| Value::bytes(d.data.smallest)),
        if_any("segment_max_bytes", "largest segment", |_, d| Bytes(d.data.largest)),
        if_any("initial_window_packets", "initial window, segments", |_, d| Count(d.initial_window.packets)),
        if_any("initial_window_bytes", "initial window", |_, d| Bytes(d.initial_window.bytes)),
        if_any("outstanding_max_bytes", "max outstanding", |_, d| Bytes(d.outstanding_max)),
        if_any("stream_bytes", "length of the stream", |_, d| Value::bytes(d.stream_len())),
        if_any("missed_bytes", "not captured", |_, d| Value::bytes(d.not_captured())),
        if_any("truncated_packets", "captured in part", |_, d| Count(d.truncated.packets)),
        if_any("truncated_bytes", "data not captured", |_, d| Bytes(d.truncated.bytes)),
        always("idle_max_seconds", "max idle time", |_, d| Value::time(Some(d.idle_max))),
    ]),
    ("acknowledged by the other side", &[
        always("rtt_samples", "round-trip times", |_, d| Count(d.acknowledged().rtt.count())),
        always("rtt_min_seconds", "min", |_, d| Value::time(d.acknowledged().rtt.min())),
        always("rtt_mean_seconds", "mean", |_, d| Value::seconds(d.acknowledged().rtt.mean())),
        always("rtt_max_seconds", "max", |_, d| Value::time(d.acknowledged().rtt.max())),
        always("rtt_deviation_seconds", "standard deviation", |_, d| Value::seconds(d.acknowledged().rtt.deviation())),
        if_any("rtt_ambiguous", "ambiguous (Karn)", |_, d| Count(d.acknowledged().ambiguous)),
        if_any("rtt_after_loss", "after a retransmission", |_, d| Count(d.acknowledged().after_loss)),
        if_any("cumulative", "with a later segment's ACK", |_, d| Count(d.acknowledged().cumulative)),
        always("duplicate_acks", "duplicate ACKs", |_, d| Count(d.duplicate_acks)),
        if_any("triple_duplicate_acks", "three in a row", |_, d| Count(d.triple_duplicate_acks)),
        if_any("repeated_acks", "other repeated ACKs", |_, d| Count(d.repeated_acks)),
    ]),
    ("ACKs and windows sent", &[
        always("ack_packets", "ACKs", |_, d| Count(d.acks.packets)),
        always("pure_acks", "without data", |_, d| Count(d.acks.pure)),
        if_any("sack_packets", "with SACK", |_, d| Count(d.acks.sack_packets)),
        if_any("sack_blocks", "SACK blocks", |_, d| Count(d.acks.sack_blocks)),
        if_any("sack_blocks_max", "max blocks in one", |_, d| Count(d.acks.max_sack_blocks)),
        if_any("dsack_packets", "with D-SACK", |_, d| Count(d.acks.dsack_packets)),
        if_any("window_min_bytes", "smallest open window", |_, d| Value::bytes(d.windows.min_open)),
        if_any("window_mean_bytes", "mean window", |_, d| d.windows.mean().map_or(Value::Unknown, Value::MeanBytes)),
        if_any("window_max_bytes", "largest window", |_, d| Value::bytes(d.windows.max)),
        if_any("zero_windows", "zero windows", |_, d| Count(d.windows.zero)),
    ]),
    ("TCP HACK and damage", &[
        if_any("header_sums", "header checksums (kind 14)", |_, d| Count(d.special.header_sums)),
        if_any("special_acks_one", "special ACKs of one (kind 15)", |_, d| Count(d.special.reporting_one)),
        if_any("special_acks_list", "special ACKs of several (kind 16)", |_, d| Count(d.special.listing)),
        if_any("special_ack_numbers", "numbers listed", |_, d| Count(d.special.listed)),
        if_any("header_crcs", "header CRCs (version 2)", |_, d| Count(d.special.header_crcs)),
        if_any("special_acks_v2", "special ACKs of version 2", |_, d| Count(d.special.version_2)),
        if_any("special_ack_numbers_v2", "numbers in those", |_, d| Count(d.special.version_2_numbers)),
        if_any("special_acks_blocks", "of those with block checksums", |_, d| Count(d.special.with_blocks)),
        if_any("reported_damaged", "damaged, as reported", |_, d| d.special.damaged.map_or(Value::Unknown, |count| Count(count.into()))),
        if_any("special_duplicate_acks", "that count as duplicate ACKs", |_, d| Count(d.special.duplicates)),
        if_any("corrupted_segments", "corrupted (header valid)", |_, d| Count(d.all_damage().corrupted)),
        if_any("unreadable_packets", "damaged, header unreadable", |_, d| Count(d.all_damage().unreadable)),
    ]),
    ("flags and offers", &[
        always("syn_packets", "SYN", |_, d| Count(d.with(TcpFlags::SYN))),
        always("fin_packets", "FIN", |_, d| Count(d.with(TcpFlags::FIN))),
        if_any("rst_packets", "RST", |_, d| Count(d.with(TcpFlags::RST))),
        if_any("ece_packets", "ECE", |_, d| Count(d.with(TcpFlags::ECE))),
        if_any("cwr_packets", "CWR", |_, d| Count(d.with(TcpFlags::CWR))),
        if_any("ce_packets", "marked CE", |_, d| Count(d.congestion_marks)),
        if_any("mss_bytes", "maximum segment size", |_, d| Value::bytes(d.offers.mss.map(u64::from))),
        if_any("window_scale", "window scale", |_, d| d.offers.window_scale.map_or(Value::Unknown, |shift| Count(shift.into()))),
        if_any("offers_sack", "SACK", |_, d| Flag(d.offers.sack)),
        if_any("offers_timestamps", "timestamps", |_, d| Flag(d.offers.timestamps)),
        if_any("offers_hack", "TCP HACK", |_, d| Flag(d.offers.hack)),
        if_any("offers_xhack", "Extended HACK", |_, d| Flag(d.offers.xhack)),
        if_any("offers_hack_v2", "TCP HACK, version 2", |_, d| Flag(d.offers.v2)),
    ]),
];

/// All statistics.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    GROUPS.iter().flat_map(|(_, metrics)| metrics.iter())
}

/// How a connection ended.
pub fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Reset => "reset",
        Ending::Open => "not complete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_numbers_have_one_name() {
        let mut keys: Vec<&str> = all().map(|metric| metric.key).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
