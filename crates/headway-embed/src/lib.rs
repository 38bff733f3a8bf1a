//! headway's hosts and links, step by step, for networks that others write: simulators, emulators, tests.
//!
//! The interfaces for C (`headway-capi`) and Python call this crate. It adds to [`headway_tcp::Host`] and
//! [`headway_link::Link`] what another language needs: settings as text with the keys of scenarios ([`Keys`]),
//! connections as numbers, and checks instead of preconditions: a wrong number, a time that runs backwards or a short
//! buffer is an [`Error`].
//!
//! Times are nanoseconds from an epoch of the caller's choice. Seeds are derived as in a race
//! ([`headway_sim::race`]): a network of two hosts and two links with a race's names and seed has the race's packets,
//! bit by bit.
//!
//! ```
//! use headway_embed::{EmbeddedHost, EmbeddedLink, Keys};
//!
//! let keys: Keys = "variant=headway".parse()?;
//! let mut client = EmbeddedHost::new("192.0.2.1", &keys, "client", 1)?;
//! let mut server = EmbeddedHost::new("192.0.2.2", &keys, "server", 1)?;
//! let mut link = EmbeddedLink::new(&"rate=10mbit delay=20ms".parse()?, "forward link", 1)?;
//!
//! server.listen("192.0.2.2:80", 4)?;
//! client.connect(0, "192.0.2.1:0", "192.0.2.2:80")?;
//! let mut packet = [0; 1500];
//! let len = client.poll_transmit(0, &mut packet)?.expect("a SYN");
//! link.push(0, &packet[..len])?;
//! let at = link.next_event().expect("it is on its way");
//! let arrival = link.pop(at)?.expect("it arrives");
//! server.receive(at, &arrival.packet)?;
//! # Ok::<(), headway_embed::Error>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod host;
mod keys;
mod link;
pub mod names;
mod numbers;
pub mod records;
mod settings;

pub use error::Error;
pub use headway_link::LinkCounters;
pub use headway_sim::derive_seed;
pub use headway_tcp::{ConnectionError, Error as TcpError, Notification, State, Statistics};
pub use host::{EmbeddedHost, PacketIntegrity, PathCounts};
pub use keys::Keys;
pub use link::{Arrival, EmbeddedLink};

/// The time of what never happens. No call accepts it as the current time.
pub const NEVER: u64 = u64::MAX;
