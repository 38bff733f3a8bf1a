//! Every command of the documents is one that this program reads, and what else they start is there.

#[path = "../tests/live/documents/lines.rs"]
mod lines;

use std::fs;

use clap::Parser as _;

use crate::Arguments;
use lines::{lines, root};

#[test]
fn commands_of_the_documents_are_read() {
    let mut wrong = Vec::new();
    let mut commands = 0;
    for line in lines() {
        for words in line.headways() {
            commands += 1;
            let program = std::iter::once("headway".to_owned());
            if let Err(error) = Arguments::try_parse_from(program.chain(words)) {
                wrong.push(format!("{}: {}: {error}", line.document, line.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands > 60, "{commands}");
    // What `cargo race` is.
    let aliases = fs::read_to_string(root().join(".cargo/config.toml")).expect("aliases");
    assert!(
        aliases.lines().any(|line| line.starts_with("race = ") && line.ends_with(" -- race\"")),
        "{aliases}"
    );
}

/// Packages, examples, targets and scripts.
#[test]
fn what_else_the_documents_start_is_there() {
    let mut wrong = Vec::new();
    let mut found = 0;
    for line in lines() {
        for words in line.programs() {
            let after =
                |option: &str| words.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1].as_str());
            let mut paths = Vec::new();
            if words.first().is_some_and(|program| program == "cargo") {
                let package = after("-p").map(|package| format!("crates/{package}"));
                paths.extend(after("--manifest-path").map(str::to_owned));
                for (option, folder) in [("--example", "examples"), ("--bench", "benches")] {
                    let target = package.as_ref().zip(after(option));
                    paths.extend(target.map(|(package, name)| format!("{package}/{folder}/{name}")));
                }
                paths.extend(package);
            }
            let folders = ["reference/", "packaging/", ".ci/", "crates/", "beyond/", "live/"];
            let is_path = |word: &&String| folders.iter().any(|folder| word.starts_with(folder));
            // What a build or a pattern gives is not there.
            paths.extend(words.iter().filter(is_path).filter(|word| !word.contains(['*', '='])).cloned());
            found += paths.len();
            let missing = paths.iter().filter(|path| !is_there(path));
            wrong.extend(missing.map(|path| format!("{}: {}: there is no {path}", line.document, line.text)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found > 30, "{found}");
}

fn is_there(path: &str) -> bool {
    [path.to_owned(), format!("{path}.rs")].iter().any(|path| root().join(path).exists())
}
