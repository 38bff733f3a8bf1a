//! The page of a measurement.

use maud::html;

use super::{Results, graphs};
use crate::error::ReportError;
use crate::page;

/// The page. `command` is the command that asked for it.
///
/// # Errors
///
/// A figure cannot be drawn.
pub fn page(results: &Results, command: &str) -> Result<String, ReportError> {
    let body = html! {
        header {
            h1 { "headway perf" }
            p.lead { (results.summary) }
        }
        main {
            section aria-labelledby="results" {
                h2 id="results" { "Results" }
                div.scroll tabindex="0" role="region" aria-label="Results" {
                    table {
                        tbody {
                            @for (name, value) in &results.values {
                                tr { th scope="row" { (name) } td { (value) } }
                            }
                        }
                    }
                }
            }
            section aria-labelledby="graphs" {
                h2 id="graphs" { "Over time" }
                (graphs::figures(results)?)
            }
        }
        footer {
            p { "Made by headway " (env!("CARGO_PKG_VERSION")) " with" }
            pre tabindex="0" { code { (command) } }
            p { "Measured in real time: another run gives other values." }
        }
    };
    Ok(page::page_with_style("headway perf", "", &body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::Interval;

    fn count(page: &str, what: &str) -> usize {
        page.matches(what).count()
    }

    #[test]
    fn every_interval_and_every_request_is_drawn() {
        let interval = |number: u32| Interval {
            start: f64::from(number),
            end: f64::from(number + 1),
            rate: f64::from(number % 3) * 1e6,
        };
        let results = Results {
            summary: "what was measured".into(),
            values: vec![("a name".into(), "a value".into())],
            up: (5..15).map(interval).collect(),
            down: Vec::new(),
            latencies: (0..150).map(|at| (f64::from(at) / 10.0, 0.02 + f64::from(at) / 1e4)).collect(),
            load: Some((5.0, 15.0)),
        };
        let made = page(&results, "headway perf client x").expect("a page");
        for text in
            ["what was measured", "a name", "a value", "Goodput up", "Latency over time, 34.9 ms at most"]
        {
            assert!(made.contains(text), "{text}");
        }
        assert!(!made.contains("Goodput down"));
        assert_eq!(count(&made, "<figure>"), 2);
        // Dots that are not on each other.
        assert_eq!(count(&made, "<circle"), 150);
        let empty = page(&Results::default(), "x").expect("a page");
        assert_eq!(count(&empty, "<figure>"), 0);
    }
}
