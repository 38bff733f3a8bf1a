//! The rules of the sender beyond the RFCs, each of which can be switched off: so it can be measured what it brings
//! (`docs/ledger.md`).

use core::fmt;
use core::str::FromStr;

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $name:literal,)*) => {
        /// A rule of the sender.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// All of them, with their names.
            pub const NAMES: &[(&'static str, Self)] = &[$(($name, Self::$rule)),*];
        }
    };
}

rules! {
    /// What is sent alone takes all of the path's rate.
    Alone "alone",
    /// No more is taken for damage than the path loses at any rate.
    Allowance "allowance",
    /// The receiver's count explains losses.
    Credits "credits",
    /// Some losses at a long queue crossed the bottleneck.
    Crossing "crossing",
    /// A queue that stands while BBR cruises alone is drained.
    CruiseDrain "cruise-drain",
    /// `ProbeBW_DOWN` drains long paths in time.
    DownGain "down-gain",
    /// The first rounds of Startup are slow start.
    EarlyRounds "early-rounds",
    /// A round-trip time that equals the minimum postpones ProbeRTT.
    EqualMinimum "equal-minimum",
    /// Losses at half of what the path carries are evidence.
    Experiment "experiment",
    /// The loss of a part of a segment counts as that of a segment.
    LostBlock "lost-block",
    /// What a probe for bandwidth showed is used before the next.
    NextProbe "next-probe",
    /// Beside others a tolerant controller answers what the path loses.
    Others "others",
    /// Outages are probed without backoff.
    Outages "outages",
    /// BBR's own queue ends its search.
    OwnQueue "own-queue",
    /// Whether losses depend on the rate is tested.
    RateTest "rate-test",
    /// What is lost at a long queue is congestion.
    ShortQueue "short-queue",
    /// The first damage begins Startup again.
    StartupAgain "startup-again",
    /// Thin streams that share a window do not back off.
    ThinStreams "thin-streams",
    /// Before the path's losses are learnt, a loss does not measure its rate.
    Unlearnt "unlearnt",
}

/// Rules that are switched off.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RulesOff(u32);

impl RulesOff {
    /// All hold.
    pub const NONE: Self = Self(0);

    /// Switches `rule` off.
    #[must_use]
    pub const fn with(self, rule: Rule) -> Self {
        Self(self.0 | 1 << rule as u32)
    }

    /// Whether `rule` holds.
    #[inline]
    pub(crate) const fn hold(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u32 == 0
    }
}

/// The name of no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule;

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected none, or names joined by +, of")?;
        Rule::NAMES.iter().try_for_each(|(name, _)| write!(f, " {name}"))
    }
}

impl core::error::Error for UnknownRule {}

impl FromStr for RulesOff {
    type Err = UnknownRule;

    fn from_str(input: &str) -> Result<Self, UnknownRule> {
        if input == "none" {
            return Ok(Self::default());
        }
        input.split('+').try_fold(Self::default(), |off, input| {
            let (_, rule) = Rule::NAMES.iter().find(|(name, _)| *name == input).ok_or(UnknownRule)?;
            Ok(off.with(*rule))
        })
    }
}

/// As `alone+credits`, or `none`.
impl fmt::Display for RulesOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, rule) in Rule::NAMES {
            if !self.hold(*rule) {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

impl fmt::Debug for RulesOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let all = Rule::NAMES.iter().fold(RulesOff::default(), |off, (_, rule)| off.with(*rule));
        for off in [RulesOff::default(), RulesOff::default().with(Rule::RateTest), all] {
            assert_eq!(off.to_string().parse(), Ok(off));
        }
        assert!(!all.hold(Rule::Alone) && RulesOff::default().hold(Rule::Alone));
        assert_eq!("rate-test+luck".parse::<RulesOff>(), Err(UnknownRule));
        assert_eq!("".parse::<RulesOff>(), Err(UnknownRule));
    }
}
