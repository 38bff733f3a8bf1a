//! The keys of `[scenario]`: the options of `headway race`, under the same names and in the same units.

use std::str::FromStr;

use headway_link::Damage;
use headway_sim::race::{Companion, CrossTraffic, Scenario};
use headway_tcp::{HackRules, Variant};
use headway_trace::Way;
use headway_units::Size;

use crate::damage::Traces;

/// Every key.
pub(super) const KEYS: [&str; 27] = [
    "profile",
    "rules",
    "variant",
    "size",
    "window",
    "mtu",
    "retries",
    "time-limit",
    "rate",
    "reverse-rate",
    "delay",
    "queue",
    "overhead",
    "jitter",
    "loss",
    "duplicate",
    "reorder",
    "reorder-delay",
    "damage",
    "reverse-damage",
    "header-hit",
    "hit-zone",
    "flips",
    "frame-check",
    "companions",
    "cross",
    "cross-packet",
];

pub(super) fn is_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// What the keys describe.
pub(crate) struct Settings {
    pub(crate) scenario: Scenario,
    pub(crate) variant: Option<Variant>,
    pub(crate) size: Size,
}

const DEFAULT_SIZE: u64 = 2 << 20;
/// The smallest MTU that leaves room for data beside every option.
const LEAST_MTU: u16 = 128;

impl Settings {
    pub(crate) fn new() -> Self {
        let mut scenario = Scenario::default();
        scenario.forward.damage = Damage::None;
        scenario.forward.header_hit = None;
        Self { scenario, variant: None, size: Size::from_bytes(DEFAULT_SIZE) }
    }

    /// Sets one key; the error says what was expected.
    pub(crate) fn set(&mut self, key: &str, value: &str, traces: &Traces<'_>) -> Result<(), String> {
        let scenario = &mut self.scenario;
        let (forward, reverse) = (&mut scenario.forward, &mut scenario.reverse);
        match key {
            "profile" => scenario.profile = parse(value)?,
            "rules" => {
                scenario.rules = match value {
                    "literal" => HackRules::Literal,
                    "default" => HackRules::Default,
                    _ => return Err(format!("{value:?}: expected literal or default")),
                };
            }
            "variant" => self.variant = Some(parse(value)?),
            "size" => {
                self.size = parse(value)?;
                if self.size.bytes() == 0 {
                    return Err("expected at least one byte to send".into());
                }
            }
            "window" => {
                scenario.window = parse(value)?;
                if !(1..=1 << 30).contains(&scenario.window.bytes()) {
                    return Err(format!("{value:?}: expected between 1B and 1GiB"));
                }
            }
            "mtu" => {
                scenario.mtu = parse(value)?;
                if scenario.mtu < LEAST_MTU {
                    return Err(format!("{value:?}: expected at least {LEAST_MTU}"));
                }
            }
            "retries" => {
                scenario.retries = if value == "unlimited" { None } else { Some(parse(value)?) };
            }
            "time-limit" => scenario.time_limit = parse(value)?,
            "rate" => {
                forward.rate = Some(rate(value)?);
                reverse.rate = forward.rate;
            }
            "reverse-rate" => reverse.rate = Some(rate(value)?),
            "delay" => {
                forward.delay = parse(value)?;
                reverse.delay = forward.delay;
            }
            "queue" => {
                forward.queue = parse(value)?;
                reverse.queue = forward.queue;
            }
            "overhead" => {
                forward.overhead = parse(value)?;
                reverse.overhead = forward.overhead;
            }
            "jitter" => {
                forward.jitter = parse(value)?;
                reverse.jitter = forward.jitter;
            }
            "loss" => forward.loss = parse(value)?,
            "duplicate" => forward.duplicate = parse(value)?,
            "reorder" => forward.reorder = parse(value)?,
            "reorder-delay" => forward.reorder_delay = parse(value)?,
            "damage" => forward.damage = damage(value, key, traces)?,
            "reverse-damage" => reverse.damage = damage(value, key, traces)?,
            "header-hit" => {
                forward.header_hit = if value == "place" { None } else { Some(parse(value)?) };
                reverse.header_hit = forward.header_hit;
            }
            "hit-zone" => {
                forward.hit_zone = parse(value)?;
                reverse.hit_zone = forward.hit_zone;
            }
            "flips" => {
                forward.flips = Some(parse(value)?);
                reverse.flips = forward.flips;
            }
            "frame-check" => {
                forward.frame_check = parse(value)?;
                reverse.frame_check = forward.frame_check;
            }
            "companions" => scenario.companions = companions(value)?,
            "cross" => {
                let packet = scenario.cross.map_or(scenario.mtu, |cross| cross.packet);
                scenario.cross = match value {
                    "none" => None,
                    _ => Some(CrossTraffic { rate: rate(value)?, packet }),
                };
            }
            "cross-packet" => {
                let packet = parse(value)?;
                if let Some(cross) = &mut scenario.cross {
                    cross.packet = packet;
                }
            }
            _ => return Err(format!("unknown key: expected one of {}", KEYS.join(", "))),
        }
        Ok(())
    }
}

/// Which direction of a capture the damage of this key is taken from; `None` for other keys.
pub(super) fn way(key: &str) -> Option<Way> {
    match key {
        "damage" => Some(Way::Data),
        "reverse-damage" => Some(Way::Acks),
        _ => None,
    }
}

fn damage(value: &str, key: &str, traces: &Traces<'_>) -> Result<Damage, String> {
    traces.damage(value, way(key).unwrap_or(Way::Data)).map_err(|error| error.to_string())
}

fn parse<T: FromStr<Err: std::fmt::Display>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| {
        let text = error.to_string();
        // Errors of numbers do not name their input.
        if text.contains(value) { text } else { format!("{value:?}: {text}") }
    })
}

fn rate(value: &str) -> Result<headway_units::Rate, String> {
    let rate: headway_units::Rate = parse(value)?;
    if rate.bits_per_second() == 0 {
        return Err(format!("{value:?}: expected a rate above zero, such as 10mbit"));
    }
    Ok(rate)
}

/// `sack, hack+sack undamaged`: names, each with whether damage spares it.
fn companions(value: &str) -> Result<Vec<Companion>, String> {
    /// Addresses are given by one octet.
    const MOST: usize = 200;
    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "none");
    let companions = parts
        .map(|part| {
            let (name, damaged) = match part.strip_suffix(" undamaged") {
                Some(name) => (name.trim(), false),
                None => (part, true),
            };
            Ok(Companion { variant: parse(name)?, damaged })
        })
        .collect::<Result<Vec<_>, String>>()?;
    if companions.len() > MOST {
        return Err(format!("{} companions: expected at most {MOST}", companions.len()));
    }
    Ok(companions)
}
