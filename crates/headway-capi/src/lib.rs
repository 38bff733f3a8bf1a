//! headway's hosts and links for C: what `include/headway.h` declares.
//!
//! - `ffi` has the functions, and all the `unsafe` of the crate.
//! - `registry` turns the pointers that C holds, which are keys and never addresses, into hosts and links.
//! - `status` has the codes of errors and their text, and stops panics.
//! - [`constants`] and [`records`] are what the header repeats; `tests/header.rs` says where it differs.
//!
//! What the calls do is in [`headway_embed`].
#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]

pub mod constants;
#[allow(unsafe_code)]
mod ffi;
pub mod records;
mod registry;
mod status;

pub use ffi::*;
pub use status::Status;
