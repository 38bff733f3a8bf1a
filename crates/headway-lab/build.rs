//! A fingerprint of the code that determines results, so that rows made by other code are known as such
//! without anybody having to remember it.
//!
//! The fingerprint is of tokens: comments, documentation, white space and tests are no part of it. Where it is
//! the one that `results.lock` holds, rows carry the lock's digest of results in its place, so a change of
//! code that changes no result leaves the stored rows valid. `tests/results_lock.rs` proves the lock.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
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
    "../headway-scenario/src",
];

/// What a run through a trunk goes through in addition.
const TRUNK: &str = "../headway-trunk-proto/src/packets";

/// What packets of other TCPs go through in real time.
const LINK: [&str; 3] = ["../headway-units/src", "../headway-wire/src", "../headway-link/src"];

const LOCK: &str = "results.lock";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let trunk = [&CODE[..], &[TRUNK]].concat();
    for path in CODE.into_iter().chain([TRUNK, LOCK]) {
        // Cargo takes a path that does not exist as changed each time.
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let lock = fs::read_to_string(LOCK).unwrap_or_default();
    for (name, key, paths) in [
        ("HEADWAY", "", &CODE[..]),
        ("HEADWAY_OWN_PATH", "own-path-", &CODE),
        ("HEADWAY_TRUNK", "trunk-", &trunk),
        ("HEADWAY_HOPS", "hops-", &CODE),
        ("HEADWAY_LINK", "link-", &LINK),
    ] {
        // In a package the other crates are elsewhere; there the version represents their code.
        let tokens =
            fingerprint(paths).unwrap_or_else(|_| std::env::var("CARGO_PKG_VERSION").unwrap_or_default());
        let locked = |what: &str| value(&lock, &format!("{key}{what}")).unwrap_or_default();
        let (code, same) = if locked("code") == tokens {
            (locked("results"), format!("{tokens} {}", locked("earlier")))
        } else {
            (tokens.as_str(), String::new())
        };
        println!("cargo::rustc-env={name}_TOKENS={tokens}");
        println!("cargo::rustc-env={name}_CODE={code}");
        println!("cargo::rustc-env={name}_SAME={}", same.trim());
    }
}

/// The value of a line `key = "value"`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='))?;
    line.trim().strip_prefix('"')?.strip_suffix('"')
}

/// The same for the same tokens, wherever the sources lie and in whatever order the file system lists them.
fn fingerprint(paths: &[&str]) -> io::Result<String> {
    let mut files = Vec::new();
    for path in paths {
        collect(Path::new(path), &mut files)?;
    }
    files.sort();
    let mut digest = Sha256::new();
    for file in &files {
        let text = fs::read_to_string(file)?;
        let tokens = TokenStream::from_str(&text)
            .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
        // Checkouts may differ in how paths are written.
        digest.update(format!("{}\n", file.to_string_lossy().replace('\\', "/")));
        hash(tokens, &mut digest);
    }
    Ok(digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

/// The sources at `path` that are not tests.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|ending| ending == "rs");
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if (path.is_dir() || is_source) && !is_test {
            collect(&path, files)?;
        }
    }
    Ok(())
}

/// Hashes tokens, apart from documentation, tests, and commas that only line breaks call for.
fn hash(tokens: TokenStream, digest: &mut Sha256) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                // `#![doc]` of a file has a mark more.
                let inner =
                    tokens.next_if(|next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'));
                let Some(TokenTree::Group(attribute)) = tokens.peek() else {
                    digest.update("#");
                    continue;
                };
                let text = attribute.stream().to_string().replace(' ', "");
                if text.starts_with("doc=") {
                    tokens.next();
                } else if text == "cfg(test)" && inner.is_none() {
                    tokens.next();
                    skip_item(&mut tokens);
                } else {
                    digest.update(if inner.is_some() { "#!" } else { "#" });
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' && tokens.peek().is_none() => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                digest.update(open);
                hash(group.stream(), digest);
                digest.update(close);
            }
            other => digest.update(format!("{other} ")),
        }
    }
}

/// Passes over an item: up to its block, or to its semicolon.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    let mut is_use = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) => is_use |= word == "use",
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_use => return,
            TokenTree::Punct(mark) if mark.as_char() == ';' => return,
            _ => {}
        }
    }
}
