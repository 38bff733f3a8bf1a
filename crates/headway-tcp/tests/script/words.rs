//! Reading words one by one.

use std::str::FromStr;

/// The words of a line that have not been read.
pub(crate) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text.trim() }
    }

    /// The next word, without taking it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.rest.split_whitespace().next()
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = self.rest[word.len()..].trim_start();
        Some(word)
    }

    /// The next word, which must be there.
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a str, String> {
        self.next().ok_or_else(|| format!("expected {what}, found the end of the line"))
    }

    /// The next word as a value.
    pub(crate) fn value<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.word(what)?;
        word.parse().map_err(|_| format!("expected {what}, found {word:?}"))
    }

    /// Takes the next word if it is `word`.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let taken = self.peek() == Some(word);
        if taken {
            self.next();
        }
        taken
    }

    /// Takes the text up to and with `end`, if what follows starts with `start`.
    pub(crate) fn bracketed(&mut self, start: char, end: char) -> Result<Option<&'a str>, String> {
        let Some(inner) = self.rest.strip_prefix(start) else { return Ok(None) };
        let (inside, rest) = inner.split_once(end).ok_or_else(|| format!("{start:?} without {end:?}"))?;
        self.rest = rest.trim_start();
        Ok(Some(inside))
    }

    /// All that is left.
    pub(crate) fn remainder(&mut self) -> &'a str {
        std::mem::take(&mut self.rest)
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("unexpected {:?}", self.rest)) }
    }
}
