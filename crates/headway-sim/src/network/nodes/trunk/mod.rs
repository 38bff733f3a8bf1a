//! Trunk gateways: two nodes with the lossy link between them, each with hosts behind it.
//!
//! In packet mode ([`packet_mode`]) they carry IP packets in one TCP connection, as the papers' TCP Trunk. In split
//! mode ([`split_mode`]) they end the hosts' connections and carry the bytes of each in a connection of their own.
//!
//! The first port of a gateway leads to its hosts, the second to the other gateway.

mod end;
mod gateway;
mod packet_mode;
mod preface;
mod split_mode;

pub(in crate::network) use gateway::Gateway;
pub use gateway::{GatewayConfig, GatewayStatistics, PacketGatewayConfig, SplitGatewayConfig, SplitRoute};
pub(in crate::network) use packet_mode::PacketGateway;
pub(in crate::network) use split_mode::SplitGateway;
