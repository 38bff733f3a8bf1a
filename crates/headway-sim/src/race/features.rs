//! Features of the modern sender, turned on and off one by one.

use std::fmt;
use std::str::FromStr;

use headway_tcp::{Features, RulesOff};

use super::unknown_name::UnknownName;

/// A feature of the modern sender, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Feature(usize);

struct FeatureEntry {
    name: &'static str,
    help: &'static str,
    field: fn(&mut Features) -> &mut bool,
}

const fn entry(
    name: &'static str,
    help: &'static str,
    field: fn(&mut Features) -> &mut bool,
) -> FeatureEntry {
    FeatureEntry { name, help, field }
}

/// One more feature needs a field of the profile and an entry here.
static FEATURES: [FeatureEntry; 16] = [
    entry("tlp", "Tail loss probes (RFC 8985)", |on| &mut on.tlp),
    entry("prr", "Proportional rate reduction (RFC 6937)", |on| &mut on.prr),
    entry("frto", "Forward RTO-recovery (RFC 5682)", |on| &mut on.frto),
    entry("undo", "Undo reductions that prove spurious (D-SACK, Eifel)", |on| &mut on.undo),
    entry("hystart", "Leave slow start before the queue overflows (HyStart++, RFC 9406)", |on| {
        &mut on.hystart
    }),
    entry("pacing", "Spread what the window allows over the round trip", |on| &mut on.pacing),
    entry("ecn", "Explicit congestion notification (RFC 3168)", |on| &mut on.ecn),
    entry("autotune", "Buffers that grow with the path", |on| &mut on.autotune),
    entry("cookies", "SYN cookies while the backlog is full (RFC 4987)", |on| &mut on.cookies),
    entry("sharing", "Start from what earlier connections learnt of the path (RFC 9040)", |on| {
        &mut on.sharing
    }),
    entry("ledger", "Tell corruption from congestion, and respond to congestion alone", |on| &mut on.ledger),
    entry("own-path", "The path is the sender's own: what it loses at any rate is damage", |on| {
        &mut on.own_path
    }),
    entry(
        "bundling",
        "Repeat small segments in the next, where the path damages packets (needs the ledger)",
        |on| &mut on.bundling,
    ),
    entry(
        "tail-copies",
        "Send the tail of a transfer once more, where the path damages packets (needs the ledger)",
        |on| &mut on.tail_copies,
    ),
    entry("repair", "Repair damaged headers from what is known of the connection", |on| &mut on.repair),
    entry("partial", "Keep corrupted payloads and retransmit their bad blocks alone (needs HACK v2)", |on| {
        &mut on.partial
    }),
];

impl Feature {
    /// Its name.
    pub fn name(self) -> &'static str {
        FEATURES[self.0].name
    }

    /// What it does.
    pub fn help(self) -> &'static str {
        FEATURES[self.0].help
    }

    /// Every feature.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..FEATURES.len()).map(Self)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Feature {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, UnknownName> {
        Self::all().find(|feature| feature.name() == input).ok_or_else(|| {
            let expected = "a feature of the modern sender: tlp, prr, frto, undo, hystart, pacing, ecn, autotune, \
                            cookies, sharing, ledger, own-path, bundling, tail-copies, repair or partial";
            UnknownName::new(input, expected).among(Self::all().map(Self::name))
        })
    }
}

/// What differs from the variant's own choice of features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureOverrides {
    set: Vec<(Feature, bool)>,
    rules_off: RulesOff,
}

impl FeatureOverrides {
    /// Turns a feature on or off.
    pub fn set(&mut self, feature: Feature, on: bool) {
        self.set.retain(|(other, _)| *other != feature);
        self.set.push((feature, on));
        self.set.sort_by_key(|(feature, _)| feature.0);
    }

    /// Whether a feature was turned on or off; `None` if the variant decides.
    pub fn of(&self, feature: Feature) -> Option<bool> {
        self.set.iter().find(|(other, _)| *other == feature).map(|(_, on)| *on)
    }

    /// Switches rules of the sender off.
    pub fn set_rules_off(&mut self, rules: RulesOff) {
        self.rules_off = rules;
    }

    /// The rules that are switched off.
    pub fn rules_off(&self) -> RulesOff {
        self.rules_off
    }

    /// Whether the variant decides everything.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.rules_off == RulesOff::NONE
    }

    /// Turns the features that it names on or off, and the rules off.
    pub fn apply(&self, features: &mut Features) {
        features.rules_off = self.rules_off;
        for (feature, on) in &self.set {
            *(FEATURES[feature.0].field)(features) = *on;
        }
    }
}

/// As `+partial -tlp`, and the rules that are off: `-tlp without allowance+credits`.
impl fmt::Display for FeatureOverrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self
            .set
            .iter()
            .map(|(feature, on)| format!("{}{feature}", if *on { '+' } else { '-' }))
            .collect();
        if self.rules_off != RulesOff::NONE {
            words.push(format!("without {}", self.rules_off));
        }
        f.pad(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_sets_the_field_of_this_name() {
        for feature in Feature::all() {
            let mut overrides = FeatureOverrides::default();
            overrides.set(feature, false);
            overrides.set(feature, true);
            let mut features = Features::OFF;
            overrides.apply(&mut features);
            let fields = format!("{features:?}");
            assert_eq!(fields.matches("true").count(), 1, "{feature}");
            assert!(
                fields.contains(&format!(" {}: true", feature.name().replace('-', "_"))),
                "{feature}: {fields}"
            );
            assert_eq!(feature.name().parse(), Ok(feature));
            assert_eq!(overrides.to_string(), format!("+{feature}"));
        }
        let mut overrides = FeatureOverrides::default();
        overrides.set_rules_off("allowance+credits".parse().expect("rules"));
        assert!(!overrides.is_empty());
        assert_eq!(overrides.to_string(), "without allowance+credits");
        let expected = "brakes".parse::<Feature>().expect_err("not a feature").to_string();
        assert!(Feature::all().all(|feature| expected.contains(feature.name())));
    }
}
