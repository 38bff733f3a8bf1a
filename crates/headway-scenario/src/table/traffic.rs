//! Keys of other traffic on the link.

use headway_sim::race::{Companion, CrossTraffic};
use headway_units::{Duration, Size};

use super::text::{parse, rate};
use crate::key::{Access, Key, Scope, Unset};
use crate::quantity::{Dimension, Quantity};
use crate::traces::Traces;

pub(super) const TRAFFIC: [Key; 4] = [
    Key {
        name: "companions",
        value_name: Some("SENDERS"),
        help: "Other flows on the link, as `3 modern:cubic undamaged, sack after 20s size 256KiB delay 50ms`: \
               how many, their sender, and perhaps that damage spares them, when they begin, how much they \
               send, their one-way delay in addition to that of the link, and which of several hops they pass, \
               as `modern:cubic hops 2` or `hops 1-3`",
        meaning: Some("other flows on the link"),
        default: Unset::Value("none"),
        scope: Scope::Traffic,
        access: Access::Settings {
            set: |settings, text| flows(&mut settings.scenario.companions, text, false),
            get: |settings| flow_names(&settings.scenario.companions, false),
        },
        ..Key::PLAIN
    },
    Key {
        name: "rivals",
        value_name: Some("SENDERS"),
        help: "The same, but of flows whose share of the link is measured",
        meaning: Some("other flows whose goodput is measured"),
        default: Unset::Value("none"),
        scope: Scope::Traffic,
        access: Access::Settings {
            set: |settings, text| flows(&mut settings.scenario.companions, text, true),
            get: |settings| flow_names(&settings.scenario.companions, true),
        },
        ..Key::PLAIN
    },
    Key {
        name: "cross",
        dimension: Dimension::Rate,
        value_name: Some("RATE|pcap:FILE"),
        help: "Cross traffic: UDP datagrams that respond to no congestion, at a rate, or with the times and lengths \
               of the IP packets in a capture (of those `:to=ADDRESS` or `:from=ADDRESS`), again and again",
        meaning: Some(
            "rate of cross traffic: UDP datagrams that respond to no congestion; of recorded traffic the mean",
        ),
        default: Unset::Nothing("none"),
        scope: Scope::Traffic,
        access: Access::File {
            set: |settings, text, traces| {
                settings.scenario.cross = cross(text, settings.scenario.mtu, traces)?;
                Ok(())
            },
            get: |settings| match &settings.scenario.cross {
                None => Quantity::Unset("none"),
                Some(CrossTraffic::Constant { rate, .. }) => Quantity::Rate(*rate),
                Some(CrossTraffic::Replay(trace)) => {
                    Quantity::Replay(format!("pcap:{}", trace.name()), trace.mean_rate())
                }
            },
        },
        ..Key::PLAIN
    },
    Key {
        name: "cross-packet",
        dimension: Dimension::Bytes,
        help: "Length of its datagrams, headers included",
        default: Unset::Nothing("the MTU"),
        empty: Some("there is no cross traffic, or its datagrams have the lengths of a capture"),
        scope: Scope::Traffic,
        access: Access::Settings {
            set: |settings, text| {
                let len = parse(text)?;
                match &mut settings.scenario.cross {
                    None => Ok(()),
                    Some(CrossTraffic::Constant { packet, .. }) => {
                        *packet = len;
                        Ok(())
                    }
                    Some(CrossTraffic::Replay(_)) => Err(format!(
                        "{text:?}: expected none: the packets of a capture have their own lengths"
                    )),
                }
            },
            get: |settings| match settings.scenario.cross {
                Some(CrossTraffic::Constant { packet, .. }) => Quantity::Bytes(packet.into()),
                _ => Quantity::Unset(""),
            },
        },
        ..Key::PLAIN
    },
];

/// `10mbit`, or `pcap:FILE`, whose packets have at most `mtu` bytes.
fn cross(text: &str, mtu: u16, traces: &Traces<'_>) -> Result<Option<CrossTraffic>, String> {
    if text == "none" {
        return Ok(None);
    }
    let recorded = traces.packets(text).map_err(|error| error.to_string())?;
    let Some(trace) = recorded else {
        return Ok(Some(CrossTraffic::Constant { rate: rate(text)?, packet: mtu }));
    };
    trace.check(mtu).map_err(|error| format!("{}: {error}", trace.name()))?;
    Ok(Some(CrossTraffic::Replay(trace)))
}

/// `sack, 3 modern:bbr undamaged after 20s size 256KiB delay 50ms`: senders, each with how many there are, and what
/// distinguishes them.
fn flows(flows: &mut Vec<Companion>, value: &str, rival: bool) -> Result<(), String> {
    /// More than these are a typing mistake.
    const MAX_FLOWS: usize = 2000;
    flows.retain(|other| other.rival != rival);
    for flow in value.split(',').map(str::trim).filter(|flow| !flow.is_empty() && *flow != "none") {
        let mut words = flow.split_whitespace().peekable();
        let count = words.next_if(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        let count = count.map_or(Ok(1), parse::<usize>)?;
        let mut companion = Companion::new(parse(words.next().unwrap_or_default())?);
        companion.rival = rival;
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("{flow:?}: expected a value after {word:?}"));
            match word {
                "undamaged" => companion.damaged = false,
                "after" => companion.start = parse(value()?)?,
                "size" => companion.size = Some(parse::<Size>(value()?)?.bytes()),
                "delay" => companion.delay = parse(value()?)?,
                "hops" => companion.hops = parse(value()?)?,
                _ => {
                    return Err(format!(
                        "{flow:?}: expected undamaged, after, size, delay or hops, found {word:?}"
                    ));
                }
            }
        }
        if count > MAX_FLOWS - flows.len().min(MAX_FLOWS) {
            return Err(format!(
                "{value:?}: expected at most {MAX_FLOWS} flows beside the one that is measured"
            ));
        }
        flows.extend(std::iter::repeat_n(companion, count));
    }
    Ok(())
}

fn flow_names(flows: &[Companion], rival: bool) -> Quantity {
    let name = |other: &Companion| {
        let mut text = other.sender.to_string();
        if !other.damaged {
            text += " undamaged";
        }
        if other.start > Duration::ZERO {
            text += &format!(" after {}", other.start);
        }
        if let Some(size) = other.size {
            text += &format!(" size {}", Size::from_bytes(size));
        }
        if other.delay > Duration::ZERO {
            text += &format!(" delay {}", other.delay);
        }
        if !other.hops.is_all() {
            text += &format!(" hops {}", other.hops);
        }
        text
    };
    let names: Vec<String> = flows.iter().filter(|other| other.rival == rival).map(name).collect();
    Quantity::Text(names.join(", "))
}
