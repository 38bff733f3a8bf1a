//! Time, rate, size and share: quantities and their text forms.
//!
//! Every type parses ([`FromStr`](core::str::FromStr)) what its [`Display`](core::fmt::Display) writes to
//! the same value. Parsing is exact: text without a representable value is an error; it is never rounded
//! or clamped.
//!
//! ```
//! use headway_units::{Duration, Rate, Share, Size};
//!
//! let rate: Rate = "10mbit".parse()?;
//! assert_eq!(rate.transmit_time(1500), Duration::from_micros(1200));
//! assert_eq!("1.5s".parse::<Duration>()?, Duration::from_millis(1500));
//! assert_eq!("64KiB".parse::<Size>()?.bytes(), 65536);
//! assert_eq!("5%".parse::<Share>()?.value(), 0.05);
//! # Ok::<(), headway_units::ParseUnitError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod decimal;
mod duration_text;
mod error;
mod rate;
mod share;
mod size;
mod time;

pub use error::ParseUnitError;
pub use rate::Rate;
pub use share::Share;
pub use size::Size;
pub use time::{Duration, Instant};
