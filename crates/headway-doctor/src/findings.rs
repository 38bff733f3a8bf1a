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
    /// How many of them are about the machine: they come first.
    #[serde(skip)]
    machine: usize,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The verdict, and what was found about a path.
    Verdict,
    /// The verdict, and everything.
    Details,
    /// Everything, as one object.
    Json,
}

impl Findings {
    pub(super) fn add(&mut self, subject: &str, mark: Mark, text: String) {
        self.findings.push(Finding { subject: subject.into(), mark, text });
    }

    pub(super) fn advise(&mut self, advice: &str) {
        self.advice = Some(advice.into());
    }

    /// What follows is about the path.
    pub(super) fn begin_path(&mut self) {
        self.machine = self.findings.len();
    }

    /// The verdict first. Without details the findings about the path follow, if there is one.
    pub(super) fn text(&self, form: Form) -> String {
        if form == Form::Json {
            return format!("{:#}\n", serde_json::json!(self));
        }
        let (machine, path) = self.findings.split_at(self.machine.min(self.findings.len()));
        let shown = if form == Form::Details { &self.findings[..] } else { path };
        let mut lines = String::new();
        if !path.is_empty() {
            lines.push_str(&format!("this path: {}\n", verdict(path)));
        }
        if let Some(advice) = &self.advice {
            lines.push_str(&format!("use {advice}\n"));
        }
        let width = shown.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
        for Finding { subject, mark, text } in shown {
            lines.push_str(&format!("{subject:width$}  {:3}  {text}\n", mark.word()));
        }
        if form == Form::Verdict && !machine.is_empty() {
            lines.push_str("-v lists what this machine and its interfaces support\n");
        }
        lines
    }
}

/// What the findings about a path come down to.
fn verdict(path: &[Finding]) -> &'static str {
    let mark = |subject: &str| path.iter().find(|finding| finding.subject == subject).map(|found| found.mark);
    let all = |subjects: [&str; 2]| subjects.iter().all(|subject| mark(subject) == Some(Mark::Good));
    match (mark("path"), mark("options")) {
        (Some(Mark::Good), Some(Mark::Good)) if all(["damage there", "damage back"]) => {
            "HACK works, because its options and damaged packets arrive in both directions"
        }
        (Some(Mark::Good), Some(Mark::Good)) if mark("damage there").is_some() => {
            "HACK is negotiated but does not help, because damaged packets do not arrive in both directions"
        }
        (Some(Mark::Good), Some(Mark::Good)) => {
            "HACK is negotiated; whether damaged packets arrive is not known, because the peer is no doctor"
        }
        (Some(Mark::Good), _) => "TCP works, without HACK, because it was not negotiated",
        _ => "it does not work, because no connection could be opened",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(marks: &[(&str, Mark)]) -> Findings {
        let mut findings = Findings::default();
        findings.add("tun", Mark::Bad, "no device".into());
        findings.advise("--udp, because");
        findings.begin_path();
        marks.iter().for_each(|(subject, mark)| findings.add(subject, *mark, "so".into()));
        findings
    }

    #[test]
    fn the_verdict_comes_first_and_details_on_request() {
        let good = path(&[("path", Mark::Good), ("options", Mark::Good)]);
        let short = good.text(Form::Verdict);
        assert!(short.starts_with("this path: HACK is negotiated; "), "{short}");
        assert!(short.contains("\nuse --udp, because\npath     yes  so\n"), "{short}");
        assert!(!short.contains("no device"), "{short}");
        assert!(good.text(Form::Details).contains("tun      no   no device"));
        assert!(good.text(Form::Json).contains("no device"));
        assert!(Findings::default().text(Form::Verdict).is_empty());
    }

    #[test]
    fn the_verdict_follows_from_the_marks() {
        let says = |marks: &[(&str, Mark)]| path(marks).text(Form::Verdict);
        let clear = [("path", Mark::Good), ("options", Mark::Good), ("damage there", Mark::Good)];
        let both = |back| [&clear[..], &[("damage back", back)]].concat();
        assert!(says(&both(Mark::Good)).contains("HACK works"));
        assert!(says(&both(Mark::Bad)).contains("does not help"));
        assert!(says(&[("path", Mark::Good), ("options", Mark::Unknown)]).contains("without HACK"));
        assert!(says(&[("path", Mark::Bad)]).contains("does not work"));
    }
}
