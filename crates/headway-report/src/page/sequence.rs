//! The time-sequence graph of a run, in the manner of tcptrace, and the window or the data outstanding beneath.

use std::collections::BTreeSet;

use plotters::element::Text;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::canvas::{self, Area, Chart, DrawingPoint, Error, Margins};
use super::layers::{Layers, Segment, Steps};
use super::marks::Mark;
use super::palette::Ink;
use crate::error::ReportError;

/// What is drawn.
pub(crate) struct Graph<'a> {
    layers: &'a Layers,
    /// Bytes that were to be sent.
    size: u64,
    /// Bytes that the axis spans.
    height: u64,
    /// Seconds that the axis spans.
    end: f64,
}

/// A close-up shows about this many segments, so that each can be seen.
const CLOSE_UP: usize = 64;

const SEQUENCE_HEIGHT: u32 = 880;
const BENEATH_HEIGHT: u32 = 400;
const MARGINS: Margins = Margins { top: 84, right: 60, bottom: 76, left: 130 };
/// At most this many marks beside the zero: their labels need room on a narrow page.
const TIME_MARKS: u32 = 6;
/// Marks of one kind this close to each other, in steps of the drawing, are drawn once.
const GRAIN: i32 = 3;
/// Segments shorter than this are dots, which a mark covers.
const VISIBLE: i32 = 14;
/// The least height of a segment: beside the line of the ACKs it is seen.
const LEAST: i32 = 10;

impl<'a> Graph<'a> {
    /// Of a run that sent `size` bytes and lasted `seconds`.
    pub(crate) fn new(layers: &'a Layers, size: u64, seconds: f64) -> Self {
        // The last data is acknowledged after it has arrived; the closing afterwards adds nothing.
        let last = layers.acks.iter().find(|(_, una)| *una >= size);
        let end = last.map_or(0.0, |&(at, _)| at).max(seconds) * 1.01;
        // A run that was cut off shows what there is of it.
        let sent = layers.sent.last().map(Segment::end);
        Self { layers, size, height: sent.unwrap_or(size).min(size), end }
    }

    /// The beginning alone, large enough to see each segment; `None` where the graph itself is that.
    pub(crate) fn close_up(&self) -> Option<Self> {
        let height = self.layers.sent.get(CLOSE_UP - 1)?.end();
        let (acknowledged, _) = self.layers.acks.iter().find(|(_, una)| *una >= height)?;
        let end = acknowledged * 1.01;
        (end < self.end / 2.0).then_some(Self { height, end, ..*self })
    }

    /// Seconds that the graph spans.
    pub(crate) fn seconds(&self) -> f64 {
        self.end
    }

    pub(super) fn layers(&self) -> &Layers {
        self.layers
    }

    fn time_axis(&self) -> Axis {
        Axis::linear(self.end, TIME_MARKS, " s")
    }

    fn shows(&self, at: f64, byte: u64) -> bool {
        at <= self.end && byte <= self.height
    }

    /// Whether a line of the graph beneath is ever in sight.
    pub(super) fn shows_line(&self, (_, steps): &(Mark, Steps)) -> bool {
        !self.pieces(steps, self.layers.beneath.highest()).is_empty()
    }

    /// Whether any of these times is in sight.
    pub(super) fn shows_any(&self, times: &[f64]) -> bool {
        times.iter().any(|at| self.shows(*at, 0))
    }

