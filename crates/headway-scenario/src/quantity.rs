//! Values of keys: as text in the units that people write, and as numbers in SI units.

use std::fmt;

use headway_link::Loss;
use headway_sim::{Value, ValueKind};
use headway_units::{Duration, Rate, Share, Size};

/// What the value of a key is, which decides its unit in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// On or off.
    Flag,
    /// A time; seconds in results.
    Time,
    /// A rate; bits per second in results.
    Rate,
    /// A size; bytes in results.
    Bytes,
    /// A part of a whole, from 0 to 1.
    Share,
    /// A whole number.
    Count,
    /// Anything else.
    Text,
}

impl Dimension {
    /// What a column of it holds.
    pub const fn kind(self) -> ValueKind {
        match self {
            Self::Flag => ValueKind::Flag,
            Self::Time | Self::Share => ValueKind::Number,
            Self::Rate | Self::Bytes | Self::Count => ValueKind::Integer,
            Self::Text => ValueKind::Text,
        }
    }

    /// What the name of a column ends in: its unit.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Time => "_seconds",
            Self::Rate => "_bps",
            Self::Bytes => "_bytes",
            Self::Flag | Self::Share | Self::Count | Self::Text => "",
        }
    }

    /// The placeholder of the value in the usage of an option.
    pub const fn placeholder(self) -> &'static str {
        match self {
            Self::Flag => "on|off",
            Self::Time => "TIME",
            Self::Rate => "RATE",
            Self::Bytes => "BYTES",
            Self::Share => "SHARE",
            Self::Count => "N",
            Self::Text => "TEXT",
        }
    }
}

/// The value of a key in a scenario. Shown as text, it can be read again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quantity {
    /// None, for which keys have different words; empty where the key is then left out.
    Unset(&'static str),
    Flag(bool),
    Time(Duration),
    Rate(Rate),
    Size(Size),
    Bytes(u64),
    Share(Share),
    Loss(Loss),
    Count(u64),
    Text(String),
    /// Recorded traffic by its name, and its mean rate.
    Replay(String, Rate),
}

impl Quantity {
    pub(crate) fn text(value: impl ToString) -> Self {
        Self::Text(value.to_string())
    }

    /// In SI units.
    pub(crate) fn value(self) -> Value {
        match self {
            Self::Unset(_) => Value::Nothing,
            Self::Flag(flag) => Value::Flag(flag),
            Self::Time(time) => Value::Number(time.as_secs_f64()),
            Self::Rate(rate) | Self::Replay(_, rate) => Value::Integer(rate.bits_per_second()),
            Self::Size(size) => Value::Integer(size.bytes()),
            Self::Share(share) | Self::Loss(Loss { share, .. }) => Value::Number(share.value()),
            Self::Bytes(count) | Self::Count(count) => Value::Integer(count),
            Self::Text(text) => Value::Text(text),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(word) => f.write_str(word),
            Self::Flag(flag) => f.write_str(if *flag { "on" } else { "off" }),
            Self::Time(time) => time.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Size(size) => size.fmt(f),
            Self::Share(share) => share.fmt(f),
            Self::Loss(loss) => loss.fmt(f),
            Self::Bytes(count) | Self::Count(count) => count.fmt(f),
            Self::Text(text) | Self::Replay(text, _) => f.write_str(text),
        }
    }
}
