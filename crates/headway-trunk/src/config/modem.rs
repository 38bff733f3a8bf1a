//! The link of a gateway over the frames of a modem.

use std::path::Path;
use std::str::FromStr;

use headway_net::{ModemConfig, StreamPlace};

use super::file::{Config, ModemTable, any_address, default_dscp, default_mtu};
use super::settings::duration;
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
        let turnaround = self.turnaround.as_deref().map(|text| duration("modem.turnaround", text));
        let turnaround = turnaround.transpose()?.unwrap_or_default();
        let has_stream = self.kiss.is_some() || self.serial.is_some();
        for (key, value, is_of_use, with) in [
            ("callsign", &self.callsign, self.kiss.is_some(), "kiss"),
            ("peer-callsign", &self.peer_callsign, self.kiss.is_some(), "kiss"),
            ("turnaround", &self.turnaround, has_stream, "kiss or serial"),
            ("wifi-rate", &self.wifi_rate, self.monitor.is_some(), "monitor"),
        ] {
            if let Some(value) = value.as_ref().filter(|_| !is_of_use) {
                return Err(TrunkError::value(format!("modem.{key}"), value, format!("{with} with it")));
            }
        }
        match (&self.frames, &self.kiss, &self.serial, &self.monitor) {
            (Some([local, modem]), None, None, None) => Ok(ModemConfig::Datagrams {
                local: read("frames", Some(local))?,
                modem: read("frames", Some(modem))?,
            }),
            (None, Some(place), None, None) => Ok(ModemConfig::Kiss {
                place: read("kiss", Some(place))?,
                callsign: read("callsign", self.callsign.as_ref())?,
                peer: read("peer-callsign", self.peer_callsign.as_ref())?,
                turnaround,
            }),
            (None, None, Some(place), None) => match read("serial", Some(place))? {
                StreamPlace::Serial { device, speed } => {
                    Ok(ModemConfig::Serial { device, speed, turnaround })
                }
                StreamPlace::Tcp(_) => {
                    let expected = "DEVICE:SPEED, such as /dev/ttyUSB0:57600";
                    Err(TrunkError::value("modem.serial", format!("{place:?}"), expected))
                }
            },
            (None, None, None, Some(interfaces)) => Ok(ModemConfig::Monitor {
                interfaces: interfaces.clone(),
                rate: self.wifi_rate.as_ref().map(|rate| read("wifi-rate", Some(rate))).transpose()?,
            }),
            (frames, kiss, serial, monitor) => {
                let given = [
                    ("frames", frames.is_some()),
                    ("kiss", kiss.is_some()),
                    ("serial", serial.is_some()),
                    ("monitor", monitor.is_some()),
                ];
                let given: Vec<&str> = given.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
                let got = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
                Err(TrunkError::value(
                    "[modem]",
                    got,
                    "one of frames = [\"LOCAL\", \"MODEM\"], kiss, serial and monitor = [\"INTERFACE\"]",
                ))
            }
        }
    }
}

fn read<T: FromStr<Err = &'static str>>(key: &str, text: Option<&String>) -> Result<T, TrunkError> {
    let text = text.map_or("", String::as_str);
    text.parse().map_err(|expected: &str| {
        let expected = expected.strip_prefix("expected ").unwrap_or(expected);
        TrunkError::value(format!("modem.{key}"), format!("{text:?}"), expected)
    })
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
        if let Some((peer, endpoint)) =
            self.peers.iter().find_map(|peer| Some((&peer.name, peer.endpoint.as_ref()?)))
        {
            let expected = "nothing with [modem], at whose other end the peer is";
            return Err(TrunkError::value(format!("peer {peer}: endpoint"), endpoint.to_string(), expected));
        }
        let link = table.link()?;
        let mtu = table.mtu.unwrap_or(link.usual_mtu());
        if mtu < LEAST_MTU {
            let expected = format!("at least {LEAST_MTU} bytes");
            return Err(TrunkError::value("modem.mtu", mtu.to_string(), expected));
        }
        Ok(Some(Modem { link, mtu }))
    }
}
