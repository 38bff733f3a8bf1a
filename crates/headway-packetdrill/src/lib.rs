//! The headway TCP behind packetdrill's shared-object interface.
//!
//! Stock packetdrill, started with `--so_filename=libheadway_packetdrill.so`, runs its scripts
//! against the same core that the simulator and the live driver use, in virtual time: a script that
//! waits for a minute takes no time, and every run gives the same result. How to use it is told in
//! the crate's `README.md`.
//!
//! - [`packetdrill_interface_init`] is the one symbol that packetdrill looks up; module `ffi` holds
//!   all that touches its memory, and all the `unsafe` of the crate.
//! - `stack` is the host with its virtual clock and its descriptors; `sockets`, `options`,
//!   `readiness`, `epoll` and `pipes` are the calls on them, as Linux answers them.
//! - `blocking` makes calls wait without stopping the clock.
//! - `offload` imitates the one trace of segmentation offload that scripts see.
//! - `config` reads `--so_flags`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]

mod blocking;
mod config;
mod descriptors;
mod epoll;
mod errno;
#[allow(unsafe_code)]
mod ffi;
mod icmp;
mod info;
mod offload;
mod options;
mod pipes;
mod readiness;
mod sockets;
mod stack;

pub use ffi::{Interface, packetdrill_interface_init};
