//! A stack on a carrier in memory, and what it does with each packet.

mod any_carrier;
mod carrier;
mod driver;
mod interceptor;
mod streams;
