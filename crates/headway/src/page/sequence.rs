//! The time-sequence graph of a run, in the manner of tcptrace, and the congestion window beneath.

use std::collections::BTreeSet;

use headway_trace::TimeSequence;
use headway_units::Instant;
use plotters::element::Text;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::canvas::{self, Area, Chart, Error, Margins, Place};
use super::marks::{Mark, REASONS};
use super::palette::Ink;
use crate::failure::Failure;

/// What is drawn.
pub(crate) struct Graph<'a> {
    sequence: &'a TimeSequence,
    /// Octets that were to be sent.
    size: u64,
    /// Octets that the axis spans.
    height: u64,
    /// Seconds that the axis spans.
    end: f64,
}

/// A close-up shows about this many segments, so that each can be seen.
const CLOSE_UP: usize = 64;

const SEQUENCE_HEIGHT: u32 = 880;
const WINDOW_HEIGHT: u32 = 400;
const MARGINS: Margins = Margins { top: 84, right: 60, bottom: 76, left: 130 };
/// At most this many marks beside the zero: their labels need room on a narrow page.
const TIME_MARKS: u32 = 6;
/// Marks of one kind this close to each other, in steps of the drawing, are drawn once.
const GRAIN: i32 = 3;
/// Segments shorter than this are dots, which a mark covers.
const VISIBLE: i32 = 14;

impl<'a> Graph<'a> {
    /// Of a run that sent `size` octets and lasted `seconds`.
    pub(crate) fn new(sequence: &'a TimeSequence, size: u64, seconds: f64) -> Self {
        // The last data is acknowledged after it has arrived; the closing afterwards is no news.
        let last = sequence.acks().points().iter().find(|ack| ack.una >= size);
        let end = last.map_or(0.0, |ack| since_start(ack.at)).max(seconds) * 1.01;
        // A run that was cut off shows what there is of it.
        let sent = sequence.sent().points().last().map(|sent| sent.seq + u64::from(sent.len));
        Self { sequence, size, height: sent.unwrap_or(size).min(size), end }
    }

    /// The beginning alone, large enough to see each segment; `None` where the graph itself is that.
    pub(crate) fn close_up(&self) -> Option<Self> {
        let last = self.sequence.sent().points().get(CLOSE_UP - 1)?;
        let height = last.seq + u64::from(last.len);
        let acknowledged = self.sequence.acks().points().iter().find(|ack| ack.una >= height)?;
        let end = since_start(acknowledged.at) * 1.01;
        (end < self.end / 2.0).then_some(Self { height, end, ..*self })
    }

    /// Seconds that the graph spans.
    pub(crate) fn seconds(&self) -> f64 {
        self.end
    }

    pub(crate) fn sequence(&self) -> &TimeSequence {
        self.sequence
    }

    fn time_axis(&self) -> Axis {
        Axis::linear(self.end, TIME_MARKS, " s")
    }

    fn shows(&self, at: Instant, octet: u64) -> bool {
        since_start(at) <= self.end && octet <= self.height
    }

    fn highest_window(&self) -> u32 {
        self.sequence.windows().points().iter().map(|window| window.cwnd).max().unwrap_or(0)
    }

    /// Whether the slow-start threshold is ever in sight: before the first loss it is as good as
    /// infinite.
    pub(crate) fn shows_threshold(&self) -> bool {
        let highest = self.highest_window();
        self.sequence.windows().points().iter().any(|window| window.ssthresh <= highest)
    }

    /// The time-sequence graph, as SVG.
    pub(crate) fn draw_sequence(&self) -> Result<String, Failure> {
        canvas::drawing(SEQUENCE_HEIGHT, |area| {
            let unit = Unit::of(self.height as f64);
            let axes = (self.time_axis(), Axis::linear(self.height as f64 / unit.size * 1.03, 6, ""));
            let chart = canvas::chart(area, MARGINS, axes, true)?;
            paint_axis_name(area, &format!("data, {}", unit.name))?;
            let place = |at: Instant, octet: u64| {
                chart.plotting_area().map_coordinate(&(since_start(at), octet as f64 / unit.size))
            };
            self.paint_sent(area, place)?;
            let right = chart.plotting_area().map_coordinate(&(self.end, 0.0)).0;
            self.paint_acks(area, place, right)?;
            let special = self.sequence.special_acks().points().iter();
            let special = special.filter(|special| self.shows(special.at, special.seq));
            paint_marks(area, Mark::SpecialAck, special.map(|special| place(special.at, special.seq)))?;
            self.paint_resent(area, place)?;
            self.paint_expiries(area, &chart)
        })
    }

    /// The congestion window, as SVG.
    pub(crate) fn draw_window(&self) -> Result<String, Failure> {
        canvas::drawing(WINDOW_HEIGHT, |area| {
            let windows = self.sequence.windows().points();
            let highest = self.highest_window();
            let unit = Unit::of(f64::from(highest));
            let axes = (self.time_axis(), Axis::linear(f64::from(highest) / unit.size * 1.08, 4, ""));
            let chart = canvas::chart(area, MARGINS, axes, true)?;
            paint_axis_name(area, &format!("window, {}", unit.name))?;
            let shown = || windows.iter().filter(|window| self.shows(window.at, 0));
            let place = |at: Instant, octets: u32| {
                chart.plotting_area().map_coordinate(&(since_start(at), f64::from(octets) / unit.size))
            };
            let bounded = shown().filter(|window| window.ssthresh <= highest);
            let right = chart.plotting_area().map_coordinate(&(self.end, 0.0)).0;
            let threshold = canvas::steps(bounded.map(|window| place(window.at, window.ssthresh)));
            canvas::line(area, held_until(right, threshold), Ink::Threshold.colour().stroke_width(2))?;
            let window = canvas::steps(shown().map(|window| place(window.at, window.cwnd)));
            canvas::line(area, held_until(right, window), Ink::Window.colour().stroke_width(4))?;
            self.paint_expiries(area, &chart)
        })
    }

