//! The transmitter, at a rate that may change, and the policer in front of it.

mod opportunities;
mod policer;
mod serializer;
mod steps;

pub use opportunities::{DeliveryTrace, ParseDeliveryTraceError};
pub use policer::Policer;
pub(crate) use policer::TokenBucket;
pub(crate) use serializer::Serializer;
pub use steps::RateSteps;
