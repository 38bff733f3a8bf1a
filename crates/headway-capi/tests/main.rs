//! The library as programs in C and C++ meet it.

mod common;
mod digest;
mod header;
mod misuse;
mod ns3;
mod simulator;
