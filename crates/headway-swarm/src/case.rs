//! A world: what its seed says, and what is left out of that.

use std::fmt;

use headway_test_fixture::rng::Rng;

use crate::feature::Features;

/// What kind of world a seed is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorldKind {
    /// Two hosts with the papers' senders, and every packet judged.
    Papers,
    /// Two hosts of which one has a sender of ours, and every packet judged.
    Ours,
    /// Any number of hosts, and boxes on the way.
    Hosts,
    /// Gateways with a sealed tunnel between each two of them.
    Tunnel,
}

impl WorldKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Papers, Self::Ours, Self::Hosts, Self::Tunnel];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Papers => "papers",
            Self::Ours => "ours",
            Self::Hosts => "hosts",
            Self::Tunnel => "tunnel",
        }
    }
}

impl std::str::FromStr for WorldKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("{text:?}: expected papers, ours, hosts or tunnel"))
    }
}

/// A world to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Everything follows from it, except what the other fields leave out.
    pub seed: u64,
    /// What kind of world it is, if not what the seed says.
    pub kind: Option<WorldKind>,
    /// Features to have beside those that the seed draws.
    pub with: Features,
    /// Features to leave out of those.
    pub without: Features,
    /// How many hosts it has at most.
    pub hosts: usize,
    /// Which of its connections there are, by their numbers; `None`: all.
    pub flows: Option<Vec<usize>>,
    /// How much of its harsh time there is, in percent.
    pub time: u32,
}

impl Case {
    /// The world of a seed as it is drawn.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            kind: None,
            with: Features::NONE,
            without: Features::NONE,
            hosts: usize::MAX,
            flows: None,
            time: 100,
        }
    }

    /// What kind of world it is.
    pub fn kind(&self) -> WorldKind {
        let drawn = match Rng::new(self.seed ^ 0x6b69_6e64).below(20) {
            0..=3 => WorldKind::Papers,
            4..=7 => WorldKind::Ours,
            8..=13 => WorldKind::Hosts,
            _ => WorldKind::Tunnel,
        };
        self.kind.unwrap_or(drawn)
    }

    /// What it has.
    pub fn features(&self) -> Features {
        let drawn = Features::drawn(&mut Rng::new(self.seed ^ 0x5177_a2f1));
        drawn.and(self.with).without(self.without)
    }

    /// Whether the connection with this number is there.
    pub(crate) fn has_flow(&self, number: usize) -> bool {
        self.flows.as_ref().is_none_or(|flows| flows.contains(&number))
    }

    /// As much of a time as there is.
    pub(crate) fn shortened(&self, time: headway_units::Duration) -> headway_units::Duration {
        headway_units::Duration::from_micros((time.as_micros() / 100 * u64::from(self.time)).max(1))
    }
}

/// The options that name it on the command line.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--seed {:#x}", self.seed)?;
        if let Some(kind) = self.kind {
            write!(f, " --kind {}", kind.name())?;
        }
        if self.with != Features::NONE {
            write!(f, " --with {}", self.with)?;
        }
        if self.without != Features::NONE {
            write!(f, " --without {}", self.without)?;
        }
        if self.hosts != usize::MAX {
            write!(f, " --hosts {}", self.hosts)?;
        }
        if let Some(flows) = &self.flows {
            let flows: Vec<String> = flows.iter().map(usize::to_string).collect();
            write!(f, " --flows {}", flows.join(","))?;
        }
        if self.time != 100 {
            write!(f, " --time {}", self.time)?;
        }
        Ok(())
    }
}
