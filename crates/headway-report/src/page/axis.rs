//! Axes: where a value lies, and which values are marked.
//!
//! The plotting library's own axes choose their marks with the machine's logarithm, which need not
//! be the same on another machine; these use `libm` and exact decimals.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// An axis with labelled marks. It takes *places*: values themselves on a linear axis, their
/// decimal logarithms on a logarithmic one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    range: Range<f64>,
    marks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to `high`, marked at no more than `most` round values beside 0.
    pub(crate) fn linear(high: f64, most: u32, unit: &str) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let (step, decimals) = round_step(high / f64::from(most.max(1)));
        // `round_step` gives a step of which there are at most `most` below `high`.
        let count = (high / step).floor() as u32;
        let marks = (0..=count).map(|number| {
            let value = f64::from(number) * step;
            let label = if number == 0 { "0".into() } else { format!("{value:.decimals$}{unit}") };
            (value, label)
        });
        Self { range: 0.0..high, marks: marks.collect() }
    }

    /// A logarithmic axis from a power of ten somewhat below `low` to somewhat above `high`, marked
    /// at powers of ten (and three times these), `most` of them at most, as `label` names them. Both bounds are above zero.
    pub(crate) fn logarithmic(low: f64, high: f64, most: usize, label: impl Fn(f64) -> String) -> Self {
        let first = (DECADES.start..DECADES.end).rev().find(|&n| decimal(1, n) <= low / 1.5);
        let first = first.unwrap_or(DECADES.start);
        let end = logarithm(high.max(low) * 1.15).max(f64::from(first) + 1.0);
        let marked = |digits: &[u8]| -> Vec<(f64, String)> {
            let values =
                (first..DECADES.end).flat_map(|n| digits.iter().map(move |&digit| decimal(digit, n)));
            let marks = values.map(|value| (logarithm(value), value)).take_while(|(place, _)| *place <= end);
            marks.map(|(place, value)| (place, label(value))).collect()
        };
        // Where there is room, the thirds of a decade too.
        let finer = marked(&[1, 3]);
        let marks = if finer.len() <= most { finer } else { marked(&[1]) };
        let stride = marks.len().div_ceil(most.max(1));
        Self { range: f64::from(first)..end, marks: marks.into_iter().step_by(stride).collect() }
    }

    /// A logarithmic axis for marks without length, which need no power of ten to begin at: from just below `low` to just
    /// above `high`, marked at no more than `most` round values, as `label` names them. Both bounds are above zero.
    pub(crate) fn logarithmic_span(low: f64, high: f64, most: usize, label: impl Fn(f64) -> String) -> Self {
        let range = logarithm(low / 1.15)..logarithm(high.max(low) * 1.15);
        let marked = |digits: &[u8]| -> Vec<(f64, String)> {
            let values = DECADES.flat_map(|n| digits.iter().map(move |&digit| decimal(digit, n)));
            let marks = values.map(|value| (logarithm(value), value));
            let marks = marks.filter(|(place, _)| range.contains(place));
            marks.map(|(place, value)| (place, label(value))).collect()
        };
        const DIGITS: [&[u8]; 3] = [&[1, 2, 5], &[1, 3], &[1]];
        let fits = DIGITS.into_iter().map(marked).find(|marks| marks.len() <= most);
        let marks = fits.unwrap_or_else(|| {
            let all = marked(&[1]);
            let stride = all.len().div_ceil(most.max(1));
            all.into_iter().step_by(stride).collect()
        });
        Self { range, marks }
    }

    /// From `low` to `high`, marked at these values as far as there is room for `most` of them.
    pub(crate) fn marked((low, high): (f64, f64), values: &[(f64, String)], most: u32) -> Self {
        let apart = (high - low) / f64::from(most.max(1));
        let mut marks: Vec<(f64, String)> = Vec::new();
        for (value, label) in values {
            if marks.last().is_none_or(|(last, _)| value - last >= apart) {
                marks.push((*value, label.clone()));
            }
        }
        Self { range: low..high, marks }
    }

    /// An axis of rows, the first on top, each a unit high.
    pub(crate) fn rows<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Self {
        let count = names.len();
        let marks = names.enumerate().map(|(row, name)| (row_place(row, count), name.to_owned()));
        Self { marks: marks.collect(), range: 0.0..count.max(1) as f64 }
    }
}

/// Where the middle of a row lies on [`Axis::rows`].
pub(crate) fn row_place(row: usize, count: usize) -> f64 {
    (count - row) as f64 - 0.5
}

/// The decimal logarithm, the same on every machine.
pub(crate) fn logarithm(value: f64) -> f64 {
    libm::log10(value)
}

/// Far more than seconds or bits per second can need.
const DECADES: Range<i32> = -12..19;

/// A digit times a power of ten, or the number nearest to that.
fn decimal(digit: u8, exponent: i32) -> f64 {
    format!("{digit}e{exponent}").parse().unwrap_or(f64::NAN)
}

