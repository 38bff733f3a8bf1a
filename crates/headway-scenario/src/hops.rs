//! Links in a row as people write them: `rate 5mbit delay 20ms; 2 queue 50p`.

use std::fmt;
use std::str::FromStr;

use headway_sim::race::{Hop, Scenario};
use headway_units::Duration;

use crate::error::KeyError;
use crate::key::{Defaults, LinkScope};
use crate::settings::Settings;
use crate::table::{HOPS, key, keys, unknown_key};
use crate::traces::Traces;

/// More hops than this are a typing mistake.
const MOST: usize = 64;

/// What replaces a key of the link where both are given.
const REPLACED: [(&str, &[&str]); 3] = [
    ("rate", &["rate-steps", "rate-trace", "reverse-rate-steps", "reverse-rate-trace"]),
    ("reverse-rate", &["reverse-rate-steps", "reverse-rate-trace"]),
    ("delay", &["delay-steps", "reverse-delay-steps"]),
];

/// Hops with the keys of their own; what they do not say is that of the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hops(Vec<Alike>);

/// Hops that follow each other and have the same keys of their own.
#[derive(Clone, Debug, PartialEq)]
struct Alike {
    count: usize,
    keys: Vec<(&'static str, String)>,
}

impl Hops {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|alike| alike.count).sum()
    }

    /// The text that describes hops with these keys.
    ///
    /// # Errors
    ///
    /// A value cannot be part of the text.
    pub fn text<'a>(
        hops: impl IntoIterator<Item = impl IntoIterator<Item = (&'a str, String)>>,
    ) -> Result<String, KeyError> {
        let mut texts = Vec::new();
        for (place, hop) in hops.into_iter().enumerate() {
            let mut words = Vec::new();
            for (name, value) in hop {
                if value.is_empty() || value.contains(|c: char| c.is_whitespace() || c == ';') {
                    let problem = format!(
                        "hop {}: {name}: {value:?}: expected a value without spaces and semicolons",
                        place + 1
                    );
                    return Err(KeyError { key: HOPS, problem });
                }
                words.extend([name.to_owned(), value]);
            }
            texts.push(if words.is_empty() { "1".into() } else { words.join(" ") });
        }
        Ok(texts.join("; "))
    }

    /// The links of the hops. `given` says the values of the scenario, which these have where they say nothing.
    pub(crate) fn links<'a>(
        &self,
        given: impl Fn(&str) -> Option<&'a str>,
        defaults: Defaults,
        traces: &Traces<'_>,
        mtu: u16,
    ) -> Result<Vec<Hop>, KeyError> {
        let all: Vec<&Alike> =
            self.0.iter().flat_map(|alike| std::iter::repeat_n(alike, alike.count)).collect();
        let own = Traces::refused("a hop has no file of its own: expected it in the scenario, for all hops");
        let hop = |place: usize, round_trip: Option<Duration>| {
            let scenario = Settings::new().scenario;
            let mut hop = Hop { forward: scenario.forward, reverse: scenario.reverse };
            for key in keys().iter().filter(|key| key.scope.is_of_link()) {
                let of_hop = all[place].value(key.name);
                let of_scenario = given(key.name).or(key.default.value(defaults));
                let of_scenario = of_scenario.filter(|_| !all[place].replaces(key.name));
                let Some(value) = of_hop.or(of_scenario) else { continue };
                let traces = if of_hop.is_some() { &own } else { traces };
                let scope = LinkScope { mtu, round_trip };
                key.set_link((&mut hop.forward, &mut hop.reverse), value, scope, traces).map_err(
                    |problem| {
                        let problem = format!("hop {}: {}: {problem}", place + 1, key.name);
                        KeyError { key: HOPS, problem }
                    },
                )?;
            }
            all[place].check(place, &given)?;
            Ok(hop)
        };
        // A queue in bandwidth-delay products counts the delays of all hops, so these come first.
        let mut round_trip = Duration::ZERO;
        for place in 0..all.len() {
            let Hop { forward, reverse } = hop(place, None)?;
            round_trip = round_trip + forward.nominal_delay() + reverse.nominal_delay();
        }
        (0..all.len()).map(|place| hop(place, Some(round_trip))).collect()
    }
}

