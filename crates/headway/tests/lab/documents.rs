//! Documents: what the program generates for them is complete, and their links lead somewhere.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::HEADWAY;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

#[test]
fn the_schema_of_experiment_files() {
    let document = "docs/experiment.schema.json";
    let stored = fs::read_to_string(root().join(document)).expect(document);
    let made = HEADWAY.succeed(&root(), &["lab", "schema"]);
    assert!(stored == made, "{document} is out of date: headway lab schema > {document}");
}

/// A row for each column, in their order, each with a type and a meaning of its own.
#[test]
fn the_columns_of_results() {
    let text = HEADWAY.succeed(&root(), &["lab", "columns"]);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"))
        .map(|row| row.splitn(3, " | ").collect())
        .collect();
    let named: Vec<String> = headway_lab::columns().map(|column| format!("{}`", column.name)).collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), named);
    let mut meanings = HashSet::new();
    for row in &rows {
        assert!(!row[1].is_empty() && !row[2].trim().is_empty(), "{row:?}");
        assert!(meanings.insert(row[2]), "{row:?} has the meaning of another column");
    }
}

/// `docs/generate` writes the help of every command, and the columns.
#[test]
fn the_generated_references() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = root().join("docs/generate");
    let output = Command::new(script).arg(folder.path()).env("HEADWAY", HEADWAY.0).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    assert_eq!(read("columns.md"), HEADWAY.succeed(&root(), &["lab", "columns"]));
    let commands = read("commands.md");
    let headings: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    for section in commands.split("\n## ").skip(1) {
        let (command, help) = section.split_once('\n').expect("a heading and a text");
        assert!(help.contains(&format!("Usage: {command}")), "{section}");
        // Every command that a help lists has a section of its own.
        let listed = help.split("\nCommands:\n").nth(1).map(|rest| rest.split("\n\n").next().unwrap_or(rest));
        for line in listed.unwrap_or_default().lines() {
            let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next()).unwrap_or_default();
            if !name.is_empty() && name != "help" {
                let whole = format!("{command} {name}");
                assert!(headings.contains(&whole.as_str()), "{whole} is not in commands.md");
            }
        }
    }
    assert!(headings.contains(&"headway race") && headings.len() > 30, "{headings:?}");
}

/// A link of a document leads to a file that is there, and to a heading that is there.
#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut documents = Vec::new();
    find_documents(&root, &mut documents);
    assert!(documents.len() > 30, "{documents:?}");
    let mut headings: HashMap<PathBuf, HashSet<String>> = HashMap::new();
    let mut broken = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(document).expect("a document");
        for target in links(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = match path {
                "" => document.clone(),
                path => document.parent().expect("a folder").join(path),
            };
            let is_there = file.exists()
                && (anchor.is_empty()
                    || headings.entry(file.clone()).or_insert_with(|| anchors(&file)).contains(anchor));
            if !is_there {
                broken.push(format!("{}: {target}", document.strip_prefix(&root).expect("below").display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

/// All Markdown of the repository, without what is built or generated.
fn find_documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() && !name.starts_with('.') && !["target", "generated", "node_modules"].contains(&name)
        {
            find_documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The targets of inline links and pictures, outside of blocks of code.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("\n```").step_by(2);
    prose.flat_map(|part| part.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())).collect()
}

/// The names of a document's headings in links: in lower case, with hyphens for spaces and without other punctuation.
fn anchors(document: &Path) -> HashSet<String> {
    let text = fs::read_to_string(document).unwrap_or_default();
    let prose: String = text.split("\n```").step_by(2).flat_map(|part| [part, "\n"]).collect();
    let headings =
        prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>().to_lowercase()
        })
        .collect()
}
