//! Names and data of the records of a qlog file.

use headway_tcp::{DropReason, Event, RecoveryPhase, RetransmitReason};
use headway_units::{Duration, Rate};
use headway_wire::{SeqNumber, TcpFlags};
use serde_json::{Map, Value, json};

use crate::events::name;

/// The name of an event, and its data.
pub(super) type Body = (&'static str, Value);

/// What the host says of a segment.
pub(super) struct Segment {
    pub(super) seq: SeqNumber,
    pub(super) len: u32,
    pub(super) ack: SeqNumber,
    pub(super) flags: TcpFlags,
}

impl Segment {
    fn tcp(&self) -> Value {
        json!({ "seq": self.seq.0, "ack": self.ack.0, "flags": format!("{:?}", self.flags) })
    }

    /// The nearest that QUIC has: tools tell handshakes from data by it.
    fn packet_type(&self) -> &'static str {
        if self.flags.contains(TcpFlags::SYN) { "initial" } else { "1RTT" }
    }
}

pub(super) fn sent(number: u64, segment: Segment, reason: Option<RetransmitReason>) -> Body {
    let mut data = json!({
        "header": { "packet_type": segment.packet_type(), "packet_number": number },
        "raw": { "payload_length": segment.len },
        "tcp": segment.tcp(),
    });
    if let Some(trigger) = reason.and_then(sent_by) {
        data["trigger"] = json!(trigger);
    }
    ("quic:packet_sent", data)
}

pub(super) fn received(segment: Segment) -> Body {
    let data = json!({
        "header": { "packet_type": segment.packet_type() },
        "raw": { "payload_length": segment.len },
        "tcp": segment.tcp(),
    });
    ("quic:packet_received", data)
}

/// The `trigger` of a retransmission, where QUIC has one.
fn sent_by(reason: RetransmitReason) -> Option<&'static str> {
    match reason {
        RetransmitReason::FastRetransmit | RetransmitReason::Rescue => Some("retransmit_reordered"),
        RetransmitReason::Timeout | RetransmitReason::Stale => Some("retransmit_timeout"),
        RetransmitReason::TailProbe | RetransmitReason::Probe => Some("pto_probe"),
        _ => None,
    }
}

/// Whether the transmission before a retransmission is taken not to have brought its data; probes say nothing of that.
pub(super) fn answers_loss(reason: RetransmitReason) -> bool {
    matches!(
        reason,
        RetransmitReason::FastRetransmit
            | RetransmitReason::Stale
            | RetransmitReason::Timeout
            | RetransmitReason::Damage
    )
}

/// How QUIC would say that it was found; it has no word for damage.
fn lost_by(reason: RetransmitReason) -> Option<&'static str> {
    match reason {
        RetransmitReason::FastRetransmit => Some("reordering_threshold"),
        RetransmitReason::Stale => Some("time_threshold"),
        RetransmitReason::Timeout => Some("pto_expired"),
        _ => None,
    }
}

pub(super) fn lost(number: u64, (seq, len): (SeqNumber, u32), reason: RetransmitReason) -> Body {
    let mut data = json!({
        "header": { "packet_type": "1RTT", "packet_number": number },
        "reason": name(reason),
        "tcp": { "seq": seq.0, "length": len },
    });
    if let Some(trigger) = lost_by(reason) {
        data["trigger"] = json!(trigger);
    }
    ("quic:packet_lost", data)
}

pub(super) fn retransmission(
    (seq, len): (SeqNumber, u32),
    last: Option<u64>,
    reason: RetransmitReason,
) -> Body {
    let mut data = json!({ "seq": seq.0, "length": len, "reason": name(reason) });
    if let Some(last) = last {
        data["last_transmission"] = json!(last);
    }
    ("headway:retransmission", data)
}

pub(super) fn metrics(changed: Map<String, Value>) -> Body {
    ("quic:recovery_metrics_updated", Value::Object(changed))
}

/// In bytes. A threshold that was never set is left out.
pub(super) fn window(cwnd: u32, ssthresh: u32, pipe: u32) -> Map<String, Value> {
    let mut metrics = Map::new();
    metrics.insert("congestion_window".into(), json!(cwnd));
    metrics.insert("bytes_in_flight".into(), json!(pipe));
    if ssthresh < u32::MAX {
        metrics.insert("ssthresh".into(), json!(ssthresh));
    }
    metrics
}

/// "all following rtt fields are expressed in ms"; the pacing rate "in bits per second".
pub(super) fn timing(times: [Duration; 4], pacing: Option<Rate>) -> Map<String, Value> {
    let keys = ["latest_rtt", "smoothed_rtt", "rtt_variance", "min_rtt"];
    let millis = |time: Duration| json!(time.as_nanos() as f64 / 1e6);
    let mut metrics: Map<String, Value> =
        keys.into_iter().zip(times).map(|(key, time)| (key.to_owned(), millis(time))).collect();
    if let Some(rate) = pacing {
        metrics.insert("pacing_rate".into(), json!(rate.bits_per_second()));
    }
    metrics
}

pub(super) fn congestion_state(phase: RecoveryPhase) -> Body {
    let new = match phase {
        RecoveryPhase::Fast => "recovery",
        RecoveryPhase::Timeout => "timeout_recovery",
        RecoveryPhase::Over => "recovered",
        RecoveryPhase::Spurious => "spurious_recovery",
    };
    ("quic:congestion_state_updated", json!({ "new": new }))
}

pub(super) fn dropped(reason: DropReason) -> Body {
    let trigger = match reason {
        DropReason::UnacceptableAck | DropReason::NoAck | DropReason::Unprotected => "invalid",
        DropReason::OutsideWindow
        | DropReason::Paws
        | DropReason::Challenged
        | DropReason::ReassemblyFull => "rejected",
        _ => "general",
    };
    ("quic:packet_dropped", json!({ "trigger": trigger, "reason": name(reason) }))
}

pub(super) fn mtu(mtu: u16) -> Body {
    ("quic:mtu_updated", json!({ "new": mtu }))
}

/// An event that only TCP or TCP HACK has.
pub(super) fn of_headway(event: &Event) -> Body {
    match *event {
        Event::Acknowledged { una } => ("headway:acknowledged", json!({ "una": una.0 })),
        Event::Damaged { seq, len, outcome } => {
            let data = json!({ "seq": seq.0, "length": len, "outcome": name(outcome) });
            ("headway:segment_corrupted", data)
        }
        Event::Repaired { header, len, flips, .. } => {
            let data = json!({ "seq": header.seq.0, "length": len, "flipped_bits": flips });
            ("headway:header_repaired", data)
        }
        Event::Completed { seq, len } => {
            ("headway:segment_completed", json!({ "seq": seq.0, "length": len }))
        }
        Event::SpecialAckSent { seq, count } => {
            ("headway:special_ack_sent", json!({ "seq": seq.0, "count": count }))
        }
        Event::SpecialAckReceived { seq, count, accepted } => {
            let data = json!({ "seq": seq.0, "count": count, "accepted": accepted });
            ("headway:special_ack_received", data)
        }
        Event::TimerExpired(timer) => ("headway:timer_expired", json!({ "timer": name(timer) })),
        Event::StateChanged { from, to } => {
            ("headway:tcp_state_updated", json!({ "old": name(from), "new": name(to) }))
        }
        Event::Icmp(kind) => ("headway:icmp_received", json!({ "kind": name(kind) })),
        Event::PathMtu { .. } => ("headway:path_mtu_forgotten", json!({})),
        ref other => ("headway:other", json!({ "text": format!("{other:?}") })),
    }
}
