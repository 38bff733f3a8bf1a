//! What comes with the programs: the papers' experiments, and the recordings that experiment files name.
#![forbid(unsafe_code)]

mod papers;
mod recordings;

pub use papers::{PaperError, experiments, list, text};
pub use recordings::load;
