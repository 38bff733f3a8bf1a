//! Who sends in a cell, and on which clock.

use std::fmt;
use std::str::FromStr;

use headway_sim::race::{Edge, Entrant, Frames, Scenario};
use headway_tcp::congestion::Algorithm;

use crate::clock::Clock;
use crate::error::KeyError;

/// A sender that is not ours: it runs in real time only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Foreign {
    /// This machine's TCP with a congestion control by the kernel's name for it: `linux:cubic`.
    Linux(String),
    /// QUIC as the crate `quinn` has it, with one of its controllers: `quinn:bbr`.
    Quinn(String),
    /// TCP through a tunnel of KCP, with forward error correction or without: `kcptun`, `kcptun:10+3`.
    Kcptun(Option<Shards>),
    /// TCP through hysteria (version 2), a tunnel of QUIC, with one of its controllers: `hysteria:bbr`.
    Hysteria(String),
}

/// Packets of a tunnel with forward error correction (Reed and Solomon's codes): of each group with `data` packets of
/// data, as many may be lost as it has packets with parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shards {
    data: u8,
    parity: u8,
}

impl Shards {
    /// The packets with data in a group.
    pub const fn data(self) -> u8 {
        self.data
    }

    /// The packets with parity in a group.
    pub const fn parity(self) -> u8 {
        self.parity
    }

    /// `None` where `input` is not of the form `10+3`. The code has at most 256 packets in a group.
    fn parse(input: &str) -> Option<Self> {
        let (data, parity) = input.split_once('+')?;
        let number = |text: &str| text.parse().ok().filter(|&number: &u8| number > 0);
        let (data, parity) = (number(data)?, number(parity)?);
        (u16::from(data) + u16::from(parity) <= 256).then_some(Self { data, parity })
    }
}

impl fmt::Display for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.data, self.parity)
    }
}

/// The controllers that `quinn` has.
const OF_QUINN: [&str; 3] = ["bbr", "cubic", "newreno"];
/// Those of hysteria: `brutal` sends at the rate that it is told.
const OF_HYSTERIA: [&str; 2] = ["bbr", "brutal"];
/// The kernel's names are shorter than this (`TCP_CA_NAME_MAX`).
const LONGEST_NAME: usize = 15;