/// The least of 1, 2 and 5 times a power of ten that is not below `least`, and how many decimal
/// places it has.
fn round_step(least: f64) -> (f64, usize) {
    for exponent in DECADES {
        for digit in [1, 2, 5] {
            let step = decimal(digit, exponent);
            if step >= least {
                return (step, usize::try_from(-exponent).unwrap_or(0));
            }
        }
    }
    (least, 0)
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (start, end): (i32, i32)) -> i32 {
        let share = (place - self.range.start) / (self.range.end - self.range.start);
        start + (f64::from(end - start) * share.clamp(0.0, 1.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.iter().map(|(place, _)| *place).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, place: &f64) -> String {
        let mark = self.marks.iter().find(|(mark, _)| mark == place);
        mark.map_or_else(String::new, |(_, label)| label.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn linear_marks_are_round() {
        assert_eq!(labels(&Axis::linear(2155.0, 6, " s")), ["0", "500 s", "1000 s", "1500 s", "2000 s"]);
        assert_eq!(labels(&Axis::linear(2.0, 5, "")), ["0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(labels(&Axis::linear(0.03, 3, " s")), ["0", "0.01 s", "0.02 s", "0.03 s"]);
        assert_eq!(labels(&Axis::linear(0.0, 2, "")), ["0", "0.5", "1.0"]);
    }

    #[test]
    fn logarithmic_marks_are_powers_of_ten() {
        let axis = Axis::logarithmic(8.5, 2155.0, 6, |value| format!("{value}"));
        assert_eq!(labels(&axis), ["1", "10", "100", "1000"]);
        let finer = Axis::logarithmic(8.5, 2155.0, 7, |value| format!("{value}"));
        assert_eq!(labels(&finer), ["1", "3", "10", "30", "100", "300", "1000"]);
        assert_eq!(axis.map(&0.0, (100, 500)), 100);
        assert!(axis.map(&logarithm(2155.0), (100, 500)) < 500);
        // A value at a power of ten has a bar all the same.
        let axis = Axis::logarithmic(10.0, 200.0, 4, |value| format!("{value}"));
        assert_eq!(labels(&axis), ["1", "10", "100"]);
        assert!(axis.map(&logarithm(10.0), (100, 500)) > 200);
        // What is below the axis, and what has no logarithm, lies at its start.
        assert_eq!(axis.map(&logarithm(0.0), (100, 500)), 100);
    }

    #[test]
    fn a_span_begins_where_its_values_do() {
        let span = |low, high, most| Axis::logarithmic_span(low, high, most, |value| format!("{value}"));
        let axis = span(8.5, 2155.0, 7);
        assert_eq!(labels(&axis), ["10", "30", "100", "300", "1000"]);
        // A twentieth of the axis, and not a decade, lies below the least value.
        let (start, end) = (axis.map(&logarithm(8.5), (0, 1000)), axis.map(&logarithm(2155.0), (0, 1000)));
        assert!((1..50).contains(&start) && (950..1000).contains(&end), "{start}, {end}");
        assert_eq!(labels(&span(0.3, 5.0, 7)), ["0.5", "1", "2", "5"]);
        assert_eq!(labels(&span(8.5, 215_500_000.0, 4)), ["10", "1000", "100000", "10000000"]);
    }

    #[test]
    fn rows_run_downwards() {
        let axis = Axis::rows(["a", "b"].iter().copied());
        assert_eq!(axis.marks, [(1.5, "a".into()), (0.5, "b".into())]);
        assert_eq!(axis.format_ext(&0.5), "b");
    }

    proptest! {
        #[test]
        fn few_marks_within_the_axis(high in 1e-6_f64..1e12, most in 1_u32..12, low in 1e-6_f64..1e12) {
            let linear = Axis::linear(high, most, "");
            prop_assert!(linear.marks.len() as u32 <= most + 1);
            prop_assert!(linear.marks.len() > 1 || most < 3);
            let logarithmic = Axis::logarithmic(low.min(high), high, most as usize, |value| value.to_string());
            prop_assert!(logarithmic.marks.len() <= most as usize);
            prop_assert!(logarithmic.range.start < logarithm(low.min(high)));
            prop_assert!(logarithm(high) <= logarithmic.range.end);
            let span = Axis::logarithmic_span(low.min(high), high, most as usize, |value| value.to_string());
            prop_assert!(span.marks.len() <= most as usize);
            prop_assert!(span.range.start < logarithm(low.min(high)) && logarithm(high) < span.range.end);
            for axis in [&linear, &logarithmic, &span] {
                let inside = |place: &f64| (axis.range.start..=axis.range.end).contains(place);
                prop_assert!(axis.marks.iter().all(|(place, _)| inside(place)), "{:?}", axis);
            }
        }
    }
}
