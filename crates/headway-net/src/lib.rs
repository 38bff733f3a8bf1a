//! The live side of headway: the TCP of [`headway_tcp`] on real packets, in real time.
//!
//! - A [`Carrier`] receives and sends IP packets and verifies their checksums; it has no TCP state.
//!   [`UdpCarrier`] needs no privilege, [`TunCarrier`] exchanges packets with this machine's kernel,
//!   [`EthernetCarrier`] with an Ethernet.
//! - A [`Stack`] is a TCP host on a carrier: one thread drives it, and its [`TcpListener`]s and
//!   [`TcpStream`]s can be used from any task of a `tokio` runtime (or of another one that supports
//!   `tokio`'s traits: its reactor is not needed).
//!
//! ```no_run
//! use headway_net::{Stack, StackConfig, UdpCarrier, UdpConfig};
//! use tokio::io::AsyncWriteExt as _;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let carrier = UdpCarrier::open(&UdpConfig::new("192.0.2.1:4000".parse()?, "192.0.2.2:4000".parse()?))?;
//! let stack = Stack::start(carrier, StackConfig::default())?;
//! let mut stream = stack.connect("192.0.2.2:80".parse()?).await?;
//! stream.write_all(b"hello").await?;
//! stream.shutdown().await?;
//! stack.close(std::time::Duration::from_secs(5)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`error_delay_box`] runs the simulator's link between two interfaces.
//!
//! Linux only. The system calls without a safe binding are in one small module, `sys`.
#![deny(unsafe_code)]

mod capture;
pub mod carrier;
mod clock;
mod error;
pub mod error_delay_box;
mod interface;
mod namespace;
pub mod packet_socket;

mod prefix;
pub mod probe;
mod stack;
#[allow(unsafe_code)]
mod sys;

pub use capture::{CaptureFile, LogFile};
pub use carrier::{
    Arrival, Carrier, EthernetCarrier, EthernetConfig, TunCarrier, TunConfig, UdpCarrier, UdpConfig,
};
pub use clock::Clock;
pub use error::NetError;
pub use interface::Interface;
pub use namespace::Namespace;
pub use prefix::{Prefix, PrefixError};
pub use stack::{Accepted, Stack, StackConfig, TcpListener, TcpStream};
