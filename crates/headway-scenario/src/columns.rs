//! The parameters of a run in tables of results and in JSON.

use std::sync::LazyLock;

use headway_link::LinkConfig;
use headway_sim::{Value, ValueKind};
use headway_trace::PathDirection;

use crate::key::{Key, Scope};
use crate::settings::Settings;
use crate::table::keys;

/// A column of parameters.
#[derive(Debug)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// What it holds.
    pub kind: ValueKind,
    /// What it means.
    pub meaning: String,
    /// What its key belongs to; `None` for what follows from several.
    pub scope: Option<Scope>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Key(&'static Key),
    Derived(fn(&Settings) -> Value),
}

impl Column {
    /// The value in a run.
    pub fn value(&self, settings: &Settings) -> Value {
        match self.source {
            Source::Key(key) => key.value(settings),
            Source::Derived(value) => value(settings),
        }
    }

    /// The key that it shows; `None` for what follows from several.
    pub fn key(&self) -> Option<&'static Key> {
        match self.source {
            Source::Key(key) => Some(key),
            Source::Derived(_) => None,
        }
    }

    fn of_key(key: &'static Key) -> Self {
        let meaning = key.meaning.map_or_else(|| in_sentence(key.help), str::to_owned);
        let meaning = match key.empty() {
            Some(empty) => format!("{meaning}; empty: {empty}"),
            None => meaning,
        };
        let (kind, scope) = (key.dimension.kind(), Some(key.scope));
        Self { name: key.column(), kind, meaning, scope, source: Source::Key(key) }
    }

    fn derived(name: &str, kind: ValueKind, meaning: &str, value: fn(&Settings) -> Value) -> Self {
        let source = Source::Derived(value);
        Self { name: name.into(), kind, meaning: meaning.into(), scope: None, source }
    }
}

/// Without the capital of its first word, unless that is an acronym.
fn in_sentence(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.into(),
    }
}

/// Every column of parameters: those of the keys, with all features in one, and what follows from them.
pub fn parameters() -> &'static [Column] {
    static PARAMETERS: LazyLock<Vec<Column>> = LazyLock::new(|| {
        let mut columns = Vec::new();
        for key in keys() {
            if key.scope != Scope::Feature {
                columns.push(Column::of_key(key));
            } else if columns.last().is_some_and(|last| last.scope != Some(Scope::Feature)) {
                columns.push(features());
            }
        }
        columns.push(Column::derived(
            "loss_run",
            ValueKind::Integer,
            "mean number of packets lost in a row on the forward path; empty: losses are independent",
            |settings| settings.scenario.forward.loss.run.map(u64::from).into(),
        ));
        columns.push(Column::derived(
            "share_hit",
            ValueKind::Number,
            "expected share of data packets that are damaged",
            |settings| settings.scenario.share_hit().into(),
        ));
        columns.push(Column::derived(
            "bound_bps",
            ValueKind::Number,
            "upper bound of the goodput of a sender of whole packets",
            |settings| settings.scenario.bound().into(),
        ));
        columns
    });
    &PARAMETERS
}

fn features() -> Column {
    let meaning = "features of the sender that were turned on (+) or off (-)";
    let value = |settings: &Settings| settings.scenario.features.to_string().into();
    Column { scope: Some(Scope::Feature), ..Column::derived("features", ValueKind::Text, meaning, value) }
}

/// The parameters of one direction of a link, by their names.
pub fn link_values(link: &LinkConfig) -> impl Iterator<Item = (String, Value)> + '_ {
    keys()
        .iter()
        .filter(|key| key.direction() != Some(PathDirection::Reverse))
        .filter_map(|key| Some((key.column(), key.value_in(link)?)))
        .chain([("loss_run".to_owned(), link.loss.run.map(u64::from).into())])
}
