//! Pages and figures: what races, captures and experiments gave, drawn. A page is one file that needs nothing
//! else, and the same results give the same bytes.
//!
//! - [`race`]: the senders of a race beside one another.
//! - [`trace`]: the connections of a capture, with the numbers that text and tables show too.
//! - [`perf`]: a measurement between two ends.
//! - [`experiments`]: figures, tables and claims of experiments.
//! - [`explorer`]: their runs, in a folder of files, to look at from every side.
//! - [`watch`]: the live page of a command.
#![forbid(unsafe_code)]
// Some marks and axes are only in figures of experiments.
#![cfg_attr(not(feature = "experiments"), allow(dead_code))]

#[cfg(feature = "experiments")]
mod again;
mod error;
#[cfg(feature = "experiments")]
pub mod experiments;
#[cfg(feature = "experiments")]
pub mod explorer;
mod page;
pub mod perf;
mod quantities;
pub mod race;
mod run_capture;
mod shell_words;
mod terms;
pub mod trace;
pub mod watch;

pub use error::ReportError;
pub use quantities::{rate_text, seconds_text};
pub use run_capture::{ENDS, RunCapture};
pub use shell_words::quoted;
pub use terms::foot_notes;
