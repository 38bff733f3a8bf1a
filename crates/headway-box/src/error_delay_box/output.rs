//! The output of the box, as a table or as lines of JSON.

use headway_command::{OutputError, output};
use headway_link::LinkConfig;
use headway_net::error_delay_box::{BoxReport, Priority};

use super::watch::WatchedBox;
use super::{json, table};

pub(super) struct Output {
    json: bool,
    interfaces: [String; 2],
    /// The last report of the table.
    last: Option<BoxReport>,
    lines: u32,
    watched: Option<WatchedBox>,
}

/// Rows between two headings.
const HEADING_EVERY: u32 = 20;

impl Output {
    pub(super) fn new(json: bool, interfaces: [String; 2]) -> Self {
        Self { json, interfaces, last: None, lines: 0, watched: None }
    }

    /// With a live page.
    pub(super) fn watched(self, watched: Option<WatchedBox>) -> Self {
        Self { watched, ..self }
    }

    /// The box runs.
    pub(super) fn ready(&mut self, links: &[LinkConfig; 2], priority: Priority) -> Result<(), OutputError> {
        if self.json {
            return print(&[json::ready(&self.interfaces, links, priority)]);
        }
        let mut lines = table::describe(&self.interfaces, links);
        lines.push(table::priority(priority).into());
        lines.push("ready".into());
        print(&lines)
    }

    /// An interval has passed.
    pub(super) fn interval(&mut self, report: &BoxReport) -> Result<(), OutputError> {
        if let Some(watched) = &self.watched {
            watched.report(report);
        }
        if self.json {
            return print(&[json::report(report, false, None)]);
        }
        let mut lines = Vec::new();
        if self.lines.is_multiple_of(HEADING_EVERY) {
            lines.push(table::heading(report));
        }
        self.lines += 1;
        lines.extend(table::interval(report, self.last.as_ref()));
        self.last = Some(report.clone());
        print(&lines)
    }

    /// The links were changed.
    pub(super) fn changed(&mut self, links: &[LinkConfig; 2]) -> Result<(), OutputError> {
        if self.json {
            return print(&[json::changed(links)]);
        }
        print(&table::describe(&self.interfaces, links))
    }

    /// Changing the links failed.
    pub(super) fn kept(&mut self, problem: &str) -> Result<(), OutputError> {
        if self.json { print(&[json::kept(problem)]) } else { Ok(()) }
    }

    /// The box has ended.
    pub(super) fn end(&mut self, report: &BoxReport, error: Option<String>) -> Result<(), OutputError> {
        if let Some(watched) = &self.watched {
            watched.end(report, error.as_deref());
        }
        if self.json {
            return print(&[json::report(report, true, error)]);
        }
        print(&table::summary(report))
    }
}

fn print(lines: &[String]) -> Result<(), OutputError> {
    output::print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}
