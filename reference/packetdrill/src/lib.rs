//! The headway TCP behind packetdrill's shared-object interface.
//!
//! Stock packetdrill, started with `--so_filename=libheadway_packetdrill.so`, runs its scripts against
//! the same core that the simulator and the live driver use, in virtual time: a script that waits for a
//! minute takes no time, and every run gives the same result. The crate's `README.md` describes its use.
//!
//! - [`packetdrill_interface_init`] is the symbol that packetdrill looks up; module `ffi` holds
//!   all that touches its memory, and all the `unsafe` of the crate.
//! - `stack` is the host with its virtual clock and its descriptors; `calls` are the calls on it, as Linux
//!   answers them.
//! - `blocking` makes calls wait in virtual time.
//! - `offload` sets PSH like segmentation offload.
//! - `config` reads `--so_flags`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]

mod blocking;
mod calls;
mod config;
mod descriptors;
mod epoll;
mod errno;
mod events;
#[allow(unsafe_code)]
mod ffi;
mod info;
mod offload;
mod pipes;
mod settings;
mod socket;
mod stack;

pub use ffi::{Interface, packetdrill_interface_init};
