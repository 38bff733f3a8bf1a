//! The keys of `[scenario]`: the options of `headway race`, under the same names and in the same units.

use std::str::FromStr;

use headway_link::Damage;
use headway_sim::race::{Companion, CrossTraffic, Part, QueueSize, Scenario, TcpSender, parse_congestion};
use headway_tcp::HackRules;
use headway_tcp::congestion::Algorithm;
use headway_trace::PathDirection;
use headway_units::{Duration, Size};

use super::sender::{Clock, Sender};
use crate::damage::Traces;

/// Every key.
pub(super) const KEYS: [&str; 45] = [
    "clock",
    "profile",
    "rules",
    "variant",
    "cc",
    "tlp",
    "prr",
    "frto",
    "undo",
    "hystart",
    "pacing",
    "ecn",
    "autotune",
    "sharing",
    "ledger",
    "repair",
    "partial",
    "warm",
    "size",
    "duration",
    "window",
    "mtu",
    "retries",
    "time-limit",
    "rate",
    "reverse-rate",
    "delay",
    "queue",
    "mark",
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
    "rivals",
    "cross",
    "cross-packet",
];

pub(super) fn is_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// Whether a key is about the sender or its clock alone: senders that differ in nothing else face the same
/// fates.
pub(super) fn is_of_sender(key: &str) -> bool {
    matches!(key, "clock" | "variant" | "rules" | "profile" | "cc" | "warm") || key.parse::<Part>().is_ok()
}

/// What the keys describe.
pub(crate) struct Settings {
    pub(crate) scenario: Scenario,
    pub(crate) clock: Clock,
    variant: Option<Sender>,
    congestion: Option<Algorithm>,
    size: Option<Size>,
}

/// What makes no sense, and which key is to blame.
pub(crate) struct Complaint {
    pub(crate) key: &'static str,
    pub(crate) problem: String,
}

const DEFAULT_SIZE: Size = Size::from_bytes(2 << 20);
/// The smallest MTU that leaves room for data beside every option.
const LEAST_MTU: u16 = 128;

impl Settings {
    pub(crate) fn new() -> Self {
        let mut scenario = Scenario::default();
        scenario.forward.damage = Damage::None;
        scenario.forward.header_hit = None;
        Self { scenario, clock: Clock::default(), variant: None, congestion: None, size: None }
    }

    /// The sender, once all keys are set; the error says what does not fit together.
    pub(crate) fn sender(&self) -> Result<Sender, Complaint> {
        let Some(variant) = self.variant.clone() else {
            let problem = "expected a sender, as an axis or in [scenario], such as variant = \"sack\"";
            return Err(Complaint { key: "variant", problem: problem.into() });
        };
        if self.scenario.duration.is_some() && self.size.is_some() {
            let problem = "a run of fixed duration sends all the time: expected either a duration or a size";
            return Err(Complaint { key: "duration", problem: problem.into() });
        }
        let sender = variant.with_congestion(self.congestion);
        sender.check(&self.scenario, self.clock)?;
        Ok(sender)
    }

    /// Whether the sender is one that the clock has. Where the clock is an axis, other combinations are
    /// none.
    pub(super) fn is_possible(&self) -> bool {
        self.variant.as_ref().is_none_or(|variant| variant.exists_on(self.clock))
    }

    /// How much is sent; `None` in a run of fixed duration.
    pub(crate) fn size(&self) -> Option<Size> {
        if self.scenario.duration.is_some() { None } else { Some(self.size.unwrap_or(DEFAULT_SIZE)) }
    }

