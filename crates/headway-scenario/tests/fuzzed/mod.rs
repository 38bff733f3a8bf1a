//! Any text as the keys of a scenario, and as the files that they name.

use std::io::{Cursor, ErrorKind};

use headway_scenario::{Defaults, Settings, Traces, keys, read};

/// Lines of `KEY VALUE`, an empty line, and what every file contains: damage traces, delivery opportunities, tables of
/// delays, captures.
///
/// They are refused with a message of one line, or are settings; what is shown of these is the same settings again.
pub(crate) fn check_keys(bytes: &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
    let (lines, content) = bytes.split_at(end);
    let content = content.get(2..).unwrap_or_default();
    let text = String::from_utf8_lossy(lines);
    let given: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let settings =
        settings(content, |name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value));
    let settings = match settings {
        Ok(settings) => settings,
        Err(message) => {
            assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
            return;
        }
    };
    let _ = (settings.is_possible(), settings.sent_size(), settings.sender().is_ok());
    // A duration leaves the size open, and it shows one that is long enough.
    let is_known = |name: &str| name != "size" || given.iter().any(|(known, _)| *known == name);
    let shown: Vec<(&str, String)> = keys()
        .iter()
        .map(|key| (key.name, key.show(&settings)))
        .filter(|(name, value)| !value.is_empty() && is_known(name))
        .collect();
    let again = self::settings(content, |name| {
        shown.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    });
    let again = again.expect("what is shown can be given");
    assert_eq!(again.scenario, settings.scenario);
    for key in keys() {
        assert_eq!(key.show(&again), key.show(&settings), "{}", key.name);
    }
}

fn settings<'a>(content: &[u8], given: impl Fn(&str) -> Option<&'a str>) -> Result<Settings, String> {
    // No file has an empty name.
    let traces = Traces::new(|path| match path.as_os_str().is_empty() {
        true => Err(ErrorKind::NotFound.into()),
        false => Ok(Box::new(Cursor::new(content.to_vec()))),
    });
    read(given, Defaults::Files, &traces).map_err(|error| error.to_string())
}
