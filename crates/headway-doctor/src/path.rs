//! The findings about a path.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use headway_transport::{Stream, Transport, TransportError};
use headway_wire::options::kind;
use tokio::time::timeout;

use super::TIME_LIMIT;
use super::findings::{Findings, Mark};
use super::lines::Lines;
use super::peer;
use super::watch::{DirectionRecord, PeerRecord, Records, Syn};

/// Connects, and reports what passed. Fails where no connection opens.
pub(super) async fn examine(
    findings: &mut Findings,
    transport: &Transport,
    records: &Records,
    remote: SocketAddr,
) -> Result<(), TransportError> {
    let stream = match transport.connect(remote).await {
        Ok(stream) => stream,
        Err(error) => {
            findings.add("path", Mark::Bad, error.to_string());
            return Err(error);
        }
    };
    findings.add("path", Mark::Good, "packets pass in both directions".into());
    if stream.negotiated().is_none() {
        findings.add("options", Mark::Unknown, "the kernel's TCP does not report them".into());
        return Ok(());
    }
    let mut lines = Lines::new(stream);
    let report = timeout(TIME_LIMIT, peer::request(&mut lines)).await;
    let ours = records.of(remote);
    match report {
        Ok(Ok(theirs)) => {
            agreed(findings, lines.stream(), true);
            let ecn = lines.stream().negotiated().is_some_and(|agreed| agreed.ecn);
            compare(findings, &ours, &theirs, ecn);
        }
        Ok(Err(_)) | Err(_) => {
            agreed(findings, lines.stream(), false);
            let text = "the peer does not say what arrived: with `headway doctor --listen PORT` there it is \
                        report stripped options, damage and ECN";
            findings.add("details", Mark::Unknown, text.into());
        }
    }
    Ok(())
}

fn agreed(findings: &mut Findings, stream: &Stream, is_doctor: bool) {
    let Some(agreed) = stream.negotiated() else { return };
    let options = [
        ("SACK", agreed.sack),
        ("timestamps", agreed.timestamps),
        ("window scaling", agreed.window_scaling),
        ("HACK (kinds 14 and 15)", agreed.hack),
        ("Extended HACK (kind 16)", agreed.xhack),
        ("HACK v2", agreed.v2),
    ];
    let list = |wanted: bool| {
        let names = options.iter().filter(|(_, on)| *on == wanted).map(|(name, _)| (*name).to_owned());
        join(names.collect())
    };
    let ours = agreed.hack || agreed.v2;
    let mut text = format!("negotiated: {}; not: {}", list(true), list(false));
    if !ours && !is_doctor {
        text += ": the peer does not support HACK or has it disabled, or the path removes unknown options";
    }
    findings.add("options", if ours { Mark::Good } else { Mark::Unknown }, text);
}

/// The packets as sent and as received.
fn compare(findings: &mut Findings, ours: &PeerRecord, theirs: &PeerRecord, uses_ecn: bool) {
    for (direction, sent, received) in
        [("there", &ours.sent, &theirs.received), ("back", &theirs.sent, &ours.received)]
    {
        let (mark, text) = syns(sent, received);
        findings.add(&format!("options {direction}"), mark, text);
        // The peer's report is complete before its answer ends: it damages as many segments as this end.
        let tried = direction == "back" || sent.damaged > 0;
        let (mark, text) = if tried { damage(received) } else { (Mark::Noted, "not tried".into()) };
        findings.add(&format!("damage {direction}"), mark, text);
        let (mark, text) = match received.codepoints.iter().any(|&codepoint| codepoint != 0) {
            true => (Mark::Good, "the field arrives"),
            false if uses_ecn => (Mark::Bad, "the field is cleared on the path"),
            false => (Mark::Noted, "not negotiated"),
        };
        findings.add(&format!("ECN {direction}"), mark, text.into());
    }
}

/// How the SYNs, or the SYN-ACKs, arrived.
fn syns(sent: &DirectionRecord, received: &DirectionRecord) -> (Mark, String) {
    let (Some(first), Some(arrived)) = (sent.syns.first(), received.syns.first()) else {
        return (Mark::Unknown, "the SYN was not seen".into());
    };
    if arrived.is_like(first) {
        let names = join(kinds(first).into_iter().map(name).collect());
        return (Mark::Good, format!("all arrive unchanged: {names}"));
    }
    if sent.syns.iter().any(|syn| arrived.is_like(syn)) {
        let missing = join(kinds(first).difference(&kinds(arrived)).copied().map(name).collect());
        return (
            Mark::Bad,
            format!("SYNs with {missing} do not arrive, or only after retransmission; others do"),
        );
    }
    let mut words = Vec::new();
    let gone: Vec<String> = kinds(first).difference(&kinds(arrived)).copied().map(name).collect();
    if !gone.is_empty() {
        words.push(format!("removed on the path: {}", join(gone)));
    }
    let new: Vec<String> = kinds(arrived).difference(&kinds(first)).copied().map(name).collect();
    if !new.is_empty() {
        words.push(format!("added on the path: {}", join(new)));
    }
    for (kind, value) in &first.options {
        let other = arrived.options.iter().find(|(other, _)| other == kind);
        if let Some((_, other)) = other.filter(|(_, other)| *kind != kind::TIMESTAMPS && other != value) {
            words.push(format!("changed on the path: {} from {} to {}", name(*kind), hex(value), hex(other)));
        }
    }
    if first.flags != arrived.flags {
        words.push(format!("control bits changed from {:#04x} to {:#04x}", first.flags, arrived.flags));
    }
    if words.is_empty() {
        words.push("in another order".into());
    }
    // Routers before tunnels reduce the MSS, which is harmless.
    let harmless = words.len() == 1 && words[0].starts_with("changed on the path: MSS");
    (if harmless { Mark::Noted } else { Mark::Bad }, words.join("; "))
}

fn damage(received: &DirectionRecord) -> (Mark, String) {
    if received.damaged > 0 {
        return (Mark::Good, format!("{} damaged packets arrived", received.damaged));
    }
    let text = "packets that were sent damaged do not arrive: a frame check, a checksum or an offload \
                (rx-checksum, rx-lro, rx-gro) on the path takes them away";
    (Mark::Bad, text.into())
}

fn kinds(syn: &Syn) -> BTreeSet<u8> {
    syn.options.iter().map(|(kind, _)| *kind).collect()
}

fn name(kind: u8) -> String {
    match kind {
        kind::MSS => "MSS".into(),
        kind::WINDOW_SCALE => "window scaling".into(),
        kind::SACK_PERMITTED => "SACK".into(),
        kind::TIMESTAMPS => "timestamps".into(),
        kind::HACK => "HACK (kind 14)".into(),
        kind::EXPERIMENT => "HACK v2 (kind 253)".into(),
        other => format!("kind {other}"),
    }
}

fn hex(value: &[u8]) -> String {
    match value.first_chunk() {
        Some(number) if value.len() == 2 => u16::from_be_bytes(*number).to_string(),
        _ => value.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn join(names: Vec<String>) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
