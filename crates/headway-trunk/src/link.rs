//! What the tunnel goes over: UDP, or the frames of a modem.

use std::net::{IpAddr, SocketAddr};

use headway_net::{Carrier, SealedFramesCarrier, TunnelCarrier, TunnelConfig, TunnelMonitor};
use headway_trunk_proto::{Tunnel, TunnelConfig as TunnelSettings};

use crate::config::Settings;
use crate::{Config, TrunkError};

/// An open link.
pub(crate) struct Link {
    pub(crate) carrier: Box<dyn Carrier>,
    /// The UDP address; `None` over a modem.
    pub(crate) listen: Option<SocketAddr>,
    /// The longest packet or frame.
    pub(crate) mtu: u16,
    pub(crate) monitor: TunnelMonitor,
    pub(crate) addresses: Vec<IpAddr>,
}

impl Link {
    /// Opens the link of a configuration.
    pub(crate) fn open(
        config: &Config,
        settings: &Settings,
        mut tunnel: TunnelSettings,
    ) -> Result<Self, TrunkError> {
        if let Some(modem) = &settings.modem {
            let carrier = SealedFramesCarrier::open(&modem.link, modem.mtu, tunnel)?;
            return Ok(Self {
                listen: None,
                mtu: modem.mtu,
                monitor: carrier.monitor(),
                addresses: carrier.inner_addresses(),
                carrier: Box::new(carrier),
            });
        }
        let gateway = &config.gateway;
        tunnel.longest = gateway.mtu.saturating_sub(outer_headers(gateway.listen));
        let at = TunnelConfig { local: gateway.listen, mtu: gateway.mtu, dscp: settings.dscp };
        let carrier = TunnelCarrier::open(&at, Tunnel::new(tunnel))?;
        Ok(Self {
            listen: Some(carrier.local()),
            mtu: gateway.mtu,
            monitor: carrier.monitor(),
            addresses: carrier.inner_addresses(),
            carrier: Box::new(carrier),
        })
    }
}

/// Bytes of the IP and UDP headers of a datagram.
fn outer_headers(listen: SocketAddr) -> u16 {
    if listen.is_ipv4() { 20 + 8 } else { 40 + 8 }
}
