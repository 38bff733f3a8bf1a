//! The link of a gateway over the frames of a modem.

use std::path::Path;

use headway_net::{FramesSocket, ModemConfig};

use super::file::{Config, ModemTable, any_address, default_dscp, default_mtu};
use crate::TrunkError;

/// The shortest frame that carries a handshake, and segments with some data.
const LEAST_MTU: u16 = 200;

/// The modem, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Modem {
    pub(crate) link: ModemConfig,
    pub(crate) mtu: u16,
}

impl ModemTable {
    /// Relative paths begin at `folder`.
    pub(super) fn resolve(&mut self, folder: &Path) {
        for socket in self.frames.iter_mut().flatten() {
            if let Some(path) = socket.strip_prefix("unix:").filter(|path| !path.is_empty()) {
                *socket = format!("unix:{}", folder.join(path).display());
            }
        }
    }

    fn link(&self) -> Result<ModemConfig, TrunkError> {
        let Some([local, modem]) = &self.frames else {
            return Err(TrunkError::value("[modem]", "none", "frames = [\"LOCAL\", \"MODEM\"]"));
        };
        let socket = |text: &String| {
            text.parse::<FramesSocket>().map_err(|expected| {
                let expected = expected.strip_prefix("expected ").unwrap_or(expected);
                TrunkError::value("modem.frames", format!("{text:?}"), expected)
            })
        };
        Ok(ModemConfig::Datagrams { local: socket(local)?, modem: socket(modem)? })
    }
}

impl Config {
    /// The modem, if the tunnel goes over one.
    pub(super) fn read_modem(&self) -> Result<Option<Modem>, TrunkError> {
        let Some(table) = &self.modem else { return Ok(None) };
        let gateway = &self.gateway;
        for (key, got, is_default) in [
            ("listen", gateway.listen.to_string(), gateway.listen == any_address()),
            ("mtu", gateway.mtu.to_string(), gateway.mtu == default_mtu()),
            ("dscp", gateway.dscp.clone(), gateway.dscp == default_dscp()),
        ] {
            if !is_default {
                let expected = "nothing with [modem], over whose frames the tunnel goes";
                return Err(TrunkError::value(format!("gateway.{key}"), got, expected));
            }
        }
        if let [_, others @ ..] = &self.peers[..]
            && !others.is_empty()
        {
            let got = format!("{} peers", self.peers.len());
            return Err(TrunkError::value("[[peer]]", got, "one with [modem], whose link has two ends"));
        }
        if let Some((peer, endpoint)) = self.peers.iter().find_map(|peer| Some((&peer.name, peer.endpoint?)))
        {
            let expected = "nothing with [modem], at whose other end the peer is";
            return Err(TrunkError::value(format!("peer {peer}: endpoint"), endpoint.to_string(), expected));
        }
        if table.mtu < LEAST_MTU {
            let expected = format!("at least {LEAST_MTU} bytes");
            return Err(TrunkError::value("modem.mtu", table.mtu.to_string(), expected));
        }
        Ok(Some(Modem { link: table.link()?, mtu: table.mtu }))
    }
}
