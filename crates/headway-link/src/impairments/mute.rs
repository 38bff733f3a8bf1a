//! Times at which a link is mute.

use crate::ParseLinkError;
use headway_units::{Duration, Instant};
use std::{fmt, str::FromStr};

/// Times at which nothing gets through, as when rain or a building takes the signal.
///
/// What is on the air is lost: each packet of which any part is between the first bit's transmission and the
/// last bit's arrival (without jitter and reordering) during such a time. The sender of the link does not know,
/// so the queue goes on draining into nothing. A [link ARQ](crate::FrameCheck::Arq) finds the frame damaged.
///
/// Written as `LENGTH@START`, several separated by commas: `10s@30s,500ms@45s`. Times count from time zero of the
/// link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutes(Vec<(Instant, Instant)>);

impl Mutes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any time from `start` to `end` is one of them.
    #[inline]
    pub(crate) fn any_in(&self, start: Instant, end: Instant) -> bool {
        !self.0.is_empty() && self.find_in(start, end)
    }

    #[inline(never)]
    fn find_in(&self, start: Instant, end: Instant) -> bool {
        let next = self.0.partition_point(|(_, until)| *until <= start);
        self.0.get(next).is_some_and(|(from, _)| *from <= end)
    }
}

impl FromStr for Mutes {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        parse(input).map(Self).ok_or_else(|| {
            ParseLinkError::new(
                input,
                "LENGTH@START, several in the order of time and apart, such as 10s@30s or 10s@30s,500ms@45s",
            )
        })
    }
}

fn parse(input: &str) -> Option<Vec<(Instant, Instant)>> {
    let mut times: Vec<(Instant, Instant)> = Vec::new();
    for item in input.split(',') {
        let (length, start) = item.trim().split_once('@')?;
        let length: Duration = length.parse().ok()?;
        let start = Instant::ZERO + start.parse::<Duration>().ok()?;
        if length.is_zero() || times.last().is_some_and(|(_, until)| start <= *until) {
            return None;
        }
        times.push((start, start + length));
    }
    Some(times)
}

impl fmt::Display for Mutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = |(start, end): &(Instant, Instant)| {
            format!("{}@{}", end.saturating_since(*start), start.saturating_since(Instant::ZERO))
        };
        f.pad(&self.0.iter().map(item).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["10s@30s", "10s@30s,500ms@45s", "1ms@0s"] {
            assert_eq!(text.parse::<Mutes>().unwrap().to_string(), text);
        }
        for text in ["", "10s", "0s@30s", "10s@30s,5s@35s", "10s@30s,5s@40s", "5s@60s,10s@30s", "10s@30s,"] {
            assert!(text.parse::<Mutes>().unwrap_err().to_string().contains("10s@30s"), "{text}");
        }
    }

    #[test]
    fn what_overlaps_is_lost() {
        let mutes: Mutes = "10s@30s,1s@60s".parse().unwrap();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        for (start, end, is_lost) in [
            (0, 29, false),
            (0, 30, true),
            (35, 36, true),
            (39, 41, true),
            (40, 59, false),
            (40, 60, true),
            (61, 99, false),
        ] {
            assert_eq!(mutes.any_in(at(start), at(end)), is_lost, "{start} to {end}");
        }
    }

    #[test]
    fn none_is_empty() {
        assert!(Mutes::default().is_empty() && !Mutes::default().any_in(Instant::ZERO, Instant::MAX));
        assert!(!"10s@30s".parse::<Mutes>().unwrap().is_empty());
    }
}
