//! What is measured of a run: the one record of it, and the table that describes each measure.

use serde::{Deserialize, Serialize};

use super::oracle::OracleOutcome;
use super::scenario::Scenario;
use crate::value::{Unit, Value, ValueKind};

/// What was measured of one run. What a sender or a clock does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMetrics {
    /// Whether all arrived within the time limit. A run of fixed duration finishes unless its connection
    /// fails.
    pub finished: bool,
    /// Seconds from the first SYN to the last byte's arrival, or until the run was ended; the duration,
    /// where that is fixed.
    pub seconds: f64,
    /// Payload bits delivered per second.
    pub goodput_bps: f64,
    /// Goodput as a share of the scenario's bound.
    pub share_of_bound: Option<f64>,
    /// Goodput of the oracle in the same run.
    #[serde(default)]
    pub oracle_bps: Option<f64>,
    /// Goodput as a share of the oracle's: for the same bytes, the oracle's time as a share of this
    /// sender's.
    #[serde(default)]
    pub share_of_oracle: Option<f64>,
    /// Whether the SHA-256 of what arrived is the content's; `None` where nothing was hashed or not all
    /// arrived.
    pub sha256_ok: Option<bool>,
    /// Bytes that were delivered although damaged: they had passed every check.
    pub damaged_bytes_delivered: u64,
    /// Damaged packets, of both directions, that passed every check.
    pub undetected_packets: Option<u64>,
    /// Bytes that were delivered in order.
    pub delivered_bytes: u64,
    /// Payload bytes sent, retransmissions included.
    #[serde(alias = "octets_sent")]
    pub bytes_sent: Option<u64>,
    /// Segments retransmitted.
    pub retransmissions: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Reductions of the window to one segment.
    pub slow_starts: Option<u64>,
    /// Times that fast recovery began.
    pub fast_recoveries: Option<u64>,
    /// Special ACKs that the receiver sent.
    pub special_acks: Option<u64>,
    /// Packets of all flows that the queue of the forward path dropped; of several hops all queues.
    pub queue_drops: Option<u64>,
    /// How long packets of all flows were in the queue and the transmitter of the forward path, seconds: the
    /// median, to 3 %. Of several hops it is that of the hop where the 95th percentile is highest.
    #[serde(default)]
    pub queue_delay_median_seconds: Option<f64>,
    /// And the 95th percentile.
    #[serde(default)]
    pub queue_delay_p95_seconds: Option<f64>,
    /// How long packets of the measured flow took from its sender to its receiver, damaged ones included, seconds: the
    /// median, to 3 %; `None` with a trunk, whose gateways send the packets that arrive.
    #[serde(default)]
    pub one_way_delay_median_seconds: Option<f64>,
    /// And the 95th percentile.
    #[serde(default)]
    pub one_way_delay_p95_seconds: Option<f64>,
    /// Their delay variation (jitter), seconds: the mean absolute difference between the delays of packets that
    /// arrived one after the other (the IPDV of RFC 3393).
    #[serde(default)]
    pub delay_variation_seconds: Option<f64>,
    /// Of the dropped packets, how many for each 10^6 bytes that were delivered by all flows.
    #[serde(default)]
    pub drops_per_megabyte: f64,
    /// Jain's fairness index of what all flows had received when the first of them was done, or at the end
    /// of a run of fixed duration.
    pub jain: f64,
    /// The same of those flows alone that have the measured sender and are not rivals.
    #[serde(default)]
    pub jain_alike: f64,
    /// Mean goodput of the rivals until then.
    #[serde(default)]
    pub rival_goodput_bps: Option<f64>,
    /// Goodput of each other flow until then: companions and rivals in the scenario's order.
    #[serde(default)]
    pub companions_bps: Vec<f64>,
    /// Payload bits delivered per second to all flows until then.
    #[serde(default)]
    pub total_goodput_bps: f64,
    /// Bytes of the packets of all flows that were transmitted over the link, in both directions; over several hops on
    /// each of them.
    #[serde(default)]
    pub link_bytes: Option<u64>,
    /// Payload bytes that the senders, or the near gateway of a trunk, sent over the link, retransmissions included.
    #[serde(default)]
    pub link_payload_bytes: Option<u64>,
    /// Segments that the gateways of a trunk retransmitted.
    #[serde(default)]
    pub trunk_retransmissions: Option<u64>,
    /// Expiries of the gateways' retransmission timers.
    #[serde(default)]
    pub trunk_timeouts: Option<u64>,
    /// Packets that the queues in front of the trunk dropped, of both gateways.
    #[serde(default)]
    pub trunk_queue_drops: Option<u64>,
    /// Of each of several hops: packets of all flows that its forward queue dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hop_queue_drops: Vec<u64>,
    /// The 95th percentile of the time of packets in its forward queue and transmitter, seconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hop_queue_delay_p95_seconds: Vec<f64>,
    /// Transmissions that it damaged on the forward path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hop_damaged: Vec<u64>,
    /// In real time: how late the box let packets go, seconds; 99 % of them by no more than this.
    #[serde(default, alias = "box_late_s")]
    pub box_late_seconds: Option<f64>,
    /// And the latest of them.
    #[serde(default, alias = "box_latest_s")]
    pub box_latest_seconds: Option<f64>,
    /// Why the connection failed, if it did.
    pub failure: Option<String>,
}

