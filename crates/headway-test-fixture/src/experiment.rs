//! Experiment files.

/// A sweep of four cells that takes a moment, without claims.
pub const SMALL: &str = r#"title = "A small sweep"
runs = 3

[sweep]
variant = ["sack", "hack+sack"]
length = [2, 4]

[scenario]
delay = "20ms"
size = "64KB"
damage = "burst:5%:{length}"
header-hit = "0%"

[figure]
kind = "lines"
x = "length"
series = "variant"
measure = "goodput"
unit = "KB/s"
"#;

/// `text` with `new` in the place of `old`, which must be there once.
#[track_caller]
pub fn with(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old:?} is there once");
    text.replacen(old, new, 1)
}
