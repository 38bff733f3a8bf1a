//! Keys of other traffic on the link.

use headway_sim::race::{Companion, CrossTraffic, TcpSender};

use super::text::{parse, rate};
use crate::key::{Access, Key, Scope, Unset};
use crate::quantity::{Dimension, Quantity};

pub(super) const TRAFFIC: [Key; 4] = [
    Key {
        name: "companions",
        value_name: Some("SENDERS"),
        help: "Other flows on the link, as `3 modern:cubic undamaged, sack`: how many, their sender, and \
               whether damage spares them",
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
        help: "Rate of cross traffic: UDP datagrams that respond to no congestion",
        default: Unset::Nothing("none"),
        scope: Scope::Traffic,
        access: Access::Settings {
            set: |settings, text| {
                let packet = settings.scenario.mtu;
                settings.scenario.cross = match text {
                    "none" => None,
                    _ => Some(CrossTraffic { rate: rate(text)?, packet }),
                };
                Ok(())
            },
            get: |settings| {
                settings.scenario.cross.map_or(Quantity::Unset("none"), |cross| Quantity::Rate(cross.rate))
            },
        },
        ..Key::PLAIN
    },
    Key {
        name: "cross-packet",
        dimension: Dimension::Bytes,
        help: "Length of its datagrams, headers included",
        default: Unset::Nothing("the MTU"),
        empty: Some("there is no cross traffic"),
        scope: Scope::Traffic,
        access: Access::Settings {
            set: |settings, text| {
                let packet = parse(text)?;
                if let Some(cross) = &mut settings.scenario.cross {
                    cross.packet = packet;
                }
                Ok(())
            },
            get: |settings| {
                let cross = settings.scenario.cross;
                cross.map_or(Quantity::Unset(""), |cross| Quantity::Bytes(cross.packet.into()))
            },
        },
        ..Key::PLAIN
    },
];

/// `sack, 3 modern:bbr undamaged`: senders, each with how many there are and whether damage spares them.
fn flows(flows: &mut Vec<Companion>, value: &str, rival: bool) -> Result<(), String> {
    /// Addresses are given by one byte.
    const MAX_FLOWS: usize = 200;
    flows.retain(|other| other.rival != rival);
    for flow in value.split(',').map(str::trim).filter(|flow| !flow.is_empty() && *flow != "none") {
        let (name, damaged) = match flow.strip_suffix(" undamaged") {
            Some(name) => (name.trim(), false),
            None => (flow, true),
        };
        let (count, name) = match name.split_once(' ') {
            Some((count, name)) => (parse::<usize>(count)?, name.trim()),
            None => (1, name),
        };
        let sender: TcpSender = parse(name)?;
        if count > MAX_FLOWS - flows.len().min(MAX_FLOWS) {
            return Err(format!(
                "{value:?}: expected at most {MAX_FLOWS} flows beside the one that is measured"
            ));
        }
        flows.extend(std::iter::repeat_n(Companion { sender, damaged, rival }, count));
    }
    Ok(())
}

fn flow_names(flows: &[Companion], rival: bool) -> Quantity {
    let name =
        |other: &Companion| format!("{}{}", other.sender, if other.damaged { "" } else { " undamaged" });
    let names: Vec<String> = flows.iter().filter(|other| other.rival == rival).map(name).collect();
    Quantity::Text(names.join(", "))
}
