//! What pages can still be told: samples of bounded number, in the order in which they came.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use super::description::Time;

/// Samples of a run; where there are more, every second one goes.
pub(super) const SAMPLES_OF_RUN: usize = 400;
/// Samples of what goes on in real time; where there are more, every second one of the older half goes.
const SAMPLES_OF_REAL_TIME: usize = 1600;
/// Sources; where there are more, the oldest that is over goes, of the group that has most.
const SOURCES: usize = 120;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    samples: usize,
    sources: usize,
    /// Only the older half of samples is thinned: what is new stays exact.
    thins_older_half: bool,
}

impl Limits {
    pub(super) fn of(time: Time) -> Self {
        match time {
            Time::Virtual => Self { samples: SAMPLES_OF_RUN, sources: SOURCES, thins_older_half: false },
            Time::Real => Self { samples: SAMPLES_OF_REAL_TIME, sources: SOURCES, thins_older_half: true },
        }
    }

    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    pub(super) fn sources(&self) -> usize {
        self.sources
    }
}

/// What samples are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId(u64);

struct Source {
    group: String,
    /// The numbers of the items that say that it has begun and that it is over.
    about: Vec<u64>,
    /// The numbers of its samples, in order.
    samples: Vec<u64>,
    is_over: bool,
}

/// See the module's documentation.
pub(super) struct History {
    /// Another in each process.
    session: u64,
    limits: Limits,
    /// The number of the last item: items count from 1.
    last: u64,
    /// Each as a page is told it: JSON.
    items: BTreeMap<u64, Box<str>>,
    sources: BTreeMap<SourceId, Source>,
    next_source: u64,
    /// The number of the item that says how far the command is.
    progress: Option<u64>,
    is_finished: bool,
}

impl History {
    pub(super) fn new(session: u64, limits: Limits) -> Self {
        Self {
            session,
            limits,
            last: 0,
            items: BTreeMap::new(),
            sources: BTreeMap::new(),
            next_source: 0,
            progress: None,
            is_finished: false,
        }
    }

    pub(super) fn session(&self) -> u64 {
        self.session
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(super) fn begin(&mut self, group: &str, label: &str) -> SourceId {
        let id = SourceId(self.next_source);
        self.next_source += 1;
        let begun = self.push(json!(["begin", id.0, { "group": group, "label": label }]).to_string());
        let source = Source { group: group.into(), about: vec![begun], samples: Vec::new(), is_over: false };
        self.sources.insert(id, source);
        if self.sources.len() > self.limits.sources {
            self.forget_one();
        }
        id
    }

    pub(super) fn sample(&mut self, id: SourceId, values: &[f64]) {
        if !self.sources.contains_key(&id) {
            return;
        }
        let mut text = format!("[\"sample\",{},[", id.0);
        for (place, value) in values.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            // Writing to a `String` does not fail.
            let _ =
                if value.is_finite() { write!(text, "{comma}{value}") } else { write!(text, "{comma}null") };
        }
        text.push_str("]]");
        let number = self.push(text);
        let Some(source) = self.sources.get_mut(&id) else { return };
        source.samples.push(number);
        if source.samples.len() >= self.limits.samples {
            let end = source.samples.len() / if self.limits.thins_older_half { 2 } else { 1 };
            let mut place = 0;
            source.samples.retain(|number| {
                place += 1;
                // The first of all stays.
                let stays = place > end || place % 2 == 1;
                if !stays {
                    self.items.remove(number);
                }
                stays
            });
        }
    }

    pub(super) fn end(&mut self, id: SourceId, note: &str) {
        if !self.sources.contains_key(&id) {
            return;
        }
        let number = self.push(json!(["end", id.0, note]).to_string());
        if let Some(source) = self.sources.get_mut(&id) {
            source.is_over = true;
            source.about.push(number);
        }
    }

    pub(super) fn progress(&mut self, text: &str) {
        let number = self.push(json!(["progress", text]).to_string());
        if let Some(earlier) = self.progress.replace(number) {
            self.items.remove(&earlier);
        }
    }

    /// Only the first call counts.
    pub(super) fn finish(&mut self, text: &str) {
        if !self.is_finished {
            self.push(json!(["finish", text]).to_string());
            self.is_finished = true;
        }
    }

    /// The items behind number `after`, up to about `bytes` of them, as a list in JSON, and the number of the last.
    pub(super) fn since(&self, after: u64, bytes: usize) -> Option<(u64, String)> {
        let mut text = String::from("[");
        let mut last = None;
        for (number, item) in self.items.range(after.saturating_add(1)..) {
            if last.is_some() {
                if text.len() + item.len() > bytes {
                    break;
                }
                text.push(',');
            }
            text.push_str(item);
            last = Some(*number);
        }
        text.push(']');
        last.map(|last| (last, text))
    }

    fn push(&mut self, text: String) -> u64 {
        self.last += 1;
        self.items.insert(self.last, text.into());
        self.last
    }

