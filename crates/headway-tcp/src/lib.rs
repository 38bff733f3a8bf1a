//! A TCP that does no I/O, reads no clock and draws no randomness: the time, seeds and packets
//! come in; packets, deadlines and notifications go out.
//!
//! A [`Host`] owns connections, listeners and what they share. A carrier (a simulator or a live
//! driver) hands it what arrives with [`Host::receive`], asks it for what to send with
//! [`Host::poll_transmit`] and wakes it at [`Host::next_deadline`]. What a connection is configured with is its [`Profile`].
//!
//! Beside the standard TCP it implements TCP HACK and Extended HACK (module [`hack`]) and the
//! sender that their papers measured, Linux 2.2 ([`Profile::linux22`]).
//!
//! # Example
//!
//! A transfer between two hosts, over a network that delivers at once. `examples/two_hosts.rs` has one with delay
//! and corruption.
//!
//! ```
//! use std::net::IpAddr;
//! use std::sync::Arc;
//!
//! use headway_tcp::{Host, HostConfig, Profile};
//! use headway_units::{Duration, Instant};
//! use headway_wire::{ChecksumTrust, Received};
//!
//! let [client_address, server_address] = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
//! let profile = Arc::new(Profile::modern());
//! // The secret is what others must not know to guess sequence numbers: draw it at random.
//! let mut client = Host::new(HostConfig::new(client_address, [1; 16]));
//! let mut server = Host::new(HostConfig::new(server_address, [2; 16]));
//!
//! let mut now = Instant::from_nanos(1_000_000_000);
//! let listener = server.listen((server_address, 80).into(), 4, profile.clone())?;
//! let id = client.connect(now, (client_address, 0).into(), (server_address, 80).into(), profile)?;
//! assert_eq!(client.write(id, b"hello"), Ok(5));
//!
//! let mut accepted = None;
//! let mut received = Vec::new();
//! for turn in 0..4 {
//!     if turn == 1 {
//!         // The connection is open: the stream ends behind what was written.
//!         client.close(now, id)?;
//!     }
//!     // What one host sends, the other receives.
//!     let mut buffer = [0; 1500];
//!     while let Some(sent) = client.poll_transmit(now, &mut buffer) {
//!         server.receive(now, &Received::parse(&buffer[..sent.len], ChecksumTrust::None));
//!     }
//!     while let Some(sent) = server.poll_transmit(now, &mut buffer) {
//!         client.receive(now, &Received::parse(&buffer[..sent.len], ChecksumTrust::None));
//!     }
//!     // The server's program.
//!     accepted = accepted.or_else(|| server.accept(listener));
//!     if let Some(id) = accepted {
//!         let mut data = [0; 100];
//!         let len = server.read(id, &mut data)?;
//!         received.extend_from_slice(&data[..len]);
//!     }
//!     // Nothing waits for a timer here: time could pass until `next_deadline`, for `handle_timeout`.
//!     now += Duration::from_millis(1);
//!     client.handle_timeout(now);
//!     server.handle_timeout(now);
//! }
//! assert_eq!(received, b"hello");
//! assert!(accepted.is_some_and(|id| server.is_finished(id)));
//! # Ok::<(), headway_tcp::Error>(())
//! ```
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
mod rules;
mod send;
mod slab;
mod state;

pub use connection::{Endpoints, Negotiated, Notification, Statistics};
pub use error::{ConnectionError, Error};
pub use event::{DamageOutcome, DropReason, Event, Observer, RecoveryPhase, RetransmitReason, Timer};
pub use host::{Host, HostConfig, HostCounters, OnlyPeer, Refusal, Transmit};
pub use id::{ConnectionId, DomainId, ListenerId};
pub use path::memory::PathMemory;
pub use path::{Path, ledger};
pub use profile::{
    DelayedAck, Features, HackMode, HackRules, KeepAlive, LossRecovery, Profile, RtoConfig, UnknownVariant,
    Variant,
};
pub use rules::{Rule, RulesOff, UnknownRule};
pub use state::State;
