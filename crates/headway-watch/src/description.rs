//! What a page is told first: what is measured, and which pictures there are.

use serde::Serialize;

/// Whose time samples have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// The time of a simulation: each source begins at zero.
    Virtual,
    /// The time since the command has begun.
    Real,
}

/// What a page shows.
#[derive(Debug, Serialize)]
pub struct Description {
    title: String,
    /// How the command was called.
    command: String,
    /// What the groups are: senders, directions, peers.
    group: &'static str,
    time: Time,
    /// The groups that are known from the beginning, in their order, and how they look.
    looks: Vec<(String, usize)>,
    panels: Vec<Panel>,
    /// What is said when the command ends without having said it.
    #[serde(skip)]
    end: &'static str,
}

impl Description {
    /// A page with this title, for what `command` measures of each `group`.
    pub fn new(title: &str, command: String, group: &'static str, time: Time) -> Self {
        Self {
            title: title.into(),
            command,
            group,
            time,
            looks: Vec::new(),
            panels: Vec::new(),
            end: "The command has ended.",
        }
    }

    /// With these groups, and the number of the colour and the line of each.
    pub fn with_looks(self, looks: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self { looks: looks.into_iter().collect(), ..self }
    }

    /// With these pictures.
    pub fn with_panels(self, panels: impl IntoIterator<Item = Panel>) -> Self {
        Self { panels: panels.into_iter().collect(), ..self }
    }

    /// With what is said when the command ends without having said it.
    pub fn with_end(self, end: &'static str) -> Self {
        Self { end, ..self }
    }

    pub(super) fn end(&self) -> &'static str {
        self.end
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn time(&self) -> Time {
        self.time
    }
}

/// A picture: one value of all groups, or several values of one.
#[derive(Debug, Serialize)]
pub struct Panel {
    title: &'static str,
    unit: &'static str,
    about: &'static str,
    lines: Vec<Line>,
}

/// What a line shows.
#[derive(Debug, Serialize)]
struct Line {
    label: &'static str,
    /// The place of the value in a sample, behind the time.
    value: usize,
    /// Eight times its growth in a second, in place of itself.
    is_bit_rate: bool,
}

impl Panel {
    /// A value of all groups.
    pub fn of_value(title: &'static str, unit: &'static str, value: usize, about: &'static str) -> Self {
        Self { title, unit, about, lines: vec![Line { label: title, value, is_bit_rate: false }] }
    }

    /// The rate of a count of bytes, of all groups.
    pub fn of_bit_rate(title: &'static str, value: usize, about: &'static str) -> Self {
        Self { title, unit: "bit/s", about, lines: vec![Line { label: title, value, is_bit_rate: true }] }
    }

    /// Several counts of one group, which the page lets choose.
    pub fn of_counts(
        title: &'static str,
        unit: &'static str,
        counts: &[(&'static str, usize)],
        about: &'static str,
    ) -> Self {
        let line = |&(label, value): &(&'static str, usize)| Line { label, value, is_bit_rate: false };
        Self { title, unit, about, lines: counts.iter().map(line).collect() }
    }
}
