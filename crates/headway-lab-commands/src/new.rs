//! An experiment to start from.

const TEMPLATE: &str = include_str!("new.toml");

/// Letters, digits, `-` and `_`: a file, a folder and the text of a title can have it.
pub(super) fn parse_name(input: &str) -> Result<String, String> {
    let name = input.strip_suffix(".toml").unwrap_or(input);
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_fine) {
        return Err("expected a name of letters, digits, - and _, such as my-sweep".into());
    }
    Ok(name.into())
}

/// The text of a file.
pub(super) fn experiment(name: &str) -> String {
    TEMPLATE.replace("@NAME@", name)
}
