//! The parts of the modern sender, switched on and off one by one.

use std::fmt;
use std::str::FromStr;

use headway_tcp::Modern;

use super::scenario::UnknownName;

/// A part of the modern sender, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part(usize);

type Field = fn(&mut Modern) -> &mut bool;

const PARTS: [(&str, Field); 13] = [
    ("tlp", |modern| &mut modern.tlp),
    ("prr", |modern| &mut modern.prr),
    ("frto", |modern| &mut modern.frto),
    ("undo", |modern| &mut modern.undo),
    ("hystart", |modern| &mut modern.hystart),
    ("pacing", |modern| &mut modern.pacing),
    ("ecn", |modern| &mut modern.ecn),
    ("autotune", |modern| &mut modern.autotune),
    ("cookies", |modern| &mut modern.cookies),
    ("sharing", |modern| &mut modern.sharing),
    ("ledger", |modern| &mut modern.ledger),
    ("repair", |modern| &mut modern.repair),
    ("partial", |modern| &mut modern.partial),
];

impl Part {
    /// Its name.
    pub const fn name(self) -> &'static str {
        PARTS[self.0].0
    }

    /// Every part.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..PARTS.len()).map(Self)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Part {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, UnknownName> {
        Self::all().find(|part| part.name() == input).ok_or_else(|| UnknownName {
            input: input.into(),
            expected: "a part of the modern sender: tlp, prr, frto, undo, hystart, pacing, ecn, autotune, \
                       cookies, sharing, ledger, repair or partial",
        })
    }
}

/// What differs from the variant's own choice of parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches(Vec<(Part, bool)>);

impl Switches {
    /// Switches a part on or off.
    pub fn set(&mut self, part: Part, on: bool) {
        self.0.retain(|(other, _)| *other != part);
        self.0.push((part, on));
        self.0.sort_by_key(|(part, _)| part.0);
    }

    /// How a part was switched; `None` if the variant decides.
    pub fn of(&self, part: Part) -> Option<bool> {
        self.0.iter().find(|(other, _)| *other == part).map(|(_, on)| *on)
    }

    /// Whether the variant decides everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Switches what it names in `modern`.
    pub fn apply(&self, modern: &mut Modern) {
        for (part, on) in &self.0 {
            *PARTS[part.0].1(modern) = *on;
        }
    }
}

/// As `+partial -tlp`.
impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.0.iter().map(|(part, on)| format!("{}{part}", if *on { '+' } else { '-' })).collect();
        f.pad(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_turns_its_own_part() {
        for part in Part::all() {
            let mut switches = Switches::default();
            switches.set(part, false);
            switches.set(part, true);
            let mut modern = Modern::OFF;
            switches.apply(&mut modern);
            // Its name is the field's.
            let fields = format!("{modern:?}");
            assert_eq!(fields.matches("true").count(), 1, "{part}");
            assert!(fields.contains(&format!(" {part}: true")), "{part}: {fields}");
            assert_eq!(part.name().parse(), Ok(part));
            assert_eq!(switches.to_string(), format!("+{part}"));
        }
    }
}
