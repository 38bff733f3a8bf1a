//! A value that changes at given times.

use headway_units::{Duration, Instant};
use std::{fmt, str::FromStr, sync::Arc};

/// More steps than this are a trace.
const MOST: usize = 65_536;

/// A value that changes at given times, counted from time zero of the link. Cheap to clone.
///
/// Written as `VALUE@TIME,VALUE@TIME`, which keeps its last value, or with `repeat@TIME` at the end, when it begins
/// again. The first step is at 0s; times ascend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule<V>(Arc<Inner<V>>);

#[derive(Debug, PartialEq, Eq)]
struct Inner<V> {
    /// From when on, in nanoseconds, and the value. There is at least one.
    steps: Vec<(u64, V)>,
    period: Option<u64>,
}

impl<V: Copy> Schedule<V> {
    /// The value at a time, and until when it holds; `None` is for ever.
    pub(crate) fn at(&self, now: Instant) -> (V, Option<Instant>) {
        let Inner { steps, period } = &*self.0;
        let now = now.as_nanos();
        let phase = period.map_or(now, |period| now % period);
        let next = steps.partition_point(|(at, _)| *at <= phase);
        let (_, value) = steps[next - 1];
        let end = steps.get(next).map(|(at, _)| *at).or(*period);
        (value, end.map(|end| Instant::from_nanos((now - phase).saturating_add(end))))
    }

    /// The values in their order.
    pub(crate) fn values(&self) -> impl Iterator<Item = V> {
        self.0.steps.iter().map(|(_, value)| *value)
    }

    /// After how long it begins again.
    pub(crate) fn period(&self) -> Option<Duration> {
        self.0.period.map(Duration::from_nanos)
    }

    /// The values from `from` to `until`, each with when it ends to hold there. What repeats is left out: of a
    /// schedule that begins again it is the last period at most.
    pub(crate) fn between(&self, from: Instant, until: Instant) -> impl Iterator<Item = (V, Instant)> {
        let from = self.period().map_or(from, |period| from.max(until - period));
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let (value, end) = self.at(next?);
            next = end.filter(|end| *end < until);
            Some((value, end.map_or(until, |end| end.min(until))))
        })
    }
}

impl<V: FromStr> Schedule<V> {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(input: &str) -> Option<Self> {
        let mut inner = Inner { steps: Vec::new(), period: None };
        for item in input.split(',') {
            let (value, at) = item.trim().split_once('@')?;
            let at = at.parse::<Duration>().ok()?.as_nanos();
            let is_later = inner.steps.last().map_or(at == 0, |(last, _)| at > *last);
            if !is_later || inner.period.is_some() || inner.steps.len() == MOST {
                return None;
            }
            if value == "repeat" && at > 0 {
                inner.period = Some(at);
            } else {
                inner.steps.push((at, value.parse().ok()?));
            }
        }
        Some(Self(Arc::new(inner)))
    }
}

impl<V: fmt::Display> fmt::Display for Schedule<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.0.steps.iter().map(|(at, value)| (value.to_string(), *at));
        let repeat = self.0.period.map(|period| ("repeat".to_owned(), period));
        let items: Vec<String> =
            steps.chain(repeat).map(|(what, at)| format!("{what}@{}", Duration::from_nanos(at))).collect();
        f.pad(&items.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str) -> Option<Schedule<u64>> {
        Schedule::parse(text)
    }

    #[test]
    fn reads_what_it_writes() {
        for text in ["7@0s", "7@0s,8@10s", "7@0s,8@10s,repeat@20s", "7@0s,repeat@1ms"] {
            assert_eq!(schedule(text).expect(text).to_string(), text);
        }
        assert_eq!(schedule(" 7@0s, 8@10s "), schedule("7@0s,8@10s"));
        for text in [
            "",
            "7",
            "7@1s",
            "7@0s,",
            "7@0s,8@0s",
            "7@0s,8@5s,9@4s",
            "7@0s,repeat@0s",
            "7@0s,8@5s,repeat@5s",
            "7@0s,repeat@5s,8@7s",
            "repeat@0s",
            "x@0s",
            "7@soon",
        ] {
            assert_eq!(schedule(text), None, "{text}");
        }
    }

    #[test]
    fn each_value_holds_until_the_next() {
        let at = |schedule: &Schedule<u64>, seconds| {
            let (value, end) = schedule.at(Instant::ZERO + Duration::from_secs(seconds));
            (value, end.map(|end| end.as_nanos() / 1_000_000_000))
        };
        let once = schedule("7@0s,8@10s").unwrap();
        for (now, expected) in [(0, (7, Some(10))), (9, (7, Some(10))), (10, (8, None)), (99, (8, None))] {
            assert_eq!(at(&once, now), expected, "{now}");
        }
        let again = schedule("7@0s,8@10s,repeat@15s").unwrap();
        for (now, expected) in [(14, (8, Some(15))), (15, (7, Some(25))), (25, (8, Some(30)))] {
            assert_eq!(at(&again, now), expected, "{now}");
        }
        assert_eq!(once.values().collect::<Vec<_>>(), [7, 8]);
        assert_eq!((once.period(), again.period()), (None, Some(Duration::from_secs(15))));
    }

    #[test]
    fn values_between_two_times() {
        let between = |schedule: &str, from, until| -> Vec<(u64, u64)> {
            let [from, until] = [from, until].map(|seconds| Instant::ZERO + Duration::from_secs(seconds));
            let schedule = Schedule::<u64>::parse(schedule).unwrap();
            schedule
                .between(from, until)
                .map(|(value, end)| (value, end.as_nanos() / 1_000_000_000))
                .collect()
        };
        assert_eq!(between("7@0s,8@10s", 3, 5), [(7, 5)]);
        assert_eq!(between("7@0s,8@10s", 3, 10), [(7, 10)]);
        assert_eq!(between("7@0s,8@10s", 3, 12), [(7, 10), (8, 12)]);
        assert_eq!(between("7@0s,8@10s", 12, 12), [(8, 12)]);
        assert_eq!(between("7@0s,8@10s,repeat@15s", 0, 1505), [(7, 1495), (8, 1500), (7, 1505)]);
        let short = schedule("7@0s,8@1ms,repeat@2ms").unwrap();
        assert!(short.between(Instant::ZERO, Instant::MAX).count() <= 3);
    }
}
