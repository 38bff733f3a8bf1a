//! Keys of the sender and of its clock.

use headway_sim::race::{Feature, congestion_name, parse_congestion, parse_rules, rules_name};
use headway_tcp::congestion::Algorithm;

use super::text::{check, flag, parse, put, unless};
use crate::key::{Access, Key, Scope, Unset};
use crate::quantity::{Dimension, Quantity};
use crate::sender::{Foreign, Sender};
use crate::settings::Settings;

pub(super) const SENDER: [Key; 5] = [
    Key {
        name: "clock",
        value_name: Some("virtual|real"),
        help: "The time that runs take place in: the simulator's, or this machine's (`headway lab live`)",
        meaning: Some("virtual (the simulator's time) or real (this machine's)"),
        default: Unset::Value("virtual"),
        scope: Scope::Clock,
        access: Access::Settings {
            set: |settings, text| put(&mut settings.clock, text),
            get: |settings| Quantity::text(settings.clock.name()),
        },
        ..Key::PLAIN
    },
    Key {
        name: "profile",
        value_name: Some("linux22|standard|modern"),
        help: "The TCP underneath the papers' senders: Linux 2.2 as in the papers, the standard of the RFCs, \
               or today's, which ours always have",
        meaning: Some("profile of the sender"),
        default: Unset::Value("linux22"),
        empty: Some("not one of our TCPs"),
        access: Access::Settings {
            set: |settings, text| put(&mut settings.scenario.profile, text),
            get: |settings| Quantity::text(settings.scenario.profile),
        },
        resolved: Some(resolved_profile),
        ..Key::PLAIN
    },
    Key {
        name: "rules",
        value_name: Some("literal|default"),
        help: "How special ACKs are answered: as the paper's section 3.3 says and no more, or by the rules \
               that make HACK work",
        meaning: Some("rules by which the sender answers special ACKs"),
        default: Unset::Value("default"),
        access: Access::Settings {
            set: |settings, text| {
                settings.scenario.rules = parse_rules(text).map_err(|error| error.to_string())?;
                Ok(())
            },
            get: |settings| Quantity::text(rules_name(settings.scenario.rules)),
        },
        ..Key::PLAIN
    },
    Key {
        name: "variant",
        value_name: Some("NAME"),
        help: "The sender: the papers' newreno, sack, hack, hack+sack, xhack, xhack+sack; ours: modern, \
               modern+hack, headway; each perhaps with a congestion controller of cc, as in headway:cubic; such a \
               controller alone, which is modern with it; and oracle, which knows every hit at once",
        meaning: Some("sender"),
        default: Unset::Nothing("every sender in turn; files name one"),
        empty: Some(""),
        access: Access::Settings {
            set: |settings, text| {
                settings.variant = Some(parse(text)?);
                Ok(())
            },
            get: |settings| settings.variant.as_ref().map_or(Quantity::Unset(""), Quantity::text),
        },
        resolved: Some(resolved_variant),
        ..Key::PLAIN
    },
    Key {
        name: "cc",
        value_name: Some(Algorithm::CHOICE),
        help: "The congestion controller of senders that name none themselves; bbr is modified BBR, draft-bbr BBRv3 as in \
               draft-ietf-ccwg-bbr-06, copa and vivace (PCC) are those of NSDI 2018",
        meaning: Some("congestion controller of the sender"),
        default: Unset::Nothing("the sender's own: bbr of headway, cubic of modern"),
        empty: Some("the sender has none to choose"),
        access: Access::Settings {
            set: |settings, text| {
                settings.congestion = match text {
                    "default" => None,
                    _ => Some(parse_congestion(text).map_err(|error| error.to_string())?),
                };
                Ok(())
            },
            get: |settings| {
                settings.congestion.map_or(Quantity::Unset("default"), |algorithm| {
                    Quantity::text(congestion_name(algorithm))
                })
            },
        },
        resolved: Some(resolved_congestion),
        ..Key::PLAIN
    },
];

pub(super) fn feature(feature: Feature) -> Key {
    Key {
        name: feature.name(),
        dimension: Dimension::Flag,
        help: feature.help(),
        default: Unset::Nothing("as the sender has it"),
        scope: Scope::Feature,
        access: Access::Feature {
            feature,
            set: |features, feature, text| {
                if text != "default" {
                    features.set(feature, flag(text)?);
                }
                Ok(())
            },
        },
        ..Key::PLAIN
    }
}