impl Foreign {
    /// What it is called without its congestion control.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Linux(_) => "linux",
            Self::Quinn(_) => "quinn",
            Self::Kcptun(_) => "kcptun",
            Self::Hysteria(_) => "hysteria",
        }
    }

    /// Its congestion control; `None` where it has none to choose.
    pub fn congestion(&self) -> Option<&str> {
        match self {
            Self::Linux(congestion) | Self::Quinn(congestion) | Self::Hysteria(congestion) => {
                Some(congestion)
            }
            Self::Kcptun(_) => None,
        }
    }

    /// `None` where `input` names none of them.
    fn parse(input: &str) -> Option<Result<Self, String>> {
        let (name, congestion) = match input.split_once(':') {
            Some((name, congestion)) => (name, Some(congestion)),
            None => (input, None),
        };
        let plain = |congestion: &str| {
            (1..=LONGEST_NAME).contains(&congestion.len())
                && congestion.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        Some(match (name, congestion) {
            ("linux", Some(congestion)) if plain(congestion) => Ok(Self::Linux(congestion.into())),
            ("linux", _) => {
                Err(format!("{input:?}: expected a congestion control of the kernel, such as linux:cubic"))
            }
            ("quinn", Some(congestion)) if OF_QUINN.contains(&congestion) => {
                Ok(Self::Quinn(congestion.into()))
            }
            ("quinn", _) => Err(format!("{input:?}: expected quinn: and one of {}", OF_QUINN.join(", "))),
            ("kcptun", None) => Ok(Self::Kcptun(None)),
            ("kcptun", Some(shards)) => match Shards::parse(shards) {
                Some(shards) => Ok(Self::Kcptun(Some(shards))),
                None => Err(format!(
                    "{input:?}: expected kcptun alone, or with packets of data and of parity, such as kcptun:10+3"
                )),
            },
            ("hysteria", Some(congestion)) if OF_HYSTERIA.contains(&congestion) => {
                Ok(Self::Hysteria(congestion.into()))
            }
            ("hysteria", _) => {
                Err(format!("{input:?}: expected hysteria: and one of {}", OF_HYSTERIA.join(", ")))
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux(congestion) | Self::Quinn(congestion) | Self::Hysteria(congestion) => {
                f.pad(&format!("{}:{congestion}", self.name()))
            }
            Self::Kcptun(Some(shards)) => f.pad(&format!("{}:{shards}", self.name())),
            Self::Kcptun(None) => f.pad(self.name()),
        }
    }
}

/// Who sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// What the simulator can run; its TCPs run in real time too.
    Ours(Entrant),
    /// What runs in real time only.
    Foreign(Foreign),
}

impl Sender {
    /// With `congestion` as the controller, where it is one of ours that names none.
    #[must_use]
    pub(crate) fn with_congestion(self, congestion: Option<Algorithm>) -> Self {
        match self {
            Self::Ours(entrant) => Self::Ours(entrant.with_congestion(congestion)),
            Self::Foreign(_) => self,
        }
    }

    /// Whether there is such a sender on that clock at all.
    pub(crate) fn exists_on(&self, clock: Clock) -> bool {
        match self {
            Self::Ours(Entrant::Tcp(_)) => true,
            Self::Ours(Entrant::Oracle) => clock == Clock::Virtual,
            Self::Foreign(_) => clock == Clock::Real,
        }
    }

    /// Whether it can send in `scenario` on `clock`.
    pub(crate) fn check(&self, scenario: &Scenario, clock: Clock) -> Result<(), KeyError> {
        let complaint = |key, problem: String| Err(KeyError { key, problem });
        if !self.exists_on(clock) {
            return complaint(
                "variant",
                match clock {
                    Clock::Virtual => format!(
                        "{self} runs in real time only: expected `headway lab live`, or clock = \"real\""
                    ),
                    Clock::Real => format!("{self} is no sender of packets: expected clock = \"virtual\""),
                },
            );
        }
        if clock == Clock::Real {
            let alone = "one transfer at a time runs in real time: expected none";
            if scenario.warm {
                return complaint("warm", "in real time every run has new hosts: expected off".into());
            } else if scenario.frames == Frames::Count && matches!(self, Self::Foreign(_)) {
                return complaint("frames", format!("{self} has no such count: expected drop"));
            } else if let Some(other) = scenario.companions.first() {
                return complaint(if other.rival { "rivals" } else { "companions" }, alone.into());
            } else if scenario.cross.is_some() {
                return complaint("cross", alone.into());
            } else if !scenario.hops.is_empty() {
                return complaint("hops", "in real time there is one link: expected none".into());
            } else if scenario.trunk.is_some() {
                return complaint(
                    "trunk",
                    "the gateways of this key are the simulator's: expected none".into(),
                );
            } else if scenario.edge != Edge::default() {
                return complaint(
                    "edge-delay",
                    "in real time hosts have no links of their own: expected none".into(),
                );
            }
        }
        let Self::Ours(entrant) = *self else { return Ok(()) };
        scenario.check(entrant).or_else(|error| {
            let blame = match error.subject.as_str() {
                "frames" => "frames",
                "trunk" => "trunk",
                "cross" => "cross",
                "hops" => "hops",
                "flow-hops" => "flow-hops",
                "cross-hops" => "cross-hops",
                "rivals" => "rivals",
                "companions" => "companions",
                _ if scenario.warm => "warm",
                _ => "variant",
            };
            complaint(blame, error.to_string())
        })
    }
}

impl FromStr for Sender {
    type Err = String;

    fn from_str(input: &str) -> Result<Self, String> {
        match Foreign::parse(input) {
            Some(foreign) => foreign.map(Self::Foreign),
            None => input
                .parse()
                .map(Self::Ours)
                .map_err(|error: headway_sim::race::UnknownName| error.to_string()),
        }
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(entrant) => entrant.fmt(f),
            Self::Foreign(foreign) => foreign.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "sack",
            "modern:bbr",
            "oracle",
            "linux:cubic",
            "linux:bbr",
            "quinn:bbr",
            "kcptun",
            "kcptun:10+3",
            "hysteria:brutal",
        ] {
            assert_eq!(name.parse::<Sender>().expect(name).to_string(), name);
        }
        for (name, expected) in [
            ("linux", "\"linux\": expected a congestion control of the kernel"),
            ("linux:", "expected a congestion control of the kernel"),
            ("linux:cubic/../x", "expected a congestion control of the kernel"),
            ("quinn", "expected quinn: and one of bbr, cubic, newreno"),
            ("quinn:vegas", "expected quinn: and one of"),
            (
                "kcptun:bbr",
                "expected kcptun alone, or with packets of data and of parity, such as kcptun:10+3",
            ),
            ("kcptun:10+0", "expected kcptun alone"),
            ("kcptun:200+57", "expected kcptun alone"),
            ("hysteria", "expected hysteria: and one of bbr, brutal"),
            ("hysteria:cubic", "expected hysteria: and one of"),
            ("tahoe", "expected one of newreno,"),
        ] {
            let problem = name.parse::<Sender>().expect_err(name);
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
