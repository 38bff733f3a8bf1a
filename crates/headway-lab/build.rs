//! A fingerprint of the code that determines results, so that rows made by other code are known as such
//! without anybody having to remember it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What a run goes through, beside this crate. `headway-trace` only reads recorded links, whose fates are
/// part of a cell's identity.
const CODE: [&str; 7] = [
    "../headway-units/src",
    "../headway-wire/src",
    "../headway-tcp/src",
    "../headway-link/src",
    "../headway-sim/src",
    "src/runner.rs",
    "src/experiment/scenario.rs",
];

/// What packets of other TCPs go through in real time.
const LINK: [&str; 3] = ["../headway-units/src", "../headway-wire/src", "../headway-link/src"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for path in CODE {
        // Cargo takes a path that does not exist as changed each time.
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // In a package the other crates are elsewhere; there the version stands for their code.
    let version = || std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    for (name, paths) in [("HEADWAY_CODE", &CODE[..]), ("HEADWAY_LINK_CODE", &LINK)] {
        let code = fingerprint(paths).unwrap_or_else(|_| version());
        println!("cargo::rustc-env={name}={code}");
    }
}

/// The same for the same sources, wherever they lie and in whatever order the file system lists them.
fn fingerprint(paths: &[&str]) -> io::Result<String> {
    let mut files = Vec::new();
    for path in paths {
        collect(Path::new(path), &mut files)?;
    }
    files.sort();
    let mut digest = Sha256::new();
    for file in &files {
        // Checkouts may differ in how paths and lines are written.
        let name = file.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(file)?.replace("\r\n", "\n");
        digest.update(format!("{name}\n{}\n", text.len()));
        digest.update(text);
    }
    Ok(digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "rs") {
            collect(&path, files)?;
        }
    }
    Ok(())
}
