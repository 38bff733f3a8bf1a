//! The columns of a table of results: every parameter and every measure.

use headway_sim::race::{Companion, Scenario, congestion_name};
use headway_tcp::HackRules;
use headway_units::{Rate, Share};
use serde::{Deserialize, Serialize};

use super::Row;
use crate::experiment::{Cell, Foreign, Sender};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number, not negative.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Flag,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it means.
    pub meaning: &'static str,
}

/// What stands in a row under a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Nothing: the parameter does not apply.
    Nothing,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

const fn column(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column { name, kind, meaning }
}

/// Parameters, then measures.
pub const COLUMNS: [Column; 62] = [
    column("clock", Kind::Text, "virtual (the simulator's time) or real (this machine's)"),
    column("profile", Kind::Text, "sender profile"),
    column("rules", Kind::Text, "rules by which the sender answers special ACKs"),
    column("variant", Kind::Text, "sender"),
    column("cc", Kind::Text, "congestion controller of the sender"),
    column("switches", Kind::Text, "features of the sender that were enabled (+) or disabled (-)"),
    column("warm", Kind::Flag, "the hosts made one transfer before the measured one"),
    column("size_bytes", Kind::Integer, "bytes to send; empty: a run of fixed duration"),
    column("duration_s", Kind::Number, "fixed duration of the run; empty: until all data has arrived"),
    column("window_bytes", Kind::Integer, "largest receive window"),
    column("mtu_bytes", Kind::Integer, "largest IP packet"),
    column("retries", Kind::Integer, "consecutive timeouts before the sender gives up; empty: never"),
    column("time_limit_s", Kind::Number, "time after which the run is ended"),
    column("rate_bps", Kind::Integer, "rate of the forward path"),
    column("reverse_rate_bps", Kind::Integer, "rate of the reverse path"),
    column("delay_s", Kind::Number, "one-way propagation delay"),
    column("queue", Kind::Text, "drop-tail queue"),
    column("mark", Kind::Text, "queue length beyond which packets are marked (ECN); empty: no marking"),
    column("overhead_bytes", Kind::Integer, "layer-2 bytes per packet"),
    column("jitter_s", Kind::Number, "maximum additional delay"),
    column("loss", Kind::Number, "loss rate"),
    column("duplicate", Kind::Number, "duplication rate"),
    column("reorder", Kind::Number, "reordering rate"),
    column("reorder_delay_s", Kind::Number, "additional delay of reordered packets"),
    column("damage", Kind::Text, "damage on the forward path"),
    column("reverse_damage", Kind::Text, "damage on the reverse path"),
    column("share_hit", Kind::Number, "expected share of data packets that are damaged"),
    column("header_hit", Kind::Number, "share of those with a damaged header; empty: bit positions decide"),
    column("hit_zone", Kind::Text, "headers that can be damaged"),
    column("flips", Kind::Integer, "flipped bits per damaged packet; empty: the damage model decides"),
    column("frame_check", Kind::Text, "treatment of damaged frames by the link"),
    column("companions", Kind::Text, "other flows on the link"),
    column("rivals", Kind::Text, "other flows whose goodput is measured"),
    column("cross_bps", Kind::Integer, "rate of the cross traffic"),
    column("bound_bps", Kind::Number, "upper bound of the goodput of a sender of whole packets"),
    column("run", Kind::Integer, "number of the run within its cell"),
    column("seed", Kind::Integer, "seed of the run"),
    column("finished", Kind::Flag, "all data arrived within the time limit"),
    column("seconds", Kind::Number, "time until the last byte arrived or the run was ended"),
    column("goodput_bps", Kind::Number, "payload bits delivered per second"),
    column("share_of_bound", Kind::Number, "goodput as a share of the bound"),
    column("oracle_bps", Kind::Number, "goodput of the oracle in the same run; empty: no oracle"),
    column("share_of_oracle", Kind::Number, "goodput as a share of the oracle's goodput"),
    column("sha256_ok", Kind::Flag, "the SHA-256 of the received data is correct"),
    column("damaged_bytes_delivered", Kind::Integer, "damaged bytes delivered"),
    column("undetected_packets", Kind::Integer, "damaged packets that passed every check"),
    column("delivered_bytes", Kind::Integer, "bytes delivered"),
    column("octets_sent", Kind::Integer, "payload bytes sent, including retransmissions"),
    column("retransmissions", Kind::Integer, "retransmitted segments"),
    column("timeouts", Kind::Integer, "expiries of the retransmission timer"),
    column("slow_starts", Kind::Integer, "reductions of the window to one segment"),
    column("fast_recoveries", Kind::Integer, "number of fast recoveries"),
    column("special_acks", Kind::Integer, "special ACKs sent"),
    column("queue_drops", Kind::Integer, "packets dropped by the queue"),
    column("drops_per_megabyte", Kind::Number, "queue drops per 10^6 bytes delivered to all flows"),
    column("jain", Kind::Number, "Jain's fairness index when the first flow finished or the duration ended"),
    column(
        "jain_alike",
        Kind::Number,
        "Jain's fairness index of the flows with the measured sender, rivals excluded",
    ),
    column("rival_goodput_bps", Kind::Number, "mean goodput of the rivals until then"),
    column("companions_bps", Kind::Text, "goodput of each companion and rival until then"),
    column("box_late_s", Kind::Number, "real time: 99th percentile of the lateness of packets in the box"),
    column("box_latest_s", Kind::Number, "real time: maximum of that lateness"),
    column("failure", Kind::Text, "why the connection failed"),
];