impl RunMetrics {
    /// With goodput and its share of the scenario's bound, from bytes delivered and time.
    #[must_use]
    pub(super) fn with_goodput(self, scenario: &Scenario) -> Self {
        let bits = self.delivered_bytes as f64 * 8.0;
        let goodput_bps = if self.seconds > 0.0 { bits / self.seconds } else { 0.0 };
        // Where nothing arrives there is nothing to have a share of.
        let bound = scenario.bound().filter(|bound| *bound > 0.0);
        let share_of_bound = bound.map(|bound| goodput_bps / bound);
        Self { goodput_bps, share_of_bound, ..self }
    }

    /// With what follows from the counts where the flow had the link to itself: goodput, drops per
    /// megabyte, fairness.
    #[must_use]
    pub fn of_single_flow(self, scenario: &Scenario) -> Self {
        let megabytes = self.delivered_bytes as f64 / 1e6;
        let drops = self.queue_drops.unwrap_or(0) as f64;
        let drops_per_megabyte = if megabytes > 0.0 { drops / megabytes } else { 0.0 };
        let run = Self { drops_per_megabyte, jain: 1.0, jain_alike: 1.0, ..self }.with_goodput(scenario);
        Self { total_goodput_bps: run.goodput_bps, ..run }
    }

    /// Beside the oracle of the same run.
    #[must_use]
    pub fn beside(self, oracle: Option<&OracleOutcome>) -> Self {
        let oracle_bps = oracle.map(|oracle| oracle.goodput_bps);
        let share_of_oracle = oracle_bps.filter(|best| *best > 0.0).map(|best| self.goodput_bps / best);
        Self { oracle_bps, share_of_oracle, ..self }
    }

    fn companions(&self) -> String {
        list(self.companions_bps.iter().map(|rate| format!("{rate:.0}")))
    }
}

/// Values with a space between them.
fn list(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" ")
}

/// A measure of a run.
#[derive(Debug)]
pub struct Metric {
    /// Its name in tables and JSON, which is that of the field of [`RunMetrics`].
    pub name: &'static str,
    /// What it holds.
    pub kind: ValueKind,
    /// What it means.
    pub meaning: &'static str,
    /// How figures and claims show it; `None` where there is nothing to draw.
    pub figure: Option<FigureName>,
    get: fn(&RunMetrics) -> Value,
}