pub(super) const WARM: Key = Key {
    name: "warm",
    dimension: Dimension::Flag,
    help: "Whether the hosts make one transfer before the one that is measured",
    meaning: Some("the hosts made one transfer before the measured one"),
    default: Unset::Value("off"),
    access: Access::Settings {
        set: |settings, text| {
            settings.scenario.warm = flag(text)?;
            Ok(())
        },
        get: |settings| Quantity::Flag(settings.scenario.warm),
    },
    ..Key::PLAIN
};

/// Where the sender starts.
pub(super) const TOLD: Key = Key {
    name: "told",
    value_name: Some("PERCENT"),
    help: "What the senders `headway` and the gateways of a trunk are told that the link carries, in percent of what it \
           does: 100 is right, 1000 ten times too much. They test it, and start from it",
    meaning: Some("rate that senders are told, in percent of the link's"),
    default: Unset::Value("none"),
    access: Access::Settings {
        set: |settings, text| {
            settings.scenario.told = unless("none", text)?;
            check(settings.scenario.told != Some(0), text, "expected at least 1, or none")
        },
        get: |settings| match settings.scenario.told {
            Some(percent) => Quantity::text(percent),
            None => Quantity::Unset("none"),
        },
    },
    ..Key::PLAIN
};

/// Of the hosts and not of the link: runs with and without it meet the same damage.
pub(super) const FRAMES: Key = Key {
    name: "frames",
    value_name: Some("drop|count"),
    help: "What a host does with a packet whose IP header is corrupted: drops it unseen, as on the Internet, or \
           counts it as a damaged packet of its only peer, as on a point-to-point link (see --hit-zone)",
    meaning: Some("what the hosts do with a packet whose IP header is corrupted"),
    default: Unset::Value("drop"),
    access: Access::Settings {
        set: |settings, text| put(&mut settings.scenario.frames, text),
        get: |settings| Quantity::text(settings.scenario.frames),
    },
    ..Key::PLAIN
};

/// Of our stack in real time; other senders have carriers of their own.
pub(super) const CARRIER: Key = Key {
    name: "carrier",
    value_name: Some("ip|udp"),
    help: "In real time: what carries the segments of our senders, IP packets or UDP datagrams without checksum",
    meaning: Some("real time: what carries the segments of our senders"),
    default: Unset::Value("ip"),
    scope: Scope::Clock,
    access: Access::Settings {
        set: |settings, text| put(&mut settings.carrier, text),
        get: |settings| Quantity::text(settings.carrier.name()),
    },
    ..Key::PLAIN
};

/// What each rule of the sender brings.
pub(super) const RULES_OFF: Key = Key {
    name: "rules-off",
    value_name: Some("NAME[+NAME]"),
    help: "Rules of the sender `headway` that do not hold, to see what each brings (docs/ledger.md names them)",
    meaning: Some("rules of the sender that do not hold"),
    default: Unset::Value("none"),
    access: Access::Settings {
        set: |settings, text| {
            settings.scenario.features.set_rules_off(parse(text)?);
            Ok(())
        },
        get: |settings| Quantity::text(settings.scenario.features.rules_off()),
    },
    ..Key::PLAIN
};

fn resolved_profile(settings: &Settings) -> Quantity {
    match settings.resolved_sender() {
        Some(Sender::Ours(entrant)) => entrant
            .tcp()
            .map_or(Quantity::Unset(""), |tcp| Quantity::text(settings.scenario.profile_name(tcp))),
        Some(Sender::Foreign(_)) => Quantity::Unset(""),
        None => Quantity::text(settings.scenario.profile),
    }
}

fn resolved_variant(settings: &Settings) -> Quantity {
    match settings.resolved_sender() {
        Some(Sender::Ours(entrant)) => match entrant.tcp() {
            Some(tcp) => Quantity::text(tcp.variant),
            None => Quantity::text(entrant),
        },
        Some(Sender::Foreign(foreign @ Foreign::Kcptun(_))) => Quantity::text(foreign),
        Some(Sender::Foreign(foreign)) => Quantity::text(foreign.name()),
        None => Quantity::Unset(""),
    }
}

fn resolved_congestion(settings: &Settings) -> Quantity {
    let name = match settings.resolved_sender() {
        Some(Sender::Ours(entrant)) => {
            entrant.tcp().map(|tcp| congestion_name(settings.scenario.profile_of(tcp).congestion).to_owned())
        }
        Some(Sender::Foreign(foreign)) => foreign.congestion().map(str::to_owned),
        None => settings.congestion.map(|algorithm| congestion_name(algorithm).to_owned()),
    };
    name.map_or(Quantity::Unset(""), Quantity::Text)
}
