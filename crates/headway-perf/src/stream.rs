//! What a client prints while it measures: lines, nothing, or events as of `iperf3 --json-stream`.

use headway_command::{OutputError, output};
use serde_json::{Value, json};

use super::json::{self, About, Ends};
use super::progress::Interval;
use super::protocol::{Flow, Test, TestKind};
use super::text::Text;

/// How a client prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Lines for people.
    Lines,
    /// One object at the end.
    Object,
    /// An object for each event, on a line of its own.
    Stream,
}

/// What is printed while a test runs.
pub(super) enum Printer {
    Lines(Text),
    Nothing,
    Stream(EventStream),
}

impl Printer {
    pub(super) fn new(format: Format, test: &Test) -> Self {
        match format {
            Format::Lines => Self::Lines(Text::of_client(test)),
            Format::Object => Self::Nothing,
            Format::Stream => {
                Self::Stream(EventStream { both_ways: test.kind == TestKind::Bidirectional, printed: 0 })
            }
        }
    }

    /// The test begins, with these connections.
    pub(super) fn begin(&self, about: &About<'_>, test: &Test, ends: &[Ends]) -> Result<(), OutputError> {
        match self {
            Self::Stream(_) => print("start", &json::start(about, test, ends)),
            Self::Lines(_) | Self::Nothing => Ok(()),
        }
    }

    /// The last of `intervals` is new.
    pub(super) fn interval(
        &mut self,
        test: &Test,
        ends: &[Ends],
        intervals: &[Interval],
    ) -> Result<(), OutputError> {
        let Some(last) = intervals.last() else { return Ok(()) };
        match self {
            Self::Lines(text) => output::print(&text.interval(last)),
            Self::Nothing => Ok(()),
            Self::Stream(stream) if stream.both_ways => stream.print_pairs(test, ends, intervals),
            Self::Stream(_) => print("interval", &json::interval(test, ends, &[last])),
        }
    }

    /// No interval follows.
    pub(super) fn end_intervals(
        &mut self,
        test: &Test,
        ends: &[Ends],
        intervals: &[Interval],
    ) -> Result<(), OutputError> {
        match self {
            Self::Stream(stream) if stream.both_ways => stream.print_rest(test, ends, intervals),
            _ => Ok(()),
        }
    }
}

/// The intervals of a stream of events.
pub(super) struct EventStream {
    /// An interval has the data of both directions, whose ends are not reported at the same time.
    both_ways: bool,
    /// Events so far.
    printed: usize,
}

impl EventStream {
    /// Those intervals whose both directions are known.
    fn print_pairs(&mut self, test: &Test, ends: &[Ends], intervals: &[Interval]) -> Result<(), OutputError> {
        let of = |flow| intervals.iter().filter(move |interval| interval.flow == flow);
        let pairs = of(Flow::Upload).zip(of(Flow::Download)).skip(self.printed);
        for (upload, download) in pairs {
            print("interval", &json::interval(test, ends, &[upload, download]))?;
            self.printed += 1;
        }
        Ok(())
    }

    /// Those of one direction that are left, because it had more of them.
    fn print_rest(&mut self, test: &Test, ends: &[Ends], intervals: &[Interval]) -> Result<(), OutputError> {
        for flow in [Flow::Upload, Flow::Download] {
            let of_flow = intervals.iter().filter(|interval| interval.flow == flow);
            for interval in of_flow.skip(self.printed) {
                print("interval", &json::interval(test, ends, &[interval]))?;
            }
        }
        Ok(())
    }
}

/// Prints an event; its name is in front, as iperf3 has it.
pub(super) fn print(event: &str, data: &Value) -> Result<(), OutputError> {
    output::print(&format!("{{\"event\":{},\"data\":{data}}}\n", json!(event)))
}
