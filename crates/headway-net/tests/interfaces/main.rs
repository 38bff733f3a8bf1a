//! Between interfaces of a network namespace that a test makes for itself, which needs root.

mod cable;
mod ethernet;
mod ethernet_v6;
