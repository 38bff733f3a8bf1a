//! The rules of the sender beyond the RFCs, each of which can be switched off: so it can be measured what it brings
//! (`docs/ledger.md`).
//!
//! The experiments of `ablation/` measure them: without each, each alone, and with others.

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
    /// No more is taken for damage than the path loses at any rate.
    Allowance "allowance",
    /// The receiver's count explains losses.
    Credits "credits",
    /// Where losses raise the question whether the path damages packets, less is sent until it is answered.
    Deliberate "deliberate",
    /// `ProbeBW_DOWN` drains long paths in time.
    DownGain "down-gain",
    /// A round-trip time that equals the minimum postpones ProbeRTT.
    EqualMinimum "equal-minimum",
    /// Losses at half of what the path carries are evidence.
    Experiment "experiment",
    /// The initial window is a train that shows what the path carries.
    FirstTrain "first-train",
    /// Before anything is known of damage, losses do not end Startup while the rate grows.
    Growth "growth",
    /// At a long queue too, what the path loses passed the bottleneck.
    LongQueue "long-queue",
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
    /// Where no one else uses the path, losses that BBR tolerates in a probe lower no bound.
    Tolerance "tolerance",
    /// Before the path's losses are learnt, a loss does not measure its rate.
    Unlearnt "unlearnt",
}

/// Precedes the names of those that hold.
const ALL_EXCEPT: &str = "all-except:";

/// Rules that are switched off.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RulesOff(u32);

impl RulesOff {
    /// All hold.
    pub const NONE: Self = Self(0);
    /// None holds.
    const ALL: Self = Self((1 << Rule::NAMES.len()) - 1);

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
        f.write_str("expected none, all, names joined by +, or all-except: and names, of")?;
        Rule::NAMES.iter().try_for_each(|(name, _)| write!(f, " {name}"))
    }
}

impl core::error::Error for UnknownRule {}

impl FromStr for RulesOff {
    type Err = UnknownRule;

    fn from_str(input: &str) -> Result<Self, UnknownRule> {
        let rules = |names: &str| {
            names.split('+').try_fold(0, |rules, input| {
                let (_, rule) = Rule::NAMES.iter().find(|(name, _)| *name == input).ok_or(UnknownRule)?;
                Ok(rules | 1 << *rule as u32)
            })
        };
        match (input, input.strip_prefix(ALL_EXCEPT)) {
            ("none", _) => Ok(Self::NONE),
            ("all", _) => Ok(Self::ALL),
            (_, Some(names)) => Ok(Self(Self::ALL.0 & !rules(names)?)),
            (names, None) => Ok(Self(rules(names)?)),
        }
    }
}

/// As `allowance+credits`, `none`, `all` or `all-except:allowance+credits`.
impl fmt::Display for RulesOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE => return f.write_str("none"),
            Self::ALL => return f.write_str("all"),
            _ => {}
        }
        let are_most_off = 2 * self.0.count_ones() as usize > Rule::NAMES.len();
        let mut separator = if are_most_off { ALL_EXCEPT } else { "" };
        for (name, rule) in Rule::NAMES {
            if self.hold(*rule) == are_most_off {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        Ok(())
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
        for text in ["none", "all", "rate-test", "allowance+credits", "all-except:allowance+credits"] {
            assert_eq!(text.parse::<RulesOff>().expect("rules").to_string(), text);
        }
        let all = "all".parse::<RulesOff>().expect("rules");
        assert!(Rule::NAMES.iter().all(|(_, rule)| !all.hold(*rule) && RulesOff::NONE.hold(*rule)));
        let except = "all-except:allowance".parse::<RulesOff>().expect("rules");
        assert!(except.hold(Rule::Allowance) && !except.hold(Rule::Credits));
        for wrong in ["", "rate-test+luck", "all-except:", "all-except:luck", "all+allowance"] {
            assert_eq!(wrong.parse::<RulesOff>(), Err(UnknownRule), "{wrong}");
        }
    }
}
