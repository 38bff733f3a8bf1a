//! What a link has done, and what it can do at best.

mod bound;
mod counters;
mod histogram;

pub use bound::{bound, share_hit};
pub use counters::LinkCounters;
pub use histogram::{Histogram, Quantiles};
