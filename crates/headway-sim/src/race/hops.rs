//! Links in a row: the hops of a path, and which of them a flow passes.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use headway_link::LinkConfig;

use super::unknown_name::UnknownName;

/// One of several links in a row, with a router at each of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Away from the senders.
    pub forward: LinkConfig,
    /// Towards them.
    pub reverse: LinkConfig,
}

/// The hops that a flow passes: all of them, or those from one to another, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRange(Option<(u16, u16)>);

impl HopRange {
    /// Every hop.
    pub const ALL: Self = Self(None);

    /// Whether it is every hop, however many there are.
    pub fn is_all(self) -> bool {
        self == Self::ALL
    }

    /// Whether a path of `hops` hops has them.
    pub(super) fn is_within(self, hops: usize) -> bool {
        self.0.is_none_or(|(_, last)| usize::from(last) <= hops)
    }

    /// Their places on a path of `hops` hops, counted from 0.
    pub(super) fn places(self, hops: usize) -> Range<usize> {
        self.0.map_or(0..hops, |(first, last)| usize::from(first) - 1..usize::from(last))
    }
}

/// `all`, `2` or `1-3`.
impl fmt::Display for HopRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.pad("all"),
            Some((first, last)) if first == last => f.pad(&first.to_string()),
            Some((first, last)) => f.pad(&format!("{first}-{last}")),
        }
    }
}

impl FromStr for HopRange {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, Self::Err> {
        if input == "all" {
            return Ok(Self::ALL);
        }
        let (first, last) = input.split_once('-').unwrap_or((input, input));
        let number = |text: &str| {
            // `parse` takes a sign too.
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|&number: &u16| is_plain && number > 0)
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self(Some((first, last)))),
            _ => Err(UnknownName::new(input, "hops, counted from 1, such as 2, 1-3 or all")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_counted_from_one() {
        for (text, places) in [("all", 0..4), ("1", 0..1), ("2", 1..2), ("1-3", 0..3), ("2-4", 1..4)] {
            let range: HopRange = text.parse().expect(text);
            assert_eq!((range.to_string().as_str(), range.places(4)), (text, places));
            assert!(range.is_within(4));
        }
        assert!(!"2-4".parse::<HopRange>().expect("hops").is_within(3));
        for bad in ["", "0", "0-2", "3-2", "1-", "-1", "+1", "1-2-3", "65536", "two"] {
            let error = bad.parse::<HopRange>().expect_err(bad).to_string();
            assert!(error.starts_with(&format!("{bad:?}: expected hops, counted from 1,")), "{error}");
        }
    }
}
