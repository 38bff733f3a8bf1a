//! Why a carrier or a stack cannot be made.

use std::io;
use std::net::IpAddr;

/// Why a carrier or a stack cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A TUN device cannot be opened or set up.
    #[error("TUN {name}: {what}: {source}; expected {expected}")]
    Tun {
        /// The device.
        name: String,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
        /// What would have worked.
        expected: &'static str,
    },
    /// An interface cannot be used for packets.
    #[error("interface {name}: {what}: {source}; expected {expected}")]
    Interface {
        /// The interface.
        name: String,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
        /// What would have worked.
        expected: &'static str,
    },
    /// A UDP socket cannot be made.
    #[error("UDP {what}: {source}; expected {expected}")]
    Udp {
        /// The address, and what was tried.
        what: String,
        /// What the system said.
        source: io::Error,
        /// What would have worked.
        expected: &'static str,
    },
    /// The addresses of a carrier do not fit together.
    #[error("{got}: expected {expected}")]
    BadAddress {
        /// What was given.
        got: String,
        /// What would have worked.
        expected: &'static str,
    },
    /// The kernel has the address that our stack is to have, and would answer in its place.
    #[error(
        "{0}: expected an address that this machine's kernel does not have: it would answer in our place"
    )]
    KernelsAddress(IpAddr),
    /// The thread that drives the stack, or what it needs, cannot be made.
    #[error("the stack cannot start: {0}")]
    Start(#[source] io::Error),
    /// The profile has HACK, and the carrier puts segments together or hides damage.
    #[error(
        "{0}: expected a profile without HACK: segments are put together there, and each of HACK bears its own sums"
    )]
    NoHack(String),
    /// What the box needs of the system cannot be had.
    #[error("the box cannot wait for packets: {0}")]
    Box(#[source] io::Error),
    /// The profile cannot work.
    #[error(transparent)]
    Profile(headway_tcp::Error),
}
