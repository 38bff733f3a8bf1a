//! Runs every packet script below `tests/scripts`, one test each; `tests/scripts/README.md`
//! explains how they are written.

mod script;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut trials: Vec<Trial> = find(&root).into_iter().map(|path| trial(&root, path)).collect();
    trials.extend(script::self_check::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The scripts of all folders below `folder`, sorted.
fn find(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(find(&path));
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn trial(root: &Path, path: PathBuf) -> Trial {
    let name = path.strip_prefix(root).unwrap_or(&path).with_extension("").display().to_string();
    Trial::test(name, move || {
        let text = fs::read_to_string(&path)?;
        let shown = path.display();
        script::run(&text).map_err(|failure| failure.at(&shown.to_string()).into())
    })
}
