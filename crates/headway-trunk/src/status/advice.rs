//! What whoever runs a gateway should know or do, as far as its path shows it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::PathStatus;

/// As long as so few segments were sent, their losses say little.
const FEW: u64 = 1000;
/// The default controller loses nothing of its goodput by fewer, in percent (docs/ledger.md, *tolerated*).
const TOLERATED: u64 = 2;

/// What whoever runs a gateway should know or do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Advice {
    /// `own-path` is set, and others seem to use the link.
    Shared,
    /// This percentage of the segments sent was lost without any sign of damage, and no queue of others was seen.
    Unexplained(u64),
}

impl Advice {
    /// What a path shows. `own_path`: whether that is set.
    pub(crate) fn of(path: &PathStatus, own_path: bool) -> Option<Self> {
        if path.segments_sent < FEW {
            return None;
        }
        if own_path {
            return path.sees_others.then_some(Self::Shared);
        }
        let lost = path.losses.unexplained * 100 / path.segments_sent;
        let is_odd = lost >= TOLERATED && path.losses.damage() == 0 && !path.sees_others;
        is_odd.then_some(Self::Unexplained(lost))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => f.write_str(
                "own-path is set, but packets wait in a queue that this gateway does not keep: others use the link and lose \
                 goodput to it, or its delay varies",
            ),
            Self::Unexplained(lost) => write!(
                f,
                "{lost} % of what was sent was lost, and neither damage nor a queue of others was seen: if no one else uses the link, \
                 set own-path = true in [gateway]"
            ),
        }
    }
}

/// Logs advice when it is another one than before.
#[derive(Debug, Default)]
pub(crate) struct Adviser {
    given: Mutex<Option<Advice>>,
}

impl Adviser {
    /// This is the advice for a peer now.
    pub(crate) fn advise(&self, peer: &str, advice: Option<Advice>) {
        let Some(advice) = advice else { return };
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        // A percentage alone is no news.
        let is_known = given
            .replace(advice)
            .is_some_and(|before| std::mem::discriminant(&before) == std::mem::discriminant(&advice));
        if !is_known {
            tracing::warn!(peer, "{advice}");
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::log::Log;

    use super::*;
    use crate::status::LossStatus;

    fn path(sent: u64, unexplained: u64, inferred: u64, sees_others: bool) -> PathStatus {
        PathStatus {
            segments_sent: sent,
            sees_others,
            losses: LossStatus { unexplained, inferred, ..LossStatus::default() },
            ..PathStatus::default()
        }
    }

    #[test]
    fn what_a_path_shows_is_advised() {
        for (path, own_path, expected) in [
            (path(2000, 240, 0, false), false, Some(Advice::Unexplained(12))),
            (path(2000, 20, 0, false), false, None),
            (path(2000, 240, 1, false), false, None),
            (path(2000, 240, 0, true), false, None),
            (path(900, 240, 0, false), false, None),
            (path(2000, 0, 240, false), true, None),
            (path(2000, 0, 240, true), true, Some(Advice::Shared)),
            (path(900, 0, 240, true), true, None),
        ] {
            assert_eq!(Advice::of(&path, own_path), expected, "{path:?}");
        }
    }

    #[test]
    fn advice_is_logged_once() {
        let log = Log::up_to(tracing::Level::WARN);
        let _guard = tracing::subscriber::set_default(log.clone());
        let adviser = Adviser::default();
        for advice in [None, Some(Advice::Unexplained(12)), None, Some(Advice::Unexplained(13))] {
            adviser.advise("ship", advice);
        }
        let lines = log.lines("own-path = true");
        assert!(lines.len() == 1 && lines[0].contains("12 % of what was sent was lost"), "{lines:?}");
    }
}
