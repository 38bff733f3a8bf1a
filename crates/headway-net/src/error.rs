//! Errors of carriers, stacks and the error/delay box.

use std::io;
use std::net::IpAddr;

/// Errors of carriers, stacks and the error/delay box.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A TUN device cannot be opened or set up.
    #[error("TUN {name}: {what}: {source}; expected {expected}")]
    Tun {
        /// The device.
        name: String,
        /// The failed operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
        /// What was expected.
        expected: &'static str,
    },
    /// An interface cannot be used for packets.
    #[error("interface {name}: {what}: {source}; expected {expected}")]
    Interface {
        /// The interface.
        name: String,
        /// The failed operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
        /// What was expected.
        expected: &'static str,
    },
    /// A UDP socket cannot be made.
    #[error("UDP {what}: {source}; expected {expected}")]
    Udp {
        /// The address and the failed operation.
        what: String,
        /// The system's error.
        source: io::Error,
        /// What was expected.
        expected: &'static str,
    },
    /// A socket for frames cannot be made.
    #[error("frames {what}: {source}; expected {expected}")]
    Frames {
        /// The address and the failed operation.
        what: String,
        /// The system's error.
        source: io::Error,
        /// What was expected.
        expected: &'static str,
    },
    /// The addresses of a carrier are inconsistent.
    #[error("{got}: expected {expected}")]
    BadAddress {
        /// What was given.
        got: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The kernel has the stack's address, and would answer in its place.
    #[error(
        "{0}: expected an address that this machine's kernel does not have: it would answer in our place"
    )]
    KernelsAddress(IpAddr),
    /// The thread that drives the stack, or its resources, cannot be created.
    #[error("the stack cannot start: {0}")]
    Start(#[source] io::Error),
    /// The profile has HACK, and the carrier coalesces segments or hides damage.
    #[error(
        "{0}: expected a profile without HACK: it coalesces segments, but HACK needs each segment's own checksums"
    )]
    NoHack(String),
    /// A system resource of the box is not available.
    #[error("the box cannot wait for packets: {0}")]
    Box(#[source] io::Error),
    /// The profile is invalid.
    #[error(transparent)]
    Profile(headway_tcp::Error),
}

impl NetError {
    /// Whether an address or a profile that was given is wrong.
    pub fn is_of_input(&self) -> bool {
        matches!(self, Self::BadAddress { .. } | Self::KernelsAddress(_) | Self::NoHack(_))
    }
}
