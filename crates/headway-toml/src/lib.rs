//! What is wrong with a TOML file, for those who wrote it: where, what stands there, and what was expected.
//!
//! The parser says where, and `serde` says what, in the words of Rust ("invalid type: map, expected a sequence"). These are
//! the words of TOML, in one line.
#![forbid(unsafe_code)]

use toml::de::Error;

/// What is wrong with a TOML file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What stands there and what was expected, in one line.
    pub text: String,
}

impl Problem {
    /// What the parser found wrong with `text`.
    pub fn of(text: &str, error: &Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|&byte| byte == b'\n').count() + 1;
        let entry = text.lines().nth(line - 1).unwrap_or_default().trim();
        Self { line, text: in_words(error.message().trim(), entry).replace('\n', "; ") }
    }
}

/// `entry` is the line that `message` is about.
fn in_words(message: &str, entry: &str) -> String {
    let (key, value) = match entry.split_once('=') {
        Some((key, value)) => (key.trim(), value.trim()),
        None => (entry, entry),
    };
    if message == "invalid socket address syntax" {
        return format!("{key}: got {value}: expected a socket address with a port, such as 192.0.2.1:7000");
    }
    // Of a value that may be one of several types: all that it says is what was expected.
    if message.starts_with("expected ") {
        return format!("{key}: got {value}: {message}");
    }
    let of_types = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, wanted)) = of_types.and_then(|types| types.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    match entry.trim_start_matches('[').split_once(']') {
        // A list of tables is read as one table, whose first key gets the first table of the list.
        Some((name, _)) if entry.starts_with("[[") && found == "map" => {
            format!("[[{name}]]: expected [{name}]: there is one of them")
        }
        Some((name, _)) if entry.starts_with('[') && wanted == "a sequence" => {
            format!("[{name}]: expected [[{name}]]: there may be several of them")
        }
        _ => format!("{key}: got {}: expected {}", value_in_words(found), type_in_words(wanted)),
    }
}

/// A value that `serde` has found.
fn value_in_words(found: &str) -> &str {
    let quoted = |kind: &str| found.strip_prefix(kind).map(|value| value.trim_matches('`'));
    match found {
        "sequence" => "a list",
        "map" => "a table",
        _ => {
            let numbers = quoted("integer ").or_else(|| quoted("floating point "));
            numbers.or_else(|| quoted("boolean ")).or_else(|| found.strip_prefix("string ")).unwrap_or(found)
        }
    }
}

/// A type that `serde` wanted.
fn type_in_words(wanted: &str) -> &str {
    match wanted {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, at least 0",
        "i64" => "a whole number",
        "f64" => "a number",
        "a string" => "a text in quotes",
        "path string" => "a path in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        wanted if wanted.starts_with("struct ") => "a table",
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::PathBuf;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only read")]
    struct File {
        runs: Option<u32>,
        port: Option<u16>,
        share: Option<f64>,
        name: Option<String>,
        path: Option<PathBuf>,
        own_path: Option<bool>,
        listen: Option<SocketAddr>,
        names: Option<Vec<String>>,
        peer: Option<Vec<Table>>,
        gateway: Option<Table>,
        value: Option<Value>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Table {
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged, expecting = "expected a number, or a text in quotes")]
    #[expect(dead_code, reason = "only read")]
    enum Value {
        Number(f64),
        Text(String),
    }

    fn problem(text: &str) -> String {
        let Problem { line, text } = Problem::of(text, &toml::from_str::<File>(text).expect_err(text));
        format!("{line}: {text}")
    }

    #[test]
    fn what_stands_there_and_what_was_expected_is_said_in_the_words_of_toml() {
        for (text, said) in [
            ("runs = 'ten'", "1: runs: got \"ten\": expected a whole number from 0 to 4294967295"),
            ("runs = -1", "1: runs: got -1: expected a whole number from 0 to 4294967295"),
            ("\n\nport = 70000", "3: port: got 70000: expected a whole number from 0 to 65535"),
            ("runs = 1.5", "1: runs: got 1.5: expected a whole number from 0 to 4294967295"),
            ("share = 'much'", "1: share: got \"much\": expected a number"),
            ("name = 3", "1: name: got 3: expected a text in quotes"),
            ("name = true", "1: name: got true: expected a text in quotes"),
            ("path = []", "1: path: got a list: expected a path in quotes"),
            ("own-path = 'yes'", "1: own-path: got \"yes\": expected true or false"),
            ("names = 'a'", "1: names: got \"a\": expected a list in brackets"),
            ("gateway = 3", "1: gateway: got 3: expected a table"),
            ("\n[peer]\nname = 'a'", "2: [peer]: expected [[peer]]: there may be several of them"),
            ("[[gateway]]\nname = 'a'", "1: [[gateway]]: expected [gateway]: there is one of them"),
            (
                "listen = 'here'",
                "1: listen: got 'here': expected a socket address with a port, such as 192.0.2.1:7000",
            ),
            ("value = true", "1: value: got true: expected a number, or a text in quotes"),
        ] {
            assert_eq!(problem(text), said, "{text}");
        }
    }

    /// What the parser says itself, and names of fields and variants, are said well enough.
    #[test]
    fn other_messages_stay() {
        for (text, part) in [
            ("name = 'a\n", "1: "),
            ("nonsense = 1", "1: unknown field `nonsense`, expected one of `runs`"),
            ("[gateway]\n", "1: missing field `name`"),
        ] {
            assert!(problem(text).starts_with(part), "{}", problem(text));
        }
    }
}
