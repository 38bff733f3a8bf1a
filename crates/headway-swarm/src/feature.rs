//! What a world may have, and what a seed draws of it.
//!
//! Swarm testing (Groce and others, "Swarm Testing", ISSTA 2012): where everything is on in every world, much of it hides the
//! rest. So each world has only some of the features.

use std::fmt;
use std::str::FromStr;

use headway_test_fixture::rng::Rng;

macro_rules! features {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)*) => {
        /// A part of worlds that may be left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature {
            $($(#[doc = $doc])* $name,)*
        }

        impl Feature {
            /// Every feature.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

features! {
    /// Links with a rate, and a queue.
    Rate = "rate",
    /// Delays that vary.
    Jitter = "jitter",
    /// Silent loss.
    Loss = "loss",
    /// Flipped bits.
    Damage = "damage",
    /// Flipped bits in headers.
    HeaderDamage = "header-damage",
    /// Packets that arrive twice.
    Duplicate = "duplicate",
    /// Packets that are held back.
    Reorder = "reorder",
    /// Queues that are managed: CoDel, FQ-CoDel, PIE, RED.
    Aqm = "aqm",
    /// A policer in front of the queue.
    Policer = "policer",
    /// Times at which nothing passes.
    Mute = "mute",
    /// Rates and delays that change.
    Steps = "steps",
    /// An adversary that aims at packets of one kind.
    Aim = "aim",
    /// Packets that are cut short.
    Truncate = "truncate",
    /// Damage that no checksum notices.
    Undetected = "undetected",
    /// A path that carries shorter packets, and says so.
    Mtu = "mtu",
    /// A path that carries shorter packets, and does not say so.
    BlackHole = "black-hole",
    /// A translator of ports.
    Translate = "translate",
    /// A box that removes options.
    Strip = "strip",
    /// A box that changes sequence numbers.
    Renumber = "renumber",
    /// A box that lowers the MSS.
    Clamp = "clamp",
    /// A box that cuts segments in two.
    Split = "split",
    /// A box that joins segments.
    Join = "join",
    /// An attacker who does not see the traffic and forges packets.
    Forge = "forge",
    /// A peer that lies about what has arrived.
    Lie = "lie",
    /// Programs that read and write slowly.
    Slow = "slow",
    /// Programs that abort.
    Abort = "abort",
    /// Programs that leave without reading.
    Leave = "leave",
    /// Settings that change while a connection is open.
    Change = "change",
    /// Hosts that are restarted and have forgotten everything.
    Restart = "restart",
    /// Clocks that jump forward.
    Jump = "jump",
    /// Hosts that stand still for a time.
    Stall = "stall",
    /// Few connections at once, small backlogs and buffers.
    Limits = "limits",
    /// Gateways that are reached at another address from some time on.
    Roam = "roam",
    /// Datagrams that are sent again, later, and from other places.
    Replay = "replay",
    /// A path on which datagrams without checksum are dropped.
    Unchecked = "unchecked",
    /// Worlds of many minutes, in which keys are replaced.
    Long = "long",
    /// An observer who sends a gateway's datagrams first, from another address.
    Spoof = "spoof",
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Some features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(u64);

impl Features {
    /// None.
    pub const NONE: Self = Self(0);
    /// Every one.
    pub const ALL: Self = Self((1 << Feature::ALL.len()) - 1);
    /// Draws some: in most worlds each one as often as not, in others nearly all.
    pub fn drawn(rng: &mut Rng) -> Self {
        let share = rng.pick(&[300, 500, 500, 900]);
        let mut drawn = Self::NONE;
        for &feature in Feature::ALL {
            if rng.permille(share) {
                drawn = drawn.with(feature);
            }
        }
        drawn
    }

    /// Whether `feature` is one of them.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & 1 << feature as u64 != 0
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u64)
    }

    /// Those of these that are not among `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&feature| self.has(feature))
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Feature::name).collect();
        f.pad(&names.join(","))
    }
}

impl FromStr for Features {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').filter(|name| !name.is_empty()).try_fold(Self::NONE, |features, name| {
            let found = Feature::ALL.iter().find(|feature| feature.name() == name.trim());
            found.map(|&feature| features.with(feature)).ok_or_else(|| {
                format!("{name:?}: expected names of features, separated by commas, of: {}", Self::ALL)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_as_they_are_written() {
        for features in [Features::NONE, Features::ALL, Features::NONE.with(Feature::Aqm).with(Feature::Lie)]
        {
            assert_eq!(features.to_string().parse(), Ok(features));
        }
        assert!("loss,nothing".parse::<Features>().is_err_and(|error| error.starts_with("\"nothing\"")));
    }
}