/// What a measure is called in experiment files, and under a figure.
#[derive(Debug)]
pub struct FigureName {
    /// In experiment files.
    pub key: &'static str,
    /// Under a figure.
    pub label: &'static str,
    /// The unit of the numbers.
    pub unit: Unit,
    /// What it was called in experiment files of earlier versions.
    pub alias: Option<&'static str>,
}

impl Metric {
    /// Its value in a run.
    pub fn of(&self, metrics: &RunMetrics) -> Value {
        (self.get)(metrics)
    }

    const fn drawn(self, key: &'static str, label: &'static str, unit: Unit) -> Self {
        Self { figure: Some(FigureName { key, label, unit, alias: None }), ..self }
    }

    const fn drawn_before_as(self, alias: &'static str) -> Self {
        match self.figure {
            Some(figure) => Self { figure: Some(FigureName { alias: Some(alias), ..figure }), ..self },
            None => self,
        }
    }
}

type Get = fn(&RunMetrics) -> Value;

const fn flag(name: &'static str, meaning: &'static str, get: Get) -> Metric {
    Metric { name, kind: ValueKind::Flag, meaning, figure: None, get }
}

const fn number(name: &'static str, meaning: &'static str, get: Get) -> Metric {
    Metric { name, kind: ValueKind::Number, meaning, figure: None, get }
}

const fn count(name: &'static str, meaning: &'static str, get: Get) -> Metric {
    Metric { name, kind: ValueKind::Integer, meaning, figure: None, get }
}

const fn text(name: &'static str, meaning: &'static str, get: Get) -> Metric {
    Metric { name, kind: ValueKind::Text, meaning, figure: None, get }
}

