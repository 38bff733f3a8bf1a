//! What results hold: values, their kinds and their units.

use serde::{Deserialize, Serialize};

/// What a column of results holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Text.
    Text,
    /// A whole number, not negative.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Flag,
}

/// A value in a column of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Nothing: it does not apply, or was not measured.
    Nothing,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl Value {
    /// As a number, with 1 for true; `None` where there is nothing, or text.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Flag(flag) => Some(f64::from(u8::from(*flag))),
            Self::Integer(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            Self::Nothing | Self::Text(_) => None,
        }
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, T::into)
    }
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    One,
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// A part of a whole, from 0 to 1.
    Share,
}

impl Unit {
    /// The units that a number can be shown in, its own first.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::One => &[""],
            Self::Seconds => &["s"],
            Self::BitsPerSecond => &["bit/s", "kbit/s", "Mbit/s", "B/s", "KB/s"],
            Self::Bytes => &["B"],
            Self::Share => &["", "%"],
        }
    }

    /// `value` in the unit of this name; in its own if that is not one of [`Unit::names`].
    pub fn convert(self, value: f64, name: &str) -> f64 {
        match (self, name) {
            (Self::BitsPerSecond, "kbit/s") => value / 1e3,
            (Self::BitsPerSecond, "Mbit/s") => value / 1e6,
            (Self::BitsPerSecond, "KB/s") => value / 8e3,
            (Self::BitsPerSecond, "B/s") => value / 8.0,
            (Self::Share, "%") => value * 100.0,
            _ => value,
        }
    }
}
