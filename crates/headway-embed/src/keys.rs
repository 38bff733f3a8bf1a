//! Keys and values as text.

use std::str::FromStr;

use crate::Error;

/// Keys with their values, each key once: `rate=10mbit delay=20ms`.
///
/// Pairs are separated by white space; a value that contains white space is in double quotes:
/// `damage="trace:my trace.txt"`. The keys and their meanings are those of scenarios
/// ([`headway_scenario::keys`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(Vec<(String, String)>);

impl Keys {
    /// Makes keys of pairs.
    ///
    /// # Errors
    ///
    /// A key is given twice.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, Error> {
        let mut keys = Self::default();
        for (name, value) in pairs {
            keys.add(name.into(), value.into())?;
        }
        Ok(keys)
    }

    fn add(&mut self, name: String, value: String) -> Result<(), Error> {
        if self.value(&name).is_some() {
            return Err(Error::Key { key: name, problem: "expected once, is given twice".into() });
        }
        self.0.push((name, value));
        Ok(())
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn without(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(known, _)| known != name).cloned().collect())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl FromStr for Keys {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut keys = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let Some(value) = behind.strip_prefix('=').filter(|_| !name.is_empty()) else {
                let problem = format!("{name:?}: expected pairs such as rate=10mbit, separated by spaces");
                return Err(Error::Syntax { problem });
            };
            let (value, behind) = match value.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(|| Error::Syntax {
                    problem: format!("{name}={value}: expected a quotation mark at the end of the value"),
                })?,
                None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            };
            if !behind.is_empty() && !behind.starts_with(char::is_whitespace) {
                let problem = format!("{name}=\"{value}\": expected a space before {behind:?}");
                return Err(Error::Syntax { problem });
            }
            keys.add(name.to_owned(), value.to_owned())?;
            rest = behind.trim_start();
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read() {
        let keys: Keys =
            " rate=10mbit\n\tmute=10s@30s,500ms@45s  damage=\"trace:my trace\" ".parse().expect("keys");
        let expected = [("rate", "10mbit"), ("mute", "10s@30s,500ms@45s"), ("damage", "trace:my trace")];
        assert_eq!(Ok(keys), Keys::from_pairs(expected));
        assert_eq!("".parse(), Ok(Keys::default()));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, expected) in [
            ("rate", "keys: \"rate\": expected pairs such as rate=10mbit"),
            ("=1", "keys: \"\": expected pairs"),
            ("rate =1", "keys: \"rate\": expected pairs"),
            ("a=\"1", "keys: a=\"1: expected a quotation mark"),
            ("a=\"1\"b=2", "keys: a=\"1\": expected a space before \"b=2\""),
            ("a=1 a=2", "a: expected once, is given twice"),
        ] {
            let error = text.parse::<Keys>().expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
