//! The sealed tunnel from outside, in virtual time.

mod fuzzed;
mod packets;
mod tunnel;
mod world;
