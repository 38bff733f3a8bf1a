//! The table of all keys.
//!
//! A key of `[scenario]` and `[sweep]` is an entry here, in the file of its subject. The options of `race` and `box`, the
//! JSON schema (`headway-lab/src/experiment/file.rs`) and the columns of results follow from it; features of `--with` and
//! `--without` are fields of `headway_tcp::Features`.

mod hops;
mod link;
mod sender;
mod text;
mod traffic;
mod transfer;
mod trunk;

use std::sync::LazyLock;

use headway_sim::race::{Feature, nearest};

use crate::error::KeyError;
use crate::hops::fill;
use crate::key::{Defaults, Key};
use crate::settings::Settings;
use crate::traces::Traces;
pub(crate) use hops::NAME as HOPS;

/// Every key, in the order in which they are applied: some build on those before them. A new one needs an
/// entry in one of the files beside this one and nothing else.
///
/// The order of those that are there is part of what seeds and stored results derive from: it stays.
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let mut keys = Vec::from(sender::SENDER);
        keys.extend(Feature::all().map(sender::feature));
        keys.extend([sender::WARM, sender::FRAMES, sender::CARRIER].into_iter().chain(transfer::TRANSFER));
        keys.extend(link::LINK.into_iter().chain(link::DAMAGE).chain(traffic::TRAFFIC));
        keys.extend(trunk::TRUNK);
        keys.extend([sender::RULES_OFF, sender::TOLD].into_iter().chain(hops::HOPS));
        keys
    });
    &KEYS
}

/// The key of this name.
pub fn key(name: &str) -> Option<&'static Key> {
    keys().iter().find(|key| key.name == name)
}

/// The error message for a name that is not in `known`.
pub fn unknown_key<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let names: Vec<&str> = known.clone().collect();
    let hint = nearest(name, known).map_or(String::new(), |other| format!(" (did you mean {other}?)"));
    format!("unknown key{hint}: expected one of {}", names.join(", "))
}

/// What keys describe. `given` says the value of those that were given; `defaults` fill in the others.
///
/// # Errors
///
/// A value makes no sense.
pub fn read<'a>(
    given: impl Fn(&str) -> Option<&'a str>,
    defaults: Defaults,
    traces: &Traces<'_>,
) -> Result<Settings, KeyError> {
    let mut settings = Settings::new();
    for key in keys() {
        let Some(value) = given(key.name).or(key.default.value(defaults)) else { continue };
        key.set(&mut settings, value, traces).map_err(|problem| KeyError { key: key.name, problem })?;
    }
    fill(&mut settings, &given, defaults, traces)?;
    Ok(settings)
}
