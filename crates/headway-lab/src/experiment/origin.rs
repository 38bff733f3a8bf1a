//! Where a value that makes no sense came from: a line of the file, or an option of the command line.

use super::Overrides;
use super::file::key_of;
use super::place::{line_of, one_line};
use crate::error::LabError;

/// What the values of an experiment came from.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// What the file is called.
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) overrides: &'a Overrides,
}

impl Origin<'_> {
    /// The value of `key` makes no sense.
    pub(super) fn complaint(self, key: &str, problem: String) -> LabError {
        let problem = one_line(&problem);
        let sets = |setting: &&String| key_of(setting).is_some_and(|(set, _)| set == key);
        let set = self.overrides.settings.iter().rev().find(sets);
        let runs = self.overrides.runs.filter(|_| key == "runs");
        let option = runs.map(|runs| format!("--runs {runs}")).or(set.map(|set| format!("--set {set}")));
        match option {
            Some(option) => LabError::BadOverride { option: one_line(&option), problem },
            None => LabError::Invalid {
                file: self.file.into(),
                line: line_of(key, self.text),
                key: one_line(key),
                problem,
            },
        }
    }

    /// `error` was found in the file with the options. If the file is an experiment without those that set keys, they are the
    /// cause, wherever in the file it was found.
    pub(super) fn attribute(
        self,
        error: LabError,
        is_fine_without: impl FnOnce(&Overrides) -> bool,
    ) -> LabError {
        let settings = &self.overrides.settings;
        let is_of_file = matches!(error, LabError::Invalid { .. });
        let without = Overrides { settings: Vec::new(), ..self.overrides.clone() };
        if settings.is_empty() || !is_of_file || !is_fine_without(&without) {
            return error;
        }
        let options: Vec<String> = settings.iter().map(|setting| format!("--set {setting}")).collect();
        LabError::BadOverride { option: one_line(&options.join(" ")), problem: error.to_string() }
    }
}
