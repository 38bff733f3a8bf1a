//! The findings, as text and as JSON.

use serde::Serialize;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    /// It works.
    Good,
    /// It does not.
    Bad,
    /// It is unknown.
    Unknown,
    /// For information.
    Noted,
}

impl Mark {
    pub(super) fn of<T, E>(outcome: &Result<T, E>) -> Self {
        if outcome.is_ok() { Self::Good } else { Self::Bad }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Good => "yes",
            Self::Bad => "no",
            Self::Unknown => "?",
            Self::Noted => "-",
        }
    }
}

#[derive(Serialize)]
struct Finding {
    subject: String,
    mark: Mark,
    text: String,
}

/// All findings.
#[derive(Default, Serialize)]
pub(super) struct Findings {
    findings: Vec<Finding>,
    advice: Option<String>,
}

impl Findings {
    pub(super) fn add(&mut self, subject: &str, mark: Mark, text: String) {
        self.findings.push(Finding { subject: subject.into(), mark, text });
    }

    pub(super) fn advise(&mut self, advice: &str) {
        self.advice = Some(advice.into());
    }

    /// As lines, or as one object.
    pub(super) fn text(&self, json: bool) -> String {
        if json {
            return format!("{:#}\n", serde_json::json!(self));
        }
        let mut lines = String::new();
        let width = self.findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
        for Finding { subject, mark, text } in &self.findings {
            lines.push_str(&format!("{subject:width$}  {:3}  {text}\n", mark.word()));
        }
        if let Some(advice) = &self.advice {
            lines.push_str(&format!("use: {advice}\n"));
        }
        lines
    }
}
