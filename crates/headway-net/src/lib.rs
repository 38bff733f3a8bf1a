//! The live side of headway: the TCP of [`headway_tcp`] on real packets, in real time.
//!
//! - A [`Carrier`] receives and sends IP packets and verifies their checksums; it has no TCP state.
//!   [`UdpCarrier`] needs no privilege, [`TunnelCarrier`] is sealed and has authenticated peers, [`TunCarrier`] exchanges packets with this machine's kernel,
//!   [`EthernetCarrier`] with an Ethernet, [`FramesCarrier`] with the program of a modem.
//! - A [`Stack`] is a TCP host on a carrier: one thread drives it, and its [`TcpListener`]s and
//!   [`TcpStream`]s can be used from any task of a `tokio` runtime (or of another one that supports
//!   `tokio`'s traits: its reactor is not needed).
//!
//! Two stacks, each on a UDP socket of the loopback:
//!
//! ```
//! use std::time::Duration;
//!
//! use headway_net::{Stack, StackConfig, UdpCarrier, UdpConfig};
//! use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let any_port = "127.0.0.1:0".parse()?;
//! let carrier = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(any_port, any_port) })?;
//! let (server_at, addresses) = (carrier.local(), vec![carrier.inner_address()]);
//! let server = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() })?;
//! // The TCP port is one of the stack's own, and has nothing to do with the UDP port below it.
//! let address = (server_at.ip(), 80).into();
//! let listener = server.listen(address, 16)?;
//!
//! let carrier = UdpCarrier::open(&UdpConfig::new(any_port, server_at))?;
//! let addresses = vec![carrier.inner_address()];
//! let client = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() })?;
//! let mut stream = client.connect(address).await?;
//! stream.write_all(b"hello").await?;
//! stream.shutdown().await?;
//!
//! let (mut accepted, _) = listener.accept().await?;
//! let mut received = Vec::new();
//! accepted.read_to_end(&mut received).await?;
//! assert_eq!(received, b"hello");
//! accepted.shutdown().await?;
//! client.close(Duration::from_secs(5)).await?;
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
mod isolation;
mod kernel_dscp;
mod kernel_tcp;
mod namespace;
pub mod packet_socket;

mod prefix;
pub mod probe;
mod stack;
#[allow(unsafe_code)]
mod sys;
mod topology;

pub use capture::{CaptureFile, LogFile, QlogFile};
pub use carrier::{
    Arrival, Callsign, Carrier, CarrierProperties, Diverted, DivertingCarrier, EthernetCarrier,
    EthernetConfig, FramesCarrier, FramesConfig, FramesSocket, Housekeeping, LegacyRate, ModemConfig,
    OuterDscp, PacketWriter, SealedFramesCarrier, StreamPlace, TunCarrier, TunConfig, TunnelCarrier,
    TunnelChange, TunnelConfig, TunnelMonitor, UdpCarrier, UdpConfig,
};
pub use clock::Clock;
pub use error::NetError;
pub use interface::Interface;
pub use isolation::{Isolation, IsolationError, isolate};
pub use kernel_dscp::{keep_syns, set_dscp, syn_dscp};
pub use kernel_tcp::KernelTcp;
pub use namespace::Namespace;
pub use prefix::{Prefix, PrefixError};
pub use stack::{Accepted, Incoming, Interceptor, Runs, Stack, StackConfig, TcpListener, TcpStream};
