//! Keys of a trunk between the hosts, and of the links between them and its gateways.

use headway_sim::race::Trunk;
use headway_units::{Duration, Rate};

use super::text::{parse, put, rate, unless, window};
use crate::key::{Access, Key, Scope, Unset};
use crate::quantity::{Dimension, Quantity};
use crate::settings::Settings;

/// What a column shows, and a key does, where there is no trunk.
const NO_TRUNK: &str = "there is no trunk";

pub(super) const TRUNK: [Key; 8] = [
    Key {
        name: "trunk",
        value_name: Some("SENDER"),
        help: "Gateways at both ends of the link carry what the hosts send in TCP of this sender, such as hack+sack or \
               headway: TCP Trunk (virtual time only)",
        meaning: Some("sender of the trunk that carries what the hosts send"),
        default: Unset::Nothing("none: the hosts send across the link themselves"),
        empty: Some("no trunk"),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| {
                let sender = unless("none", text)?;
                settings.scenario.trunk = sender.map(|sender| Trunk::new(sender, settings.scenario.window));
                Ok(())
            },
            get: |settings| of_trunk(settings, "none", |trunk| Quantity::text(trunk.sender)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "trunk-mode",
        value_name: Some("packets|split"),
        help: "What the trunk carries: packets, IP packets in one connection, as the papers' TCP Trunk; or split, the \
               bytes of each connection of the hosts, which ends at the gateways, in a connection of its own",
        meaning: Some("what the trunk carries"),
        default: Unset::Nothing("packets"),
        empty: Some(NO_TRUNK),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| set(settings, parse(text)?, |trunk, mode| trunk.mode = mode),
            get: |settings| of_trunk(settings, "", |trunk| Quantity::text(trunk.mode)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "trunk-window",
        dimension: Dimension::Bytes,
        value_name: Some("SIZE"),
        help: "The largest window between the gateways",
        default: Unset::Nothing("that of the hosts"),
        empty: Some(NO_TRUNK),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| set(settings, window(text)?, |trunk, window| trunk.window = window),
            get: |settings| of_trunk(settings, "", |trunk| Quantity::Size(trunk.window)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "trunk-queue",
        value_name: Some("LIMIT"),
        help: "Limit of the queue in front of a trunk of packets: 50p, 64KiB or unlimited",
        default: Unset::Nothing("50p"),
        empty: Some(NO_TRUNK),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| set(settings, parse(text)?, |trunk, queue| trunk.queue = queue),
            get: |settings| of_trunk(settings, "", |trunk| Quantity::text(trunk.queue)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "trunk-aqm",
        value_name: Some("DISCIPLINE"),
        help: "Active queue management of the queue in front of a trunk of packets, as --aqm",
        default: Unset::Nothing("none"),
        empty: Some(NO_TRUNK),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| set(settings, parse(text)?, |trunk, aqm| trunk.aqm = aqm),
            get: |settings| of_trunk(settings, "", |trunk| Quantity::text(trunk.aqm)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "trunk-cost",
        dimension: Dimension::Time,
        help: "Time that a gateway takes for each packet of the hosts that goes into a trunk of packets, one after the \
               other",
        default: Unset::Nothing("0"),
        empty: Some(NO_TRUNK),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| set(settings, parse::<Duration>(text)?, |trunk, cost| trunk.cost = cost),
            get: |settings| of_trunk(settings, "", |trunk| Quantity::Time(trunk.cost)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "edge-rate",
        dimension: Dimension::Rate,
        help: "Rate of the clean link between each host and its end of the shared link",
        default: Unset::Nothing("infinitely fast"),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| {
                let edge: Option<Rate> = if text == "unlimited" { None } else { Some(rate(text)?) };
                settings.scenario.edge.rate = edge;
                Ok(())
            },
            get: |settings| settings.scenario.edge.rate.map_or(Quantity::Unset("unlimited"), Quantity::Rate),
        },
        ..Key::PLAIN
    },
    Key {
        name: "edge-delay",
        dimension: Dimension::Time,
        help: "One-way delay of the clean link between each host and its end of the shared link",
        default: Unset::Value("0"),
        scope: Scope::Trunk,
        access: Access::Settings {
            set: |settings, text| put(&mut settings.scenario.edge.delay, text),
            get: |settings| Quantity::Time(settings.scenario.edge.delay),
        },
        ..Key::PLAIN
    },
];

/// Without a trunk there is nothing to set, so that a sweep can compare trunks with none.
fn set<V>(settings: &mut Settings, value: V, set: fn(&mut Trunk, V)) -> Result<(), String> {
    if let Some(trunk) = &mut settings.scenario.trunk {
        set(trunk, value);
    }
    Ok(())
}

fn of_trunk(settings: &Settings, without: &'static str, get: fn(&Trunk) -> Quantity) -> Quantity {
    settings.scenario.trunk.as_ref().map_or(Quantity::Unset(without), get)
}
