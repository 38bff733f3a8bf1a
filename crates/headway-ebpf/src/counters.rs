//! What the programs count.

/// The programs include this file too.
const DEFINITIONS: &str = include_str!("../programs/counters.def");

/// A counter of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    /// Its value: 0 when the programs were attached.
    pub value: u64,
}

/// All counters, at zero, in the order of the file.
pub fn all() -> Vec<Counter> {
    DEFINITIONS.lines().filter_map(parse).collect()
}

/// A line `COUNTER(name, "meaning")`.
fn parse(line: &'static str) -> Option<Counter> {
    let (name, rest) = line.strip_prefix("COUNTER(")?.split_once(", \"")?;
    Some(Counter { name, meaning: rest.strip_suffix("\")")?, value: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_is_read() {
        let counters = all();
        assert_eq!(counters.len(), DEFINITIONS.lines().filter(|line| line.starts_with("COUNTER")).count());
        let names: std::collections::BTreeSet<&str> = counters.iter().map(|counter| counter.name).collect();
        assert_eq!(names.len(), counters.len(), "a name occurs twice");
        assert!(names.contains("special_acks_sent"));
        assert!(counters.iter().all(|counter| !counter.meaning.is_empty()));
    }
}
