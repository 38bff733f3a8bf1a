//! Stacks on carriers of every kind, and the box. What measures the memory of its process has a program of its own.

mod error_delay_box;
mod frames;
mod interfaces;
mod no_hack;
mod restarted;
mod stack;
mod tunnel;
mod udp;
