//! The way from the transmitter to the receiver: a delay that varies, and packets that overtake.

mod in_flight;
mod jitter;
mod propagation;
mod steps;

pub(crate) use in_flight::PacketInFlight;
pub use jitter::{DelayTable, JitterModel, ParseDelayTableError};
pub(crate) use propagation::Propagation;
pub use steps::DelaySteps;