    /// Forgets the oldest source that is over, of the group that has most.
    fn forget_one(&mut self) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for source in self.sources.values().filter(|source| source.is_over) {
            *counts.entry(&source.group).or_default() += 1;
        }
        let most = counts.values().max().copied().unwrap_or_default();
        let is_of_largest =
            |source: &Source| source.is_over && counts.get(&*source.group).copied() == Some(most);
        let oldest = self.sources.iter().find(|(_, source)| is_of_largest(source)).map(|(id, _)| *id);
        if let Some(source) = oldest.and_then(|id| self.sources.remove(&id)) {
            for number in source.about.iter().chain(&source.samples) {
                self.items.remove(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// All items, taken in pieces of `bytes`, as a page that asks for them takes them.
    fn told(history: &History, bytes: usize) -> Vec<Value> {
        let (mut after, mut items) = (0, Vec::new());
        while let Some((last, text)) = history.since(after, bytes) {
            assert!(last > after, "{last} follows {after}");
            let list: Vec<Value> = serde_json::from_str(&text).expect("JSON");
            items.extend(list);
            after = last;
        }
        items
    }

    fn times(items: &[Value], source: u64) -> Vec<f64> {
        let of_source = |item: &&Value| item[0] == "sample" && item[1] == source;
        items.iter().filter(of_source).map(|item| item[2][0].as_f64().expect("a time")).collect()
    }

    #[test]
    fn items_come_in_order_whatever_the_size_of_pieces() {
        let mut history = History::new(1, Limits::of(Time::Virtual));
        let id = history.begin("sack", "1");
        for time in 0..50 {
            history.sample(id, &[f64::from(time), f64::NAN, 0.5]);
        }
        history.progress("0 of 1");
        history.end(id, "3 s");
        history.progress("1 of 1");
        history.finish("over");
        history.finish("twice");
        let whole = told(&history, usize::MAX);
        for bytes in [0, 100, 1000] {
            assert_eq!(told(&history, bytes), whole);
        }
        assert_eq!(whole[0], json!(["begin", 0, { "group": "sack", "label": "1" }]));
        assert_eq!(whole[1], json!(["sample", 0, [0, null, 0.5]]));
        let rest: Vec<&Value> = whole.iter().skip(51).collect();
        assert_eq!(
            rest,
            [&json!(["end", 0, "3 s"]), &json!(["progress", "1 of 1"]), &json!(["finish", "over"])]
        );
        assert_eq!(history.since(history.last, usize::MAX), None);
    }

    #[test]
    fn samples_of_a_run_stay_bounded() {
        let mut history = History::new(1, Limits::of(Time::Virtual));
        let id = history.begin("sack", "1");
        for time in 0..100_000 {
            history.sample(id, &[f64::from(time)]);
        }
        let times = times(&told(&history, usize::MAX), 0);
        assert!((SAMPLES_OF_RUN / 2..SAMPLES_OF_RUN).contains(&times.len()), "{}", times.len());
        assert_eq!(times[0], 0.0);
        // Every second one goes, and the newest may be one of them.
        assert!(times.last() >= Some(&99_998.0), "{times:?}");
    }

    #[test]
    fn in_real_time_what_is_new_stays_exact() {
        let mut history = History::new(1, Limits::of(Time::Real));
        let id = history.begin("peer", "");
        for time in 0..1_000_000 {
            history.sample(id, &[f64::from(time)]);
        }
        let times = times(&told(&history, usize::MAX), 0);
        assert!(times.len() < SAMPLES_OF_REAL_TIME, "{}", times.len());
        assert_eq!(times[0], 0.0, "the beginning is still there");
        let lately: Vec<f64> = (999_500..1_000_000).map(f64::from).collect();
        assert_eq!(times[times.len() - lately.len()..], lately);
    }

    #[test]
    fn runs_stay_bounded_and_each_group_keeps_some() {
        let mut history = History::new(1, Limits::of(Time::Virtual));
        for group in ["sack", "headway", "modern"] {
            for run in 0..1000 {
                let id = history.begin(group, &run.to_string());
                history.sample(id, &[0.0]);
                history.end(id, "");
                // Of one that is forgotten nothing is kept.
                history.sample(SourceId(0), &[1.0]);
            }
        }
        let items = told(&history, usize::MAX);
        let begun: Vec<&Value> = items.iter().filter(|item| item[0] == "begin").collect();
        assert_eq!(begun.len(), SOURCES);
        for group in ["sack", "headway", "modern"] {
            let labels: Vec<&str> = begun
                .iter()
                .filter(|item| item[2]["group"] == group)
                .map(|item| item[2]["label"].as_str().expect("a label"))
                .collect();
            assert!(labels.len().abs_diff(SOURCES / 3) <= 1, "{group}: {}", labels.len());
            assert_eq!(labels.last(), Some(&"999"), "{group}");
        }
        assert_eq!(items.len(), 3 * SOURCES);
    }

    #[test]
    fn what_is_not_over_is_not_forgotten() {
        let mut history = History::new(1, Limits::of(Time::Real));
        for peer in 0..2 * SOURCES {
            history.begin(&peer.to_string(), "");
        }
        assert_eq!(history.sources.len(), 2 * SOURCES);
    }
}
