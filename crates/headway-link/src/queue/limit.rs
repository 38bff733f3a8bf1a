//! How much a link queues before it drops.

use crate::ParseLinkError;
use headway_units::Size;
use std::{fmt, str::FromStr};

/// The limit of a queue.
///
/// The packet that is being transmitted has left the queue and does not count: a link with
/// `Packets(0)` still carries packets that come while it is idle. Nor do frames that a link ARQ keeps
/// for retransmission.
///
/// Written as a number of packets (`100p`), as a [`Size`] (`64KiB`) or as `unlimited`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many packets, of any length.
    Packets(u32),
    /// This many bytes of packets, layer-2 overhead not counted. A packet that does not fit as a
    /// whole is dropped.
    Bytes(u64),
    /// No limit.
    #[default]
    Unlimited,
}

impl QueueLimit {
    /// Whether `packets` packets of `bytes` bytes in all are within it.
    #[inline]
    pub(crate) fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets <= limit as usize,
            Self::Bytes(limit) => bytes <= limit,
            Self::Unlimited => true,
        }
    }

    /// Whether a packet of `len` bytes finds room behind `packets` packets of `bytes` bytes in all.
    #[inline]
    pub(crate) fn admits(self, packets: usize, bytes: u64, len: usize) -> bool {
        match self {
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes.saturating_add(len as u64) <= limit,
            Self::Unlimited => true,
        }
    }
}

impl FromStr for QueueLimit {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let text = input.trim();
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let limit = match text.strip_suffix('p') {
            // `u32` would read a leading plus sign too.
            Some(packets) if !packets.starts_with('+') => packets.parse().ok().map(Self::Packets),
            Some(_) => None,
            // A number alone is as likely meant as packets.
            None if text.ends_with(|last: char| last.is_ascii_digit()) => None,
            None => text.parse().ok().map(|size: Size| Self::Bytes(size.bytes())),
        };
        limit.ok_or_else(|| ParseLinkError::new(input, "a queue limit such as 100p, 64KiB or unlimited"))
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(limit) => f.pad(&format!("{limit}p")),
            Self::Bytes(limit) => fmt::Display::fmt(&Size::from_bytes(*limit), f),
            Self::Unlimited => f.pad("unlimited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for (text, limit) in [
            ("100p", QueueLimit::Packets(100)),
            ("0p", QueueLimit::Packets(0)),
            ("64KiB", QueueLimit::Bytes(65_536)),
            ("1500B", QueueLimit::Bytes(1_500)),
            ("unlimited", QueueLimit::Unlimited),
        ] {
            assert_eq!(text.parse(), Ok(limit));
            assert_eq!(limit.to_string(), text);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "p", "-1p", "+1p", "1.5p", "4294967296p", "100 packets", "none", "64k", "10", "1e3"]
        {
            assert!(text.parse::<QueueLimit>().is_err(), "{text}");
        }
        assert_eq!(
            "64k".parse::<QueueLimit>().unwrap_err().to_string(),
            "\"64k\": expected a queue limit such as 100p, 64KiB or unlimited"
        );
    }
}
