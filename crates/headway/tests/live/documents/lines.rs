//! The lines of the documents that a reader is to type.

use std::fs;
use std::path::{Path, PathBuf};

/// One of them, whole and without its remark.
pub(crate) struct Line {
    pub(crate) document: String,
    pub(crate) text: String,
    /// The variables that lines before it set.
    pub(crate) variables: Vec<(String, String)>,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The lines of all blocks of a shell, in the order of the documents.
pub(crate) fn lines() -> Vec<Line> {
    let mut documents: Vec<PathBuf> = ["", "docs", "papers", "beyond", "live", "python"]
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).expect("a folder of the repository"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    // A README, which others go on from, comes first.
    documents.sort_by_key(|path| (path.parent() != Some(&root()), path.clone()));
    documents.iter().flat_map(|document| lines_of(document)).collect()
}

fn lines_of(document: &Path) -> Vec<Line> {
    let name = document.strip_prefix(root()).expect("below the repository").display().to_string();
    let text = fs::read_to_string(document).expect("a document");
    let blocks = text.split("\n```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let mut lines = Vec::new();
    for block in blocks {
        let mut variables: Vec<(String, String)> = Vec::new();
        for line in block.replace("\\\n", " ").lines() {
            let text = without_remark(line).split_whitespace().collect::<Vec<_>>().join(" ");
            match text.split_once("=\"") {
                Some((variable, value)) if !variable.contains(' ') => {
                    variables.push((variable.into(), value.trim_end_matches('"').into()));
                }
                _ if text.is_empty() => {}
                _ => lines.push(Line { document: name.clone(), text, variables: variables.clone() }),
            }
        }
    }
    lines
}

fn without_remark(line: &str) -> &str {
    if line.starts_with('#') { "" } else { line.split(" #").next().unwrap_or(line) }
}

impl Line {
    /// The words of each program that it starts.
    pub(crate) fn programs(&self) -> Vec<Vec<String>> {
        let expand =
            |text: String, (variable, value): &(String, String)| text.replace(&format!("${variable}"), value);
        let text = self.variables.iter().fold(self.text.clone(), expand);
        let words =
            shlex::split(&text).unwrap_or_else(|| panic!("{}: {text}: a quote has no end", self.document));
        words
            .split(|word| ["&&", "|", "&", ";"].contains(&word.trim_start_matches([')', '('])))
            .map(|words| words.split(|word| word.starts_with('>')).next().unwrap_or_default().to_vec())
            .collect()
    }

    /// The words of each `headway` among them, without its name, those inside of `headway shell` too.
    pub(crate) fn headways(&self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for words in self.programs() {
            let mut rest = match &words[..] {
                [cargo, race, ..] if cargo == "cargo" && race == "race" => &words[1..],
                [cargo, run, ..] if cargo == "cargo" && run == "run" && !is_of_another(&words) => {
                    words.iter().position(|word| word == "--").map_or(&[][..], |place| &words[place + 1..])
                }
                _ => after_name(&words),
            };
            while !rest.is_empty() {
                found.push(rest.to_vec());
                rest = after_name(rest);
            }
        }
        found
    }
}

/// What follows the word `headway`, where that is a program and not an argument.
fn after_name(words: &[String]) -> &[String] {
    let starts = ["--", "exec", "nice", "-10", "middle"];
    let is_program = |place: usize| place == 0 || starts.contains(&words[place - 1].as_str());
    let place = (0..words.len()).find(|&place| words[place] == "headway" && is_program(place));
    place.map_or(&[], |place| &words[place + 1..])
}

/// Whether `cargo run` runs something else than the command.
fn is_of_another(words: &[String]) -> bool {
    let others = |pair: &[String]| pair[0] == "-p" && pair[1] != "headway";
    words.windows(2).any(others)
        || words.iter().any(|word| ["--example", "--manifest-path"].contains(&word.as_str()))
}