    /// Each segment is an upright line from its first octet to its last.
    fn paint_sent(&self, area: &Area<'_>, place: impl Fn(Instant, u64) -> Place) -> Result<(), Error> {
        let style = Ink::Sent.colour().stroke_width(4);
        let mut run: Option<(i32, i32, i32)> = None;
        let sent = self.sequence.sent().points().iter().filter(|sent| self.shows(sent.at, sent.seq));
        for sent in sent {
            let (x, bottom) = place(sent.at, sent.seq);
            let (_, top) = place(sent.at, sent.seq + u64::from(sent.len));
            run = match run {
                // Those that follow each other without a gap are one line.
                Some((column, first, last)) if column == x && bottom >= last - 1 => Some((x, first, top)),
                Some(line) => {
                    paint_upright(area, line, style)?;
                    Some((x, bottom, top))
                }
                None => Some((x, bottom, top)),
            };
        }
        run.map_or(Ok(()), |line| paint_upright(area, line, style))
    }

    fn paint_acks(
        &self,
        area: &Area<'_>,
        place: impl Fn(Instant, u64) -> Place,
        right: i32,
    ) -> Result<(), Error> {
        let acks = self.sequence.acks().points().iter().filter(|ack| self.shows(ack.at, 0));
        // A FIN counts as an octet, but is none of the content.
        let points = acks.map(|ack| place(ack.at, ack.una.min(self.size)));
        let path = canvas::steps(std::iter::once(place(Instant::ZERO, 0)).chain(points));
        canvas::line(area, held_until(right, path), Ink::Ack.colour().stroke_width(3))
    }

    fn paint_resent(&self, area: &Area<'_>, place: impl Fn(Instant, u64) -> Place) -> Result<(), Error> {
        for mark in REASONS {
            let resent = self.sequence.retransmissions().points().iter();
            let resent: Vec<_> = resent
                .filter(|resent| Mark::of(resent.reason) == mark && self.shows(resent.at, resent.seq))
                .collect();
            for resent in &resent {
                let (x, bottom) = place(resent.at, resent.seq);
                let (_, top) = place(resent.at, resent.seq + u64::from(resent.len));
                if bottom - top >= VISIBLE {
                    paint_upright(area, (x, bottom, top), mark.ink().colour().stroke_width(4))?;
                }
            }
            let middles =
                resent.iter().map(|resent| place(resent.at, resent.seq + u64::from(resent.len) / 2));
            paint_marks(area, mark, middles)?;
        }
        Ok(())
    }

    /// Timeouts stand on the axis.
    fn paint_expiries(&self, area: &Area<'_>, chart: &Chart<'_>) -> Result<(), Error> {
        let timeouts = self.sequence.timeouts().points().iter().filter(|timeout| self.shows(timeout.at, 0));
        let places =
            timeouts.map(|timeout| chart.plotting_area().map_coordinate(&(since_start(timeout.at), 0.0)));
        paint_marks(area, Mark::Expiry, places)
    }
}

/// The last value holds to the end of the axis.
fn held_until(right: i32, mut path: Vec<Place>) -> Vec<Place> {
    if let Some(&(_, last)) = path.last() {
        path.push((right, last));
    }
    path
}

fn paint_upright(
    area: &Area<'_>,
    (x, bottom, top): (i32, i32, i32),
    style: plotters::style::ShapeStyle,
) -> Result<(), Error> {
    // However short, it is as high as it is wide.
    let top = top.min(bottom - style.stroke_width as i32);
    canvas::line(area, vec![(x, bottom), (x, top)], style)
}

/// Puts a mark at each point, once where several lie so close that they cannot be told apart: the
/// drawing stays small however long the run was.
fn paint_marks(area: &Area<'_>, mark: Mark, places: impl Iterator<Item = Place>) -> Result<(), Error> {
    let mut taken = BTreeSet::new();
    for (x, y) in places {
        if taken.insert((x / GRAIN, y / GRAIN)) {
            mark.put(area, (x, y))?;
        }
    }
    Ok(())
}

fn paint_axis_name(area: &Area<'_>, name: &str) -> Result<(), Error> {
    let style = canvas::text(Ink::Text, HPos::Left, VPos::Top);
    canvas::put(area, Text::new(name.to_owned(), (0, 4), style))
}

fn since_start(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

/// A unit of data that gives short numbers.
struct Unit {
    size: f64,
    name: &'static str,
}

impl Unit {
    fn of(octets: f64) -> Self {
        const UNITS: [Unit; 3] = [
            Unit { size: (1 << 30) as f64, name: "GiB" },
            Unit { size: (1 << 20) as f64, name: "MiB" },
            Unit { size: (1 << 10) as f64, name: "KiB" },
        ];
        UNITS.into_iter().find(|unit| octets >= unit.size).unwrap_or(Self { size: 1.0, name: "B" })
    }
}
