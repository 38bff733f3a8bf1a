//! A TCP that does no I/O, reads no clock and draws no randomness: the time, seeds and packets
//! come in; packets, deadlines and notifications go out.
//!
//! A [`Host`] owns connections, listeners and what they share. A carrier (a simulator or a live
//! driver) hands it what arrives with [`Host::receive`], asks it for what to send with
//! [`Host::poll_transmit`] and wakes it at [`Host::next_deadline`].
//!
//! Beside the standard TCP it implements TCP HACK and Extended HACK (module [`hack`]) and the
//! sender that their papers measured, Linux 2.2 ([`Profile::linux22`]).
//!
//! # Panics
//!
//! No packet, whatever its bytes, makes a host panic. Calls with an identifier of a connection
//! that the host no longer knows return [`Error::UnknownConnection`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod congestion;
mod connection;
mod error;
mod event;
pub mod hack;
mod host;
mod id;
mod path;
mod profile;
mod receive;
mod ring;
mod send;
mod slab;
mod state;

pub use connection::{Endpoints, Negotiated, Notification, Statistics};
pub use error::{ConnectionError, Error};
pub use event::{DamageOutcome, DropReason, Event, Observer, RecoveryPhase, RetransmitReason, Timer};
pub use host::{Host, HostConfig, HostCounters};
pub use id::{ConnectionId, DomainId, ListenerId};
pub use path::memory::PathMemory;
pub use path::{Path, ledger};
pub use profile::{
    DelayedAck, HackMode, HackRules, KeepAlive, LossRecovery, Modern, Profile, RtoConfig, UnknownVariant,
    Variant,
};
pub use state::State;
