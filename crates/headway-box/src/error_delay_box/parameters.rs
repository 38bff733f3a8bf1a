//! The parameters of an emulated link, as options or as a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use headway_command::scenario_arguments::LinkArguments;
use headway_lab::load_links;
use headway_link::LinkConfig;
use headway_net::error_delay_box::LaneConfig;
use headway_sim::derive_seed;
use headway_sim::race::{FORWARD_LINK, REVERSE_LINK};

use super::BoxError;

/// The link of a command that has one.
#[derive(Args)]
#[group(skip)]
pub(crate) struct LinkParameters {
    /// Read the parameters of the link from a TOML file instead (`headway box` again at every SIGHUP)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// RNG seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Packet length for queues in bandwidth-delay products; of `headway shell` also the MTU
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    mtu: u16,
    #[command(flatten)]
    link: LinkArguments,
}

impl LinkParameters {
    /// The configuration file.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The value of each key of the link that has one, unless there is a configuration file.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.link.values()
    }

    /// The same with other damage on the forward path.
    pub(crate) fn with_damage(&self, damage: &str) -> Self {
        let Self { config, seed, mtu, link } = self;
        Self { config: config.clone(), seed: *seed, mtu: *mtu, link: link.with("damage", damage) }
    }

    /// Words of a command line with these options that give these links.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words = vec![format!("--seed={}", self.seed).into(), format!("--mtu={}", self.mtu).into()];
        match &self.config {
            Some(path) => words.extend(["--config".into(), path.into()]),
            None => words.extend(self.link.words().map(OsString::from)),
        }
        words
    }

    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The links of both directions, from the file or the options.
    pub(crate) fn links(&self) -> Result<[LinkConfig; 2], BoxError> {
        match &self.config {
            Some(path) => Ok(load_links(path, self.mtu)?),
            None => Ok(self.link.both(self.mtu)?),
        }
    }

    /// Seeded as the simulator seeds the links of a race; `generation` counts the changes of the links.
    pub(crate) fn seeded(&self, links: [LinkConfig; 2], generation: u64) -> [LaneConfig; 2] {
        let [forward, reverse] = links;
        let seed = |purpose| derive_seed(self.seed, purpose, generation);
        [
            LaneConfig { link: forward, seed: seed(FORWARD_LINK) },
            LaneConfig { link: reverse, seed: seed(REVERSE_LINK) },
        ]
    }
}
