//! Rates that change.

mod opportunities;
mod steps;

pub(crate) use opportunities::Opportunities;
pub use opportunities::{DeliveryTrace, ParseDeliveryTraceError};
pub use steps::RateSteps;
