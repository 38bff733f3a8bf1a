//! What a page asks for.

use std::collections::BTreeMap;

use headway_scenario::{Defaults, Scope, Settings, Traces, keys, read, unknown_key};
use headway_sim::race::{Entrant, Feature, TcpSender};
use serde::Deserialize;

/// A browser keeps the capture of a run in memory.
const MOST_BYTES: u64 = 16 << 20;
/// And its user waits.
const MOST_VARIANTS: usize = 12;

/// A race with one seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Keys of a scenario with their values, as the command has them.
    keys: BTreeMap<String, String>,
    /// The senders.
    variants: Vec<String>,
    /// The seed.
    pub(crate) seed: u64,
}

impl Request {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("request: {error}"))
    }

    /// The scenario, and the senders in it.
    pub(crate) fn settings(&self) -> Result<(Settings, Vec<TcpSender>), String> {
        let known = || keys().iter().filter(|key| key.scope != Scope::Clock && key.name != "variant");
        for name in self.keys.keys() {
            if name == "duration" {
                return Err("duration: the page has transfers of a size".into());
            }
            if !known().any(|key| key.name == name) {
                return Err(format!("{name}: {}", unknown_key(name, known().map(|key| key.name))));
            }
        }
        let given = |name: &str| self.keys.get(name).map(String::as_str);
        let traces = Traces::refused("the page reads no files");
        let settings = read(given, Defaults::Commands, &traces).map_err(|error| error.to_string())?;
        if let Some(size) = settings.sent_size().filter(|size| size.bytes() > MOST_BYTES) {
            return Err(format!("size: {size}: expected at most 16MiB in a browser"));
        }
        if self.variants.is_empty() || self.variants.len() > MOST_VARIANTS {
            let given = self.variants.len();
            return Err(format!("variants: expected 1 to {MOST_VARIANTS} senders, got {given}"));
        }
        let senders: Vec<TcpSender> =
            self.variants.iter().map(|name| sender(name, &settings)).collect::<Result<_, _>>()?;
        Ok((settings, senders))
    }

    /// The command that has the same packets.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["headway race".to_owned()];
        for (name, value) in &self.keys {
            let is_feature = Feature::all().any(|feature| feature.name() == name);
            words.push(match (is_feature, value.as_str()) {
                (false, _) => format!("--{name} {}", quoted(value)),
                (true, "on" | "true") => format!("--with {name}"),
                (true, "off" | "false") => format!("--without {name}"),
                (true, _) => continue,
            });
        }
        words.push(format!("--variant {} --seed {} --runs 1 --pcap out", self.variants.join(","), self.seed));
        words.join(" ")
    }
}

fn sender(name: &str, settings: &Settings) -> Result<TcpSender, String> {
    let entrant: Entrant = name.parse().map_err(|error| format!("variant: {error}"))?;
    let entrant = entrant.with_congestion(settings.congestion);
    let tcp = entrant.tcp().ok_or_else(|| format!("variant: {name:?}: expected a TCP"))?;
    settings.scenario.check(entrant).map_err(|error| error.to_string())?;
    Ok(tcp)
}

/// As a shell takes it for one word.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:@_".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}
