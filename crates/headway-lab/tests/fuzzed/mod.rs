//! Any text as an experiment file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use headway_lab::{Experiment, LabError, Overrides, RemoteMaker, Traces, describe, parse_links};

/// The text of a file; options of the command line, one a line; and what every file that it names contains. A zero byte
/// ends each.
///
/// The file is refused with a message of one line that says what was expected, or it is an experiment of a bounded size,
/// which another machine reads from its description. It is read as a description of a link, too.
pub(crate) fn check_experiment(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |&byte| byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let (text, options, content) = (String::from_utf8_lossy(part()), part(), part());
    let options = String::from_utf8_lossy(options);
    let overrides = Overrides { settings: options.lines().map(Into::into).collect(), ..Overrides::default() };
    let traces = Traces::new(|_| Ok(Box::new(Cursor::new(content.to_vec()))));
    match Experiment::parse_with("any", "any.toml", &text, &overrides, &traces) {
        Ok(experiment) => check_size(&experiment),
        Err(error) => check_error(&error, &text, bytes),
    }
    if let Err(error) = parse_links("any.toml", &text, 1500, &traces) {
        check_error(&error, &text, bytes);
    }
}

fn check_error(error: &LabError, text: &str, given: &[u8]) {
    let message = error.to_string();
    assert!(!message.contains(char::is_control), "{message:?}");
    // A value is at most 64 KiB, and is shown with what axes put into it.
    assert!(message.len() < 10 * given.len() + (1 << 20), "{} bytes", message.len());
    // What is wrong with a file that cannot be read the system says, in its own words.
    let says_what_was_expected = message.contains("expected") || message.contains("cannot be read");
    match error {
        // The parser of TOML has its own words.
        LabError::Malformed { line, .. } => {
            assert!((1..=text.lines().count() + 1).contains(line), "{message}");
        }
        LabError::Invalid { line, .. } => {
            assert!((1..=text.lines().count().max(1)).contains(line), "{message}");
            assert!(says_what_was_expected, "{message}");
        }
        LabError::BadOverride { .. } => assert!(says_what_was_expected, "{message}"),
        other => panic!("{other}"),
    }
}

fn check_size(experiment: &Experiment) {
    let Experiment { axes, cells, runs, .. } = experiment;
    assert!((1..=20_000).contains(&cells.len()), "{} cells", cells.len());
    assert!(*runs >= 1 && cells.len() as u64 * u64::from(*runs) <= 2_000_000, "{runs} runs");
    let mut text = 0;
    // Links may be as many as cells.
    let known: BTreeMap<&String, BTreeSet<&String>> =
        axes.iter().map(|(axis, values)| (axis, values.iter().collect())).collect();
    for cell in cells {
        for (axis, values) in &known {
            assert!(values.contains(&cell.values[*axis]), "{axis}");
        }
        text += cell
            .values
            .iter()
            .chain(&cell.drawn)
            .chain(&cell.settings)
            .map(|(_, value)| value.len())
            .sum::<usize>();
        assert!(cell.identity.len() >= cell.channel_key.len());
    }
    assert!(text <= 64 << 20, "{text} bytes");
    let Ok(description) = describe(experiment) else { return };
    if let Err(error) = RemoteMaker::read(&description) {
        // Only this program's own TCPs are simulated elsewhere.
        assert!(error.to_string().contains("expected a sender in virtual time"), "{error}");
    }
}
