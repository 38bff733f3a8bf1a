//! Distributions of jitter as people write them, with tables read from their files.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use headway_link::{DelayTable, JitterModel, ParseDelayTableError};
use headway_units::Share;

/// A text says no distribution of jitter, or the table that it names cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JitterError {
    /// The text has another form.
    #[error(
        "{text:?}: expected none or TABLE[:CORRELATION][:ordered], such as normal, pareto:25% or table.dist:ordered"
    )]
    Form {
        /// The text.
        text: String,
    },
    /// There is no table of this name.
    #[error(
        "{name}: no such file, and no {name}.dist in {places}: expected uniform, the name of a table of iproute2 \
         (normal, pareto, paretonormal, experimental) where iproute2 is installed, or the file of a table"
    )]
    Unknown {
        /// The name, as it was given.
        name: String,
        /// Where tables of this name were looked for.
        places: String,
    },
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no table.
    #[error("{}: {source}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ParseDelayTableError,
    },
}

/// The most bytes of the file of a table: 16,384 numbers need much less.
const MOST_BYTES: u64 = 1 << 20;

/// Reads `TABLE[:CORRELATION][:ordered]`. What `TABLE` is comes first, so that a path may have colons.
pub(crate) fn parse(
    text: &str,
    table: impl FnOnce(&str) -> Result<DelayTable, JitterError>,
) -> Result<Option<JitterModel>, JitterError> {
    let text = text.trim();
    if text == "none" {
        return Ok(None);
    }
    let form = || JitterError::Form { text: text.to_owned() };
    let (rest, ordered) = text.strip_suffix(":ordered").map_or((text, false), |rest| (rest, true));
    let (name, correlation) = match rest.rsplit_once(':') {
        Some((name, share)) if share.ends_with('%') => (name, share.parse().map_err(|_| form())?),
        _ => (rest, Share::ZERO),
    };
    if name.is_empty() {
        return Err(form());
    }
    let table = (name != "uniform").then(|| table(name)).transpose()?;
    Ok(Some(JitterModel { table, correlation, ordered }))
}

/// Reads the table of this name: a file, or one of those that iproute2 has.
pub(crate) fn read_table(
    name: &str,
    open: impl Fn(&Path) -> io::Result<Box<dyn Read>>,
) -> Result<DelayTable, JitterError> {
    let path = Path::new(name);
    let unreadable = |path: &Path, source| JitterError::Unreadable { path: path.into(), source };
    match open(path) {
        Ok(file) => return table(name, path, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unreadable(path, error)),
    }
    // A path is a file's; only names are looked for.
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    for place in places().into_iter().filter(|_| is_name) {
        let path = Path::new(&place).join(format!("{name}.dist"));
        match open(&path) {
            Ok(file) => return table(name, &path, file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, error)),
        }
    }
    Err(JitterError::Unknown { name: name.to_owned(), places: places().join(", ") })
}

/// Where distributions of Linux have the tables.
fn places() -> [String; 4] {
    let multiarch = format!("/usr/lib/{}-linux-gnu/tc", std::env::consts::ARCH);
    ["/usr/lib/tc".into(), multiarch, "/usr/lib64/tc".into(), "/usr/share/tc".into()]
}

fn table(name: &str, path: &Path, file: impl Read) -> Result<DelayTable, JitterError> {
    let unreadable = |source| JitterError::Unreadable { path: path.into(), source };
    let mut text = String::new();
    let length = file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if length as u64 > MOST_BYTES {
        return Err(unreadable(io::Error::other("expected at most 1 MiB of numbers")));
    }
    let table: DelayTable =
        text.parse().map_err(|source| JitterError::Invalid { path: path.into(), source })?;
    Ok(table.named(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_read_and_written_again() {
        let table = |name: &str| Ok("1 2 3".parse::<DelayTable>().unwrap().named(name));
        for text in [
            "uniform",
            "normal",
            "pareto:25%",
            "uniform:ordered",
            "a:b.dist:12.5%:ordered",
            "c:/x.dist:ordered",
        ] {
            assert_eq!(parse(text, table).unwrap().unwrap().to_string(), text);
        }
        assert_eq!(parse("none", table).unwrap(), None);
        for text in ["", ":25%", ":ordered", "normal:200%", "normal:x%"] {
            assert!(matches!(parse(text, table), Err(JitterError::Form { .. })), "{text}");
        }
    }

    #[test]
    fn names_are_looked_for_where_iproute2_has_them() {
        let place = places()[1].clone() + "/normal.dist";
        let open = |path: &Path| match path.to_str() {
            Some(path) if path == place => Ok(Box::new(io::Cursor::new("5 6")) as Box<dyn Read>),
            Some("broken") => Ok(Box::new(io::Cursor::new("5 x")) as Box<dyn Read>),
            Some("secret") => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let found = read_table("normal", open).unwrap();
        assert_eq!((found.name(), found.values()), ("normal", &[5, 6][..]));
        for (name, part) in [
            ("gauss", "no gauss.dist in /usr/lib/tc"),
            ("../normal", "no such file"),
            ("broken", "broken: line 1: \"x\""),
            ("secret", "secret: cannot be read"),
        ] {
            let error = read_table(name, open).unwrap_err().to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
        let long = |_: &Path| Ok(Box::new(io::repeat(b' ')) as Box<dyn Read>);
        assert!(read_table("x", long).unwrap_err().to_string().contains("at most 1 MiB"));
    }
}