/// Every measure, in the order of the columns of results. One more needs a field of [`RunMetrics`] and an
/// entry here.
pub static METRICS: [Metric; 39] = [
    flag("finished", "all data arrived within the time limit", |run| run.finished.into()).drawn(
        "finished",
        "share of runs finished",
        Unit::Share,
    ),
    number("seconds", "time until the last byte arrived or the run was ended", |run| run.seconds.into())
        .drawn("time", "time", Unit::Seconds),
    number("goodput_bps", "payload bits delivered per second", |run| run.goodput_bps.into()).drawn(
        "goodput",
        "goodput",
        Unit::BitsPerSecond,
    ),
    number("share_of_bound", "goodput as a share of the bound", |run| run.share_of_bound.into()).drawn(
        "share-of-bound",
        "share of the bound",
        Unit::Share,
    ),
    number("oracle_bps", "goodput of the oracle in the same run; empty: no oracle", |run| {
        run.oracle_bps.into()
    }),
    number("share_of_oracle", "goodput as a share of the oracle's goodput", |run| run.share_of_oracle.into())
        .drawn("share-of-oracle", "share of the oracle", Unit::Share),
    flag("sha256_ok", "the SHA-256 of the received data is correct", |run| run.sha256_ok.into()),
    count("damaged_bytes_delivered", "damaged bytes delivered", |run| run.damaged_bytes_delivered.into())
        .drawn("damaged-bytes", "damaged bytes delivered", Unit::Bytes),
    count("undetected_packets", "damaged packets that passed every check", |run| {
        run.undetected_packets.into()
    }),
    count("delivered_bytes", "bytes delivered", |run| run.delivered_bytes.into()),
    count("bytes_sent", "payload bytes sent, including retransmissions", |run| run.bytes_sent.into())
        .drawn("bytes-sent", "bytes sent", Unit::Bytes)
        .drawn_before_as("octets-sent"),
    count("retransmissions", "retransmitted segments", |run| run.retransmissions.into()).drawn(
        "retransmissions",
        "retransmissions",
        Unit::One,
    ),
    count("timeouts", "expiries of the retransmission timer", |run| run.timeouts.into()).drawn(
        "timeouts",
        "timeouts",
        Unit::One,
    ),
    count("slow_starts", "reductions of the window to one segment", |run| run.slow_starts.into()).drawn(
        "slow-starts",
        "slow starts",
        Unit::One,
    ),
    count("fast_recoveries", "number of fast recoveries", |run| run.fast_recoveries.into()).drawn(
        "fast-recoveries",
        "fast recoveries",
        Unit::One,
    ),
    count("special_acks", "special ACKs sent", |run| run.special_acks.into()).drawn(
        "special-acks",
        "special ACKs",
        Unit::One,
    ),
    count("queue_drops", "packets dropped by the queue", |run| run.queue_drops.into()).drawn(
        "queue-drops",
        "packets dropped by the queue",
        Unit::One,
    ),
    number(
        "queue_delay_median_seconds",
        "time of packets in the forward queue and transmitter: median",
        |run| run.queue_delay_median_seconds.into(),
    )
    .drawn("queue-delay-median", "median time in the queue", Unit::Seconds),
    number(
        "queue_delay_p95_seconds",
        "time of packets in the forward queue and transmitter: 95th percentile",
        |run| run.queue_delay_p95_seconds.into(),
    )
    .drawn("queue-delay-p95", "95th percentile of the time in the queue", Unit::Seconds),
    number(
        "one_way_delay_median_seconds",
        "one-way delay of the flow's packets, from its sender to its receiver: median; empty: a trunk, or real time",
        |run| run.one_way_delay_median_seconds.into(),
    )
    .drawn("one-way-delay-median", "median one-way delay", Unit::Seconds),
    number(
        "one_way_delay_p95_seconds",
        "one-way delay of the flow's packets, from its sender to its receiver: 95th percentile",
        |run| run.one_way_delay_p95_seconds.into(),
    )
    .drawn("one-way-delay-p95", "95th percentile of the one-way delay", Unit::Seconds),
    number(
        "delay_variation_seconds",
        "jitter: mean absolute difference between the one-way delays of packets that arrived one after the other \
         (IPDV, RFC 3393)",
        |run| run.delay_variation_seconds.into(),
    )
    .drawn("delay-variation", "delay variation (jitter)", Unit::Seconds),
    number("drops_per_megabyte", "queue drops per 10^6 bytes delivered to all flows", |run| {
        run.drops_per_megabyte.into()
    })
    .drawn("drops-per-megabyte", "queue drops per megabyte", Unit::One),
    number("jain", "Jain's fairness index when the first flow finished or the duration ended", |run| {
        run.jain.into()
    })
    .drawn("jain", "Jain's fairness index", Unit::One),
    number(
        "jain_alike",
        "Jain's fairness index of the flows with the measured sender, rivals excluded",
        |run| run.jain_alike.into(),
    )
    .drawn("jain-alike", "Jain's fairness index of like flows", Unit::One),
    number("rival_goodput_bps", "mean goodput of the rivals until then", |run| run.rival_goodput_bps.into())
        .drawn("rival-goodput", "goodput of the rivals", Unit::BitsPerSecond),
    text("companions_bps", "goodput of each companion and rival until then", |run| run.companions().into()),
    number("total_goodput_bps", "payload bits delivered per second to all flows until then", |run| {
        run.total_goodput_bps.into()
    })
    .drawn("total-goodput", "goodput of all flows", Unit::BitsPerSecond),
    count("link_bytes", "bytes of packets transmitted over the link, in both directions", |run| {
        run.link_bytes.into()
    })
    .drawn("link-bytes", "bytes over the link", Unit::Bytes),
    count(
        "link_payload_bytes",
        "payload bytes sent over the link by the senders, or by the trunk, including retransmissions",
        |run| run.link_payload_bytes.into(),
    )
    .drawn("link-payload", "payload sent over the link", Unit::Bytes),
    count("trunk_retransmissions", "segments retransmitted by the trunk; empty: no trunk", |run| {
        run.trunk_retransmissions.into()
    })
    .drawn("trunk-retransmissions", "retransmissions of the trunk", Unit::One),
    count("trunk_timeouts", "expiries of the trunk's retransmission timers; empty: no trunk", |run| {
        run.trunk_timeouts.into()
    })
    .drawn("trunk-timeouts", "timeouts of the trunk", Unit::One),
    count(
        "trunk_queue_drops",
        "packets dropped by the queues in front of the trunk; empty: no trunk",
        |run| run.trunk_queue_drops.into(),
    )
    .drawn("trunk-queue-drops", "packets dropped in front of the trunk", Unit::One),
    text("hop_queue_drops", "packets dropped by the forward queue of each hop; empty: there is one link", |run| {
        list(run.hop_queue_drops.iter().map(u64::to_string)).into()
    }),
    text(
        "hop_queue_delay_p95_seconds",
        "time of packets in the forward queue and transmitter of each hop: 95th percentile; empty: there is one link",
        |run| list(run.hop_queue_delay_p95_seconds.iter().map(|delay| format!("{delay:.6}"))).into(),
    ),
    text("hop_damaged", "damaged transmissions on the forward path of each hop; empty: there is one link", |run| {
        list(run.hop_damaged.iter().map(u64::to_string)).into()
    }),
    number("box_late_seconds", "real time: 99th percentile of the lateness of packets in the box", |run| {
        run.box_late_seconds.into()
    }),
    number("box_latest_seconds", "real time: maximum of that lateness", |run| run.box_latest_seconds.into()),
    text("failure", "why the connection failed", |run| run.failure.clone().into()),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_field_in_its_order() {
        let debug = format!("{:?}", RunMetrics::default());
        let places: Vec<Option<usize>> =
            METRICS.iter().map(|metric| debug.find(&format!(" {}: ", metric.name))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{debug}: {places:?}");
        assert_eq!(debug.matches(": ").count(), METRICS.len(), "{debug}");
    }

    #[test]
    fn values_are_of_their_kind() {
        let run = RunMetrics {
            share_of_bound: Some(0.5),
            oracle_bps: Some(1.0),
            share_of_oracle: Some(1.0),
            sha256_ok: Some(true),
            undetected_packets: Some(1),
            bytes_sent: Some(1),
            retransmissions: Some(1),
            timeouts: Some(1),
            slow_starts: Some(1),
            fast_recoveries: Some(1),
            special_acks: Some(1),
            queue_drops: Some(1),
            queue_delay_median_seconds: Some(1.0),
            queue_delay_p95_seconds: Some(1.0),
            one_way_delay_median_seconds: Some(1.0),
            one_way_delay_p95_seconds: Some(1.0),
            delay_variation_seconds: Some(1.0),
            rival_goodput_bps: Some(1.0),
            companions_bps: vec![1.0, 2.0],
            link_bytes: Some(1),
            link_payload_bytes: Some(1),
            trunk_retransmissions: Some(1),
            trunk_timeouts: Some(1),
            trunk_queue_drops: Some(1),
            hop_queue_drops: vec![1, 2],
            hop_queue_delay_p95_seconds: vec![1.0, 2.0],
            hop_damaged: vec![1, 2],
            box_late_seconds: Some(1.0),
            box_latest_seconds: Some(1.0),
            failure: Some("reset".into()),
            ..RunMetrics::default()
        };
        for metric in &METRICS {
            let value = metric.of(&run);
            let kind = match value {
                Value::Flag(_) => ValueKind::Flag,
                Value::Integer(_) => ValueKind::Integer,
                Value::Number(_) => ValueKind::Number,
                Value::Text(_) => ValueKind::Text,
                Value::Nothing => panic!("{}: nothing", metric.name),
            };
            assert_eq!(kind, metric.kind, "{}", metric.name);
            assert!(metric.figure.is_none() || value.number().is_some(), "{}", metric.name);
        }
    }
}