    /// Sets one key; the error says what was expected.
    pub(crate) fn set(&mut self, key: &str, value: &str, traces: &Traces<'_>) -> Result<(), String> {
        let scenario = &mut self.scenario;
        let (forward, reverse) = (&mut scenario.forward, &mut scenario.reverse);
        match key {
            "clock" => self.clock = value.parse()?,
            "profile" => scenario.profile = parse(value)?,
            "rules" => {
                scenario.rules = match value {
                    "literal" => HackRules::Literal,
                    "default" => HackRules::Default,
                    _ => return Err(format!("{value:?}: expected literal or default")),
                };
            }
            "variant" => self.variant = Some(parse(value)?),
            "cc" => {
                self.congestion = match value {
                    "default" => None,
                    _ => Some(parse_congestion(value).map_err(|error| error.to_string())?),
                };
            }
            "warm" => scenario.warm = flag(value)?,
            "size" => {
                let size: Size = parse(value)?;
                if size.bytes() == 0 {
                    return Err("expected at least one byte to send".into());
                }
                self.size = Some(size);
            }
            "duration" => {
                let duration: Duration = parse(value)?;
                if duration.is_zero() {
                    return Err("expected some time, such as 60s".into());
                }
                scenario.duration = Some(duration);
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
                let size: QueueSize = parse(value)?;
                forward.queue = size.limit(forward.rate, forward.delay + reverse.delay, scenario.mtu);
                reverse.queue = forward.queue;
            }
            "mark" => {
                forward.mark = if value == "none" { None } else { Some(parse(value)?) };
                reverse.mark = forward.mark;
            }
            "overhead" => {
                forward.overhead = parse(value)?;
                reverse.overhead = forward.overhead;
            }
            "jitter" => {
                forward.jitter = parse(value)?;
                reverse.jitter = forward.jitter;
            }
            "loss" => {
                forward.loss = parse(value)?;
                reverse.loss = forward.loss;
            }
            "duplicate" => {
                forward.duplicate = parse(value)?;
                reverse.duplicate = forward.duplicate;
            }
            "reorder" => {
                forward.reorder = parse(value)?;
                reverse.reorder = forward.reorder;
            }
            "reorder-delay" => {
                forward.reorder_delay = parse(value)?;
                reverse.reorder_delay = forward.reorder_delay;
            }
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
            "companions" => flows(&mut scenario.companions, value, false)?,
            "rivals" => flows(&mut scenario.companions, value, true)?,
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
            _ => {
                let Ok(part) = key.parse::<Part>() else {
                    return Err(format!("unknown key: expected one of {}", KEYS.join(", ")));
                };
                if value != "default" {
                    scenario.switches.set(part, flag(value)?);
                }
            }
        }
        Ok(())
    }
}

/// Which direction of a capture the damage of this key is taken from; `None` for other keys.
pub(super) fn direction(key: &str) -> Option<PathDirection> {
    match key {
        "damage" => Some(PathDirection::Forward),
        "reverse-damage" => Some(PathDirection::Reverse),
        _ => None,
    }
}

fn damage(value: &str, key: &str, traces: &Traces<'_>) -> Result<Damage, String> {
    traces.damage(value, direction(key).unwrap_or(PathDirection::Forward)).map_err(|error| error.to_string())
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

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(format!("{value:?}: expected on or off")),
    }
}

/// `sack, 3 modern:bbr undamaged`: senders, each with how many there are and whether damage spares them.
fn flows(flows: &mut Vec<Companion>, value: &str, rival: bool) -> Result<(), String> {
    /// Addresses are given by one octet.
    const MOST: usize = 200;
    flows.retain(|other| other.rival != rival);
    for part in value.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "none") {
        let (name, damaged) = match part.strip_suffix(" undamaged") {
            Some(name) => (name.trim(), false),
            None => (part, true),
        };
        let (count, name) = match name.split_once(' ') {
            Some((count, name)) => (parse::<usize>(count)?, name.trim()),
            None => (1, name),
        };
        let sender: TcpSender = parse(name)?;
        if count > MOST - flows.len().min(MOST) {
            return Err(format!("{value:?}: expected at most {MOST} flows beside the one that is measured"));
        }
        flows.extend(std::iter::repeat_n(Companion { sender, damaged, rival }, count));
    }
    Ok(())
}
