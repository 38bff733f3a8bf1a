//! Between interfaces of a network namespace that a test makes for itself, which needs root.

mod cable;
mod diverting;
mod error_delay_box;
mod ethernet;
mod ethernet_v6;
mod packet_socket;
mod stack_over_tun;
