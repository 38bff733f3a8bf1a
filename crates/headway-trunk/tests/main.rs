//! Configurations, and gateways on this machine.

mod config;
mod gateway;