/// The parameters of a cell, as the first columns have them.
pub(super) fn parameters(cell: &Cell) -> Vec<Value> {
    let scenario: &Scenario = &cell.scenario;
    let (forward, reverse) = (&scenario.forward, &scenario.reverse);
    let text = |text: &dyn ToString| Value::Text(text.to_string());
    let integer = Value::Integer;
    let rate = |rate: Option<Rate>| rate.map_or(Value::Nothing, |rate| integer(rate.bits_per_second()));
    let share = |share: Share| Value::Number(share.value());
    let flows = |rival: bool| {
        let name =
            |other: &Companion| format!("{}{}", other.sender, if other.damaged { "" } else { " undamaged" });
        let flows: Vec<String> =
            scenario.companions.iter().filter(|other| other.rival == rival).map(name).collect();
        flows.join(", ")
    };
    let tcp = match &cell.sender {
        Sender::Ours(entrant) => entrant.tcp(),
        Sender::Foreign(_) => None,
    };
    let foreign = match &cell.sender {
        Sender::Ours(_) => None,
        Sender::Foreign(foreign) => Some(foreign),
    };
    let of_tcp = |value: Option<String>| value.map_or(Value::Nothing, Value::Text);
    let variant = match (tcp, foreign) {
        (Some(tcp), _) => text(&tcp.variant),
        (None, Some(foreign)) => text(&foreign.name()),
        (None, None) => text(&cell.sender),
    };
    let congestion = match (tcp, foreign) {
        (Some(tcp), _) => Some(congestion_name(scenario.profile_of(tcp).congestion)),
        (None, foreign) => foreign.and_then(Foreign::congestion),
    };
    vec![
        text(&cell.clock.name()),
        of_tcp(tcp.map(|tcp| scenario.profile_name(tcp).to_string())),
        text(&match scenario.rules {
            HackRules::Literal => "literal",
            HackRules::Default => "default",
        }),
        variant,
        of_tcp(congestion.map(str::to_owned)),
        text(&scenario.switches),
        Value::Flag(scenario.warm),
        cell.size.map_or(Value::Nothing, |size| integer(size.bytes())),
        scenario.duration.map_or(Value::Nothing, |duration| Value::Number(duration.as_secs_f64())),
        integer(scenario.window.bytes()),
        integer(scenario.mtu.into()),
        scenario.retries.map_or(Value::Nothing, |retries| integer(retries.into())),
        Value::Number(scenario.time_limit.as_secs_f64()),
        rate(forward.rate),
        rate(reverse.rate),
        Value::Number(forward.delay.as_secs_f64()),
        text(&forward.queue),
        forward.mark.map_or(Value::Nothing, |mark| text(&mark)),
        integer(forward.overhead.into()),
        Value::Number(forward.jitter.as_secs_f64()),
        share(forward.loss),
        share(forward.duplicate),
        share(forward.reorder),
        Value::Number(forward.reorder_delay.as_secs_f64()),
        text(&forward.damage),
        text(&reverse.damage),
        Value::Number(scenario.share_hit()),
        forward.header_hit.map_or(Value::Nothing, share),
        text(&forward.hit_zone),
        forward.flips.map_or(Value::Nothing, |flips| integer(flips.into())),
        text(&forward.frame_check),
        Value::Text(flows(false)),
        Value::Text(flows(true)),
        scenario.cross.map_or(Value::Nothing, |cross| integer(cross.rate.bits_per_second())),
        scenario.bound().map_or(Value::Nothing, Value::Number),
    ]
}

/// The measures of a run, as the last columns have them.
pub(super) fn measures(row: &Row) -> Vec<Value> {
    let integer = Value::Integer;
    let count = |count: Option<u64>| count.map_or(Value::Nothing, Value::Integer);
    vec![
        integer(row.run.into()),
        integer(row.seed),
        Value::Flag(row.finished),
        Value::Number(row.seconds),
        Value::Number(row.goodput_bps),
        row.share_of_bound.map_or(Value::Nothing, Value::Number),
        row.oracle_bps.map_or(Value::Nothing, Value::Number),
        row.share_of_oracle.map_or(Value::Nothing, Value::Number),
        row.sha256_ok.map_or(Value::Nothing, Value::Flag),
        integer(row.damaged_bytes_delivered),
        count(row.undetected_packets),
        integer(row.delivered_bytes),
        count(row.octets_sent),
        count(row.retransmissions),
        count(row.timeouts),
        count(row.slow_starts),
        count(row.fast_recoveries),
        count(row.special_acks),
        count(row.queue_drops),
        Value::Number(row.drops_per_megabyte),
        Value::Number(row.jain),
        Value::Number(row.jain_alike),
        row.rival_goodput_bps.map_or(Value::Nothing, Value::Number),
        Value::Text(row.companions_bps.iter().map(|rate| format!("{rate:.0}")).collect::<Vec<_>>().join(" ")),
        row.box_late_s.map_or(Value::Nothing, Value::Number),
        row.box_latest_s.map_or(Value::Nothing, Value::Number),
        row.failure.clone().map_or(Value::Nothing, Value::Text),
    ]
}