    /// The pieces of a line that are in sight: values above the highest interrupt it.
    fn pieces<'b>(&self, steps: &'b Steps, highest: u64) -> Vec<Piece<'b>> {
        let until = steps.partition_point(|(at, _)| self.shows(*at, 0));
        let (shown, behind) = (&steps[..until], steps.get(until).map(|(at, _)| *at));
        let mut pieces = Vec::new();
        let mut start = 0;
        for points in shown.chunk_by(|(_, one), (_, other)| (*one <= highest) == (*other <= highest)) {
            start += points.len();
            if points[0].1 <= highest {
                let next = shown.get(start).map(|(at, _)| *at);
                pieces.push(Piece { points, end: next.or(behind.filter(|at| *at <= self.end)) });
            }
        }
        pieces
    }

    /// The time-sequence graph, as SVG.
    pub(crate) fn draw_sequence(&self) -> Result<String, ReportError> {
        canvas::drawing(SEQUENCE_HEIGHT, |area| {
            let unit = Unit::of(self.height as f64);
            let axes = (self.time_axis(), Axis::linear(self.height as f64 / unit.size * 1.03, 6, ""));
            let chart = canvas::chart(area, MARGINS, axes, true)?;
            paint_axis_name(area, &format!("data, {}", unit.name))?;
            let place =
                |at: f64, byte: u64| chart.plotting_area().map_coordinate(&(at, byte as f64 / unit.size));
            self.paint_sent(area, place)?;
            let right = chart.plotting_area().map_coordinate(&(self.end, 0.0)).0;
            self.paint_acks(area, place, right)?;
            let special = self.layers.special.iter().filter(|(at, seq)| self.shows(*at, *seq));
            paint_marks(area, Mark::SpecialAck, special.map(|&(at, seq)| place(at, seq)))?;
            self.paint_retransmitted(area, place)?;
            self.paint_expiries(area, &chart)
        })
    }

    /// The graph beneath, as SVG.
    pub(crate) fn draw_beneath(&self) -> Result<String, ReportError> {
        canvas::drawing(BENEATH_HEIGHT, |area| {
            let beneath = &self.layers.beneath;
            let highest = beneath.highest();
            let unit = Unit::of(highest as f64);
            let axes = (self.time_axis(), Axis::linear(highest as f64 / unit.size * 1.08, 4, ""));
            let chart = canvas::chart(area, MARGINS, axes, true)?;
            paint_axis_name(area, &format!("{}, {}", beneath.axis, unit.name))?;
            let place =
                |at: f64, bytes: u64| chart.plotting_area().map_coordinate(&(at, bytes as f64 / unit.size));
            let (right, _) = place(self.end, 0);
            for (mark, steps) in &beneath.lines {
                let width = if *mark == Mark::Threshold { 2 } else { 4 };
                for piece in self.pieces(steps, highest) {
                    let end = piece.end.map_or(right, |at| place(at, 0).0);
                    let path = canvas::steps(piece.points.iter().map(|&(at, bytes)| place(at, bytes)));
                    canvas::line(area, held_until(end, path), mark.ink().colour().stroke_width(width))?;
                }
            }
            self.paint_expiries(area, &chart)
        })
    }

    /// Each segment is an upright line from its first byte to its last.
    fn paint_sent(&self, area: &Area<'_>, place: impl Fn(f64, u64) -> DrawingPoint) -> Result<(), Error> {
        let style = Ink::Sent.colour().stroke_width(4);
        let mut run: Option<(i32, i32, i32)> = None;
        let sent = self.layers.sent.iter().filter(|sent| self.shows(sent.at, sent.seq));
        for sent in sent {
            let (x, bottom) = place(sent.at, sent.seq);
            let (_, top) = place(sent.at, sent.end());
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
        place: impl Fn(f64, u64) -> DrawingPoint,
        right: i32,
    ) -> Result<(), Error> {
        let acks = self.layers.acks.iter().filter(|(at, _)| self.shows(*at, 0));
        // A FIN counts as a byte, but is not content.
        let points = acks.map(|&(at, una)| place(at, una.min(self.size)));
        let path = canvas::steps(std::iter::once(place(0.0, 0)).chain(points));
        canvas::line(area, held_until(right, path), Ink::Ack.colour().stroke_width(3))
    }

    fn paint_retransmitted(
        &self,
        area: &Area<'_>,
        place: impl Fn(f64, u64) -> DrawingPoint,
    ) -> Result<(), Error> {
        for (mark, retransmitted) in &self.layers.retransmitted {
            let shown = || {
                retransmitted.iter().filter(|retransmitted| self.shows(retransmitted.at, retransmitted.seq))
            };
            for retransmitted in shown() {
                let (x, bottom) = place(retransmitted.at, retransmitted.seq);
                let (_, top) = place(retransmitted.at, retransmitted.end());
                if bottom - top >= VISIBLE {
                    paint_upright(area, (x, bottom, top), mark.ink().colour().stroke_width(4))?;
                }
            }
            let middles = shown().map(|retransmitted| {
                place(retransmitted.at, retransmitted.seq + u64::from(retransmitted.len) / 2)
            });
            paint_marks(area, *mark, middles)?;
        }
        Ok(())
    }

    /// Timeouts stand on the axis.
    fn paint_expiries(&self, area: &Area<'_>, chart: &Chart<'_>) -> Result<(), Error> {
        let expiries = self.layers.expiries.iter().filter(|at| self.shows(**at, 0));
        let places = expiries.map(|&at| chart.plotting_area().map_coordinate(&(at, 0.0)));
        paint_marks(area, Mark::Expiry, places)
    }
}

/// A part of a line.
struct Piece<'a> {
    points: &'a [(f64, u64)],
    /// Until when the last value holds, where that is not the end of the axis.
    end: Option<f64>,
}

/// The last value holds to there.
fn held_until(right: i32, mut path: Vec<DrawingPoint>) -> Vec<DrawingPoint> {
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
    let top = top.min(bottom - LEAST);
    canvas::line(area, vec![(x, bottom), (x, top)], style)
}

/// Puts a mark at each point, once where several lie so close that they cannot be distinguished: the
/// drawing stays small however long the run was.
fn paint_marks(area: &Area<'_>, mark: Mark, places: impl Iterator<Item = DrawingPoint>) -> Result<(), Error> {
    let mut taken = BTreeSet::new();
    for (x, y) in places {
        if taken.insert((x / GRAIN, y / GRAIN)) {
            mark.put(area, (x, y))?;
        }
    }
    Ok(())
}

/// What is measured along the upright axis.
pub(crate) fn paint_axis_name(area: &Area<'_>, name: &str) -> Result<(), Error> {
    let style = canvas::text(Ink::Text, HPos::Left, VPos::Top);
    canvas::put(area, Text::new(name.to_owned(), (0, 4), style))
}

/// A unit of data that gives short numbers.
pub(crate) struct Unit {
    size: f64,
    name: &'static str,
}

impl Unit {
    pub(crate) fn of(bytes: f64) -> Self {
        const UNITS: [Unit; 3] = [
            Unit { size: (1 << 30) as f64, name: "GiB" },
            Unit { size: (1 << 20) as f64, name: "MiB" },
            Unit { size: (1 << 10) as f64, name: "KiB" },
        ];
        UNITS.into_iter().find(|unit| bytes >= unit.size).unwrap_or(Self { size: 1.0, name: "B" })
    }

    /// Its bytes.
    pub(crate) const fn size(&self) -> f64 {
        self.size
    }

    /// Its symbol.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }
}
