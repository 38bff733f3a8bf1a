//! What a link does with a damaged frame.

use crate::ParseLinkError;
use std::{fmt, str::FromStr};

/// What the link's own frame check does with a damaged frame.
///
/// Written as `keep`, `drop` or `arq:3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameCheck {
    /// Damaged frames are handed up: the check is off, as in the papers.
    #[default]
    Keep,
    /// Damaged frames are dropped, as an ordinary link does.
    Drop,
    /// The link retransmits a damaged frame itself, at most this many times.
    ///
    /// - A frame that arrives damaged is asked for again: one link round trip (twice the propagation
    ///   delay) after its transmission ended it stands at the head of the transmit queue, and takes
    ///   its transmission time once more. Meanwhile other frames are sent. Each retransmission may be damaged
    ///   like any transmission. Requests themselves are never lost.
    /// - Frames are handed up in their original order: those behind a damaged frame wait until it has
    ///   arrived or its last retransmission has arrived damaged, when it is dropped and the sequence goes on.
    /// - Silent loss happens before the link numbers its frames, and so is not repaired.
    Arq(u32),
}

impl FromStr for FrameCheck {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let wrong =
            || ParseLinkError::new(input, "a frame check: keep, drop or arq:N with N retransmissions");
        match input.trim() {
            "keep" => Ok(Self::Keep),
            "drop" => Ok(Self::Drop),
            text => {
                let retransmissions =
                    text.strip_prefix("arq:").filter(|n| !n.starts_with('+')).ok_or_else(wrong)?;
                retransmissions.parse().map(Self::Arq).map_err(|_| wrong())
            }
        }
    }
}

impl fmt::Display for FrameCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.pad("keep"),
            Self::Drop => f.pad("drop"),
            Self::Arq(limit) => f.pad(&format!("arq:{limit}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for (text, check) in [
            ("keep", FrameCheck::Keep),
            ("drop", FrameCheck::Drop),
            ("arq:0", FrameCheck::Arq(0)),
            ("arq:3", FrameCheck::Arq(3)),
        ] {
            assert_eq!(text.parse(), Ok(check));
            assert_eq!(check.to_string(), text);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "arq", "arq:", "arq:-1", "arq:+1", "arq:1.5", "Keep", "arq:4294967296"] {
            assert!(text.parse::<FrameCheck>().is_err(), "{text}");
        }
        assert_eq!(
            "arq".parse::<FrameCheck>().unwrap_err().to_string(),
            "\"arq\": expected a frame check: keep, drop or arq:N with N retransmissions"
        );
    }
}