impl Alike {
    fn value(&self, name: &str) -> Option<&str> {
        self.keys.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }

    /// Whether it has a key for both directions, in place of what the scenario says of the reverse one.
    fn replaces(&self, name: &str) -> bool {
        let both = name.strip_prefix("reverse-").and_then(key);
        both.is_some_and(|both| both.direction().is_none() && self.value(both.name).is_some())
    }

    /// What a hop says of its rate or delay must not be replaced by what the scenario says.
    fn check<'a>(&self, place: usize, given: impl Fn(&str) -> Option<&'a str>) -> Result<(), KeyError> {
        for (name, others) in REPLACED {
            let is_other =
                |other: &&&str| self.value(other).or(given(other)).is_some_and(|value| value != "none");
            let Some(other) = others.iter().find(is_other).filter(|_| self.value(name).is_some()) else {
                continue;
            };
            let problem =
                format!("hop {}: {name}: {other} replaces it: expected {other} none beside it", place + 1);
            return Err(KeyError { key: HOPS, problem });
        }
        Ok(())
    }
}

impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Alike { count, keys }) in self.0.iter().enumerate() {
            let mut words: Vec<String> =
                (*count > 1 || keys.is_empty()).then(|| count.to_string()).into_iter().collect();
            words.extend(keys.iter().map(|(key, value)| format!("{key} {value}")));
            write!(f, "{}{}", if place == 0 { "" } else { "; " }, words.join(" "))?;
        }
        Ok(())
    }
}

/// `none`, or hops with `;` between them: perhaps how many of them there are, and names of keys of the link with values.
impl FromStr for Hops {
    type Err = String;

    fn from_str(input: &str) -> Result<Self, String> {
        let mut hops = Self::default();
        if input.trim() == "none" {
            return Ok(hops);
        }
        for text in input.split(';').map(str::trim) {
            let mut words = text.split_whitespace().peekable();
            if words.peek().is_none() {
                return Err(format!(
                    "{input:?}: expected hops with ; between them, such as rate 5mbit delay 20ms; 2 queue 50p"
                ));
            }
            let count = words.next_if(|word| word.starts_with(|first: char| first.is_ascii_digit()));
            let count = count.map_or(Ok(1), |count| match count.parse() {
                Ok(count @ 1..=MOST) => Ok(count),
                _ => Err(format!("{text:?}: {count}: expected 1 to {MOST} hops")),
            })?;
            let mut alike = Alike { count, keys: Vec::new() };
            while let Some(name) = words.next() {
                let key = key(name).filter(|key| key.scope.is_of_link());
                let key = key.ok_or_else(|| format!("{text:?}: {name}: {}", unknown(name)))?;
                let value =
                    words.next().ok_or_else(|| format!("{text:?}: expected a value after {name:?}"))?;
                if alike.value(name).is_some() {
                    return Err(format!("{text:?}: {name} is there twice: expected it once"));
                }
                alike.keys.push((key.name, value.into()));
            }
            hops.0.push(alike);
        }
        let count = hops.count();
        if count > MOST {
            return Err(format!("{count} hops: expected at most {MOST}"));
        }
        Ok(hops)
    }
}

/// Why a key is none of a hop.
fn unknown(name: &str) -> String {
    let known = keys().iter().filter(|key| key.scope.is_of_link()).map(|key| key.name);
    match key(name) {
        Some(_) => format!("is not about the link: expected one of {}", known.collect::<Vec<_>>().join(", ")),
        None => unknown_key(name, known),
    }
}

/// Hops that were read, in place of those of a scenario.
pub(crate) fn fill<'a>(
    settings: &mut Settings,
    given: impl Fn(&str) -> Option<&'a str>,
    defaults: Defaults,
    traces: &Traces<'_>,
) -> Result<(), KeyError> {
    let Scenario { mtu, .. } = settings.scenario;
    settings.scenario.hops = settings.hops.links(given, defaults, traces, mtu)?;
    Ok(())
}
