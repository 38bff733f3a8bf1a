//! What peers say is shown in terminals and logs, and must not act there: control characters move the cursor, change the
//! title or begin a line that looks like one of ours, and bidirectional overrides reorder what is read.
//!
//! An escape is that of JSON, so that text which is JSON already keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text as one line: everything that acts on a terminal is escaped, line feeds too.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, acts)
}

/// A text of several lines: line feeds and tabs stay as they are.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

fn escape(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            // Writing to a `String` does not fail. All of them have four digits.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Control characters (C0, DEL, C1), the line and paragraph separators, and what reorders text (UAX #9, 2).
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_escaped() {
        for (text, expected) in [
            ("a\u{1b}[31mb", "a\\u001b[31mb"),
            ("a\u{9b}31m", "a\\u009b31m"),
            ("a\u{85}b\u{7f}\0", "a\\u0085b\\u007f\\u0000"),
            ("a\r\nheadway: b", "a\\u000d\\u000aheadway: b"),
            ("a\u{202e}b\u{2066}c\u{200f}\u{61c}", "a\\u202eb\\u2066c\\u200f\\u061c"),
            ("\u{2028}\u{2029}", "\\u2028\\u2029"),
            ("ärger 日本 👍 \\u009b \"", "ärger 日本 👍 \\u009b \""),
        ] {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
        assert_eq!(lines("a\tb\nc\u{1b}\r\n"), "a\tb\nc\\u001b\\u000d\n");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({"path": "/\u{9b}31m\u{85}\u{202e}\u{7f}\n\\"});
        let line = format!("{value}\n");
        let shown = lines(&line);
        assert!(!shown.trim_end().contains(acts), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }
}
