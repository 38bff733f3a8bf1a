//! The configuration of a gateway: its TOML file, what that and the files that it names say, and what of it can be
//! changed while the gateway runs.

mod endpoint;
mod file;
mod listeners;
mod misplaced;
mod modem;
mod networks;
mod policy;
mod private_file;
mod redirection;
mod reload;
mod remarks;
mod settings;
mod socket_address;

pub use endpoint::{Endpoint, EndpointError};
pub use file::{
    Config, ForwardConfig, GatewayConfig, LogLevel, ModemTable, PeerConfig, SocksConfig, TransparentConfig,
    schema,
};
pub(crate) use modem::Modem;
pub(crate) use networks::Networks;
pub(crate) use policy::Destinations;
use redirection::is_interface;
pub(crate) use redirection::{RedirectionRule, Routing, redirection_rules};
pub use reload::Reloaded;
pub(crate) use reload::fixed_keys;
pub(crate) use settings::{Peer, Rules, Settings, TunSettings};
