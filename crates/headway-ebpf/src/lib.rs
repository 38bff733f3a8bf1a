//! HACK for programs over the kernel's TCP, by eBPF.
//!
//! The programs are in C, in `programs/`; `docs/kernel.md` says what each file does. With the feature `programs` this crate
//! compiles them and loads them with libbpf: an [`Attachment`] keeps them attached to a cgroup and to interfaces, and
//! detaches them when it is dropped. Without the feature only the [requirements](requirements::Requirement) of the machine
//! can be examined.
#![deny(unsafe_code)]

#[cfg(feature = "programs")]
mod attachment;
pub mod counters;
#[cfg(feature = "programs")]
mod crc;
#[cfg(feature = "programs")]
mod error;
#[cfg(feature = "programs")]
mod load;
pub mod requirements;
#[cfg(feature = "programs")]
mod settings;
#[cfg(feature = "programs")]
mod status;
#[cfg(feature = "programs")]
#[allow(unsafe_code)]
mod sys;

#[cfg(feature = "programs")]
pub use attachment::{Attachment, Target};
#[cfg(feature = "programs")]
pub use error::EbpfError;
#[cfg(feature = "programs")]
pub use settings::{Control, Settings};
#[cfg(feature = "programs")]
pub use status::{Instance, instances};
