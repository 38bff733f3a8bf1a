//! What a configuration says, read and checked with the files that it names.

use std::fs;
use std::path::Path;

use headway_net::{OuterDscp, Prefix};
use headway_trunk_proto::{KeyError, PublicKey, SecretKey};
use headway_units::{Duration, ParseUnitError, Rate, Size};
use headway_wire::UnknownDscp;
use ipnet::IpNet;

use super::{
    Destinations, Endpoint, Modem, Networks,
    file::{Config, PeerConfig, TunConfig, TunTcp},
    is_interface, listeners, misplaced, private_file, redirection_rules, socket_address,
};
use crate::TrunkError;
use crate::request::Destination;
use crate::status::check_socket;

/// A peer's entry, read.
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) tunnel: headway_trunk_proto::PeerConfig,
    /// Where it is; a name is not in `tunnel`.
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) rules: Rules,
    pub(crate) networks: Vec<IpNet>,
}

/// What the operator may change of a peer while the gateway runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Where its streams may go from here.
    pub(crate) destinations: Destinations,
    /// What the link carries, if that is known.
    pub(crate) link_rate: Option<Rate>,
    /// Destinations that are told the client's address.
    pub(crate) proxy_protocol: Vec<IpNet>,
}

/// Everything that the files say, read and checked.
pub(crate) struct Settings {
    pub(crate) secret: SecretKey,
    pub(crate) peers: Vec<Peer>,
    pub(crate) outage: Duration,
    pub(crate) dscp: OuterDscp,
    pub(crate) memory: Option<u64>,
    pub(crate) modem: Option<Modem>,
    pub(crate) tun: Option<Taken>,
}

/// What is taken from a TUN device, and given to it.
pub(crate) struct Taken {
    pub(crate) settings: TunSettings,
    pub(crate) deadline: Duration,
}

/// The TUN device.
pub(crate) struct TunSettings {
    pub(crate) device: String,
    pub(crate) address: Prefix,
    pub(crate) mtu: u16,
    /// Whether connections are taken, rather than their packets carried.
    pub(crate) splits_tcp: bool,
}

impl Config {
    /// Reads a configuration and checks all of it, the files that it names included.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is exposed to others, or a key or value is unknown, missing or wrong.
    pub fn load(path: &Path) -> Result<Self, TrunkError> {
        let text =
            fs::read_to_string(path).map_err(|source| TrunkError::File { path: path.into(), source })?;
        let config = Self::parse(&text, path)?;
        config.check().map_err(|error| error.at(path))?;
        Ok(config)
    }

    /// Reads a configuration from `text`, which came from `path`: relative paths in it begin at its folder.
    ///
    /// # Errors
    ///
    /// It is no TOML, or a key is unknown, missing or of a wrong type.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TrunkError> {
        let mut config: Self =
            toml::from_str(text).map_err(|error| match misplaced::advice(text, error.message()) {
                Some(advice) => TrunkError::of_toml(path, text, &error).with_advice(&advice),
                None => TrunkError::of_toml(path, text, &error),
            })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        config.no_path_is_empty().map_err(|error| error.at(path))?;
        config.gateway.key_file = folder.join(&config.gateway.key_file);
        if let Some(socket) = &mut config.gateway.status_socket {
            *socket = folder.join(&socket);
        }
        if let Some(file) = &mut config.gateway.state_file {
            *file = folder.join(&file);
        }
        if let Some(modem) = &mut config.modem {
            modem.resolve(folder);
        }
        for peer in &mut config.peers {
            if let Some(file) = &mut peer.preshared_key_file {
                *file = folder.join(&file);
            }
        }
        Ok(config)
    }

    /// An empty path would become the configuration's folder.
    fn no_path_is_empty(&self) -> Result<(), TrunkError> {
        let gateway = [
            ("gateway.key-file", Some(&self.gateway.key_file)),
            ("gateway.status-socket", self.gateway.status_socket.as_ref()),
            ("gateway.state-file", self.gateway.state_file.as_ref()),
        ];
        let peers =
            self.peers.iter().map(|peer| ("peer.preshared-key-file", peer.preshared_key_file.as_ref()));
        match gateway
            .into_iter()
            .chain(peers)
            .find(|(_, path)| path.is_some_and(|path| path.as_os_str().is_empty()))
        {
            Some((key, _)) => Err(TrunkError::value(key, "\"\"", "a path")),
            None => Ok(()),
        }
    }

    /// Checks what [`Config::parse`] has read, and the files that it names.
    ///
    /// # Errors
    ///
    /// As for [`Config::load`].
    pub fn check(&self) -> Result<(), TrunkError> {
        self.check_with(self.secret()?)?;
        if let Some(file) = self.gateway.state_file.as_deref().filter(|file| file.is_dir()) {
            let got = format!("{}, which is a folder", file.display());
            return Err(TrunkError::value("gateway.state-file", got, "a file, which the gateway makes"));
        }
        self.gateway.status_socket.as_deref().map_or(Ok(()), check_socket)
    }

    /// As [`Config::check`], with `secret` in place of what its key file contains, before that is written; and without a look at
    /// the status socket.
    ///
    /// # Errors
    ///
    /// As for [`Config::load`].
    pub fn check_with(&self, secret: SecretKey) -> Result<(), TrunkError> {
        self.settings_with(secret).map(drop)
    }

    /// The public key of the gateway.
    ///
    /// # Errors
    ///
    /// Its key file cannot be read, or is exposed to others.
    pub fn public_key(&self) -> Result<PublicKey, TrunkError> {
        Ok(self.secret()?.public())
    }

    fn secret(&self) -> Result<SecretKey, TrunkError> {
        private_file::read("gateway.key-file", &self.gateway.key_file)
    }

    pub(crate) fn settings(&self) -> Result<Settings, TrunkError> {
        self.settings_with(self.secret()?)
    }

    fn settings_with(&self, secret: SecretKey) -> Result<Settings, TrunkError> {
        if socket_address::lacks_interface(self.gateway.listen) {
            let expected = "a link-local address with its interface, such as [fe80::1%eth0]:4433";
            return Err(TrunkError::value("gateway.listen", self.gateway.listen.to_string(), expected));
        }
        if !(576..=9000).contains(&self.gateway.mtu) {
            return Err(TrunkError::value("gateway.mtu", self.gateway.mtu.to_string(), "576 to 9000 bytes"));
        }
        if !(1..=MOST_STREAMS).contains(&self.gateway.max_streams) {
            let expected = format!("1 to {MOST_STREAMS}");
            return Err(TrunkError::value(
                "gateway.max-streams",
                self.gateway.max_streams.to_string(),
                expected,
            ));
        }
        let outage = duration("gateway.outage", &self.gateway.outage)?;
        if outage < Duration::from_secs(1) {
            return Err(TrunkError::value("gateway.outage", &self.gateway.outage, "at least 1s"));
        }
        if self.gateway.metrics.is_none() && !self.gateway.metrics_names.is_empty() {
            let names = self.gateway.metrics_names.join(", ");
            return Err(TrunkError::value("gateway.metrics-names", names, "none without gateway.metrics"));
        }
        if self.gateway.metrics_names.iter().any(|name| name.trim().is_empty()) {
            return Err(TrunkError::value("gateway.metrics-names", "\"\"", "names such as gw1.example.net"));
        }
        let dscp = read_dscp(&self.gateway.dscp)?;
        let memory = self.gateway.memory.as_ref().map(|text| read_memory(text)).transpose()?;
        let mut peers: Vec<Peer> = Vec::new();
        for (place, peer) in (1..).zip(&self.peers) {
            if peer.name.trim().is_empty() {
                let key = format!("[[peer]] {place}: name");
                return Err(TrunkError::value(key, format!("{:?}", peer.name), "a name, such as shore"));
            }
            let read = read_peer(peer)?;
            if self.tun.is_none() && !peer.allowed_ips.is_empty() {
                let expected = "none without [tun], into whose device they are routed";
                let key = format!("peer {}: allowed-ips", peer.name);
                return Err(TrunkError::value(key, peer.allowed_ips.join(", "), expected));
            }
            let key = read.tunnel.key;
            if key == secret.public() {
                let key = format!("peer {}: public-key", peer.name);
                return Err(TrunkError::value(key, "this gateway's own key", "the other gateway's"));
            }
            let twice = peers.iter().any(|other| other.name == read.name || other.tunnel.key == key);
            if twice {
                return Err(TrunkError::value(
                    "[[peer]]",
                    peer.name.clone(),
                    "another name and key for each peer",
                ));
            }
            if let Some(Endpoint::Address(endpoint)) = &peer.endpoint
                && endpoint.is_ipv4() != self.gateway.listen.is_ipv4()
            {
                let key = format!("peer {}: endpoint", peer.name);
                let listen = format!("an address of the family of gateway.listen ({})", self.gateway.listen);
                return Err(TrunkError::value(key, endpoint.to_string(), listen));
            }
            peers.push(read);
        }
        let entries = self.forwards.iter().map(|entry| ("forward", entry.listen, &entry.peer));
        let entries = entries.chain(self.socks.iter().map(|entry| ("socks", entry.listen, &entry.peer)));
        let transparent = self.transparent.iter().map(|entry| ("transparent", entry.listen, &entry.peer));
        for (kind, listen, peer) in entries.chain(transparent) {
            self.peer_of(peer.as_deref(), &format!("{kind} {listen}"))?;
        }
        for forward in &self.forwards {
            Destination::parse(&forward.to).ok_or_else(|| {
                TrunkError::value(
                    "forward.to",
                    &forward.to,
                    "a host and a port, such as 10.0.0.5:22, and no interface: the peer connects",
                )
            })?;
        }
        listeners::check(self)?;
        redirection_rules(self)?;
        let modem = self.read_modem()?;
        let tun = self.tun.as_ref().map(|tun| tun.settings(&peers)).transpose()?;
        Ok(Settings { secret, peers, outage, dscp, memory, modem, tun })
    }

    /// The place of a named peer, or of the only one.
    pub(crate) fn peer_of(&self, name: Option<&str>, entry: &str) -> Result<usize, TrunkError> {
        if self.peers.is_empty() {
            return Err(TrunkError::value("[[peer]]", "none", format!("one, to which {entry} leads")));
        }
        let names = || self.peers.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>().join(", ");
        match name {
            None if self.peers.len() == 1 => Ok(0),
            None => {
                Err(TrunkError::value(format!("{entry}: peer"), "nothing", format!("one of {}", names())))
            }
            Some(name) => self.peers.iter().position(|peer| peer.name == name).ok_or_else(|| {
                TrunkError::value(format!("{entry}: peer"), name, format!("one of {}", names()))
            }),
        }
    }
}

impl TunConfig {
    fn settings(&self, peers: &[Peer]) -> Result<Taken, TrunkError> {
        let address: Prefix = self.address.parse().map_err(|_| {
            TrunkError::value(
                "tun.address",
                &self.address,
                "an address and its prefix length, such as 10.77.0.2/30",
            )
        })?;
        if !address.is_host() || address.first_other().is_none() {
            let expected =
                "an address of a host in a network with a second one for the kernel, such as 10.77.0.2/30";
            return Err(TrunkError::value("tun.address", &self.address, expected));
        }
        if !is_interface(&self.device) {
            let expected = "a name of an interface, of at most 15 letters and digits, such as headway0";
            return Err(TrunkError::value("tun.device", format!("{:?}", self.device), expected));
        }
        if !(1280..=9000).contains(&self.mtu) {
            return Err(TrunkError::value("tun.mtu", self.mtu.to_string(), "1280 to 9000 bytes"));
        }
        if let Some(net) = Networks::new(peers.iter().map(|peer| &peer.networks[..])).shared() {
            return Err(TrunkError::value("peer.allowed-ips", net.to_string(), "each prefix at one peer"));
        }
        let settings = TunSettings {
            device: self.device.clone(),
            address,
            mtu: self.mtu,
            splits_tcp: self.tcp == TunTcp::Split,
        };
        Ok(Taken { settings, deadline: duration("tun.deadline", &self.deadline)? })
    }
}

fn read_peer(peer: &PeerConfig) -> Result<Peer, TrunkError> {
    let of = |key: &str| format!("peer {}: {key}", peer.name);
    let key: PublicKey = peer.public_key.parse().map_err(|_| {
        TrunkError::value(of("public-key"), format!("{:?}", peer.public_key), KeyError::EXPECTED)
    })?;
    let read_preshared = |path| private_file::read(&of("preshared-key-file"), path);
    let preshared = peer.preshared_key_file.as_deref().map(read_preshared).transpose()?;
    let keep_alive = peer.keep_alive.as_deref().map(|text| duration(&of("keep-alive"), text)).transpose()?;
    if keep_alive.is_some_and(|time| time < Duration::from_secs(1)) {
        return Err(TrunkError::value(
            of("keep-alive"),
            peer.keep_alive.clone().unwrap_or_default(),
            "at least 1s",
        ));
    }
    let destinations = Destinations::parse(&peer.destinations)
        .map_err(|got| TrunkError::value(of("destinations"), got, "`any`, or a prefix such as 10.0.0.0/8"))?;
    let read = |text: &String| {
        text.parse().map_err(|error: ParseUnitError| {
            TrunkError::value(of("link-rate"), format!("{text:?}"), error.expected)
        })
    };
    let link_rate: Option<Rate> = peer.link_rate.as_ref().map(read).transpose()?;
    if link_rate.is_some_and(|rate| rate.bits_per_second() == 0) {
        return Err(TrunkError::value(
            of("link-rate"),
            peer.link_rate.clone().unwrap_or_default(),
            "a rate such as 10mbit",
        ));
    }
    let mut tunnel = headway_trunk_proto::PeerConfig::new(key);
    (tunnel.preshared, tunnel.keep_alive) = (preshared, keep_alive);
    if let Some(Endpoint::Address(address)) = peer.endpoint {
        tunnel.endpoint = Some(address);
    }
    let prefixes = |key: &str, texts: &[String]| {
        let prefix = |text: &String| {
            text.parse().map_err(|_| TrunkError::value(of(key), text, "a prefix such as 10.0.0.0/8"))
        };
        texts.iter().map(prefix).collect::<Result<Vec<IpNet>, _>>()
    };
    let networks = prefixes("allowed-ips", &peer.allowed_ips)?;
    let proxy_protocol = prefixes("proxy-protocol", &peer.proxy_protocol)?;
    Ok(Peer {
        name: peer.name.clone(),
        tunnel,
        endpoint: peer.endpoint.clone(),
        rules: Rules { destinations, link_rate, proxy_protocol },
        networks,
    })
}

/// As many connections as a stack has at most.
const MOST_STREAMS: usize = 1 << 20;
/// Less than this is used by a few streams.
const LEAST_MEMORY: u64 = 1 << 20;

fn read_dscp(text: &str) -> Result<OuterDscp, TrunkError> {
    if text == "copy" {
        return Ok(OuterDscp::Copied);
    }
    let expected = format!("`copy`, {}", UnknownDscp::EXPECTED);
    let wrong = |_| TrunkError::value("gateway.dscp", format!("{text:?}"), expected);
    text.parse().map(OuterDscp::Own).map_err(wrong)
}

fn read_memory(text: &str) -> Result<u64, TrunkError> {
    let wrong = |expected: &str| TrunkError::value("gateway.memory", format!("{text:?}"), expected);
    let size: Size = text.parse().map_err(|error: ParseUnitError| wrong(error.expected))?;
    if size.bytes() < LEAST_MEMORY {
        return Err(wrong("at least 1MiB"));
    }
    Ok(size.bytes())
}

pub(super) fn duration(key: &str, text: &str) -> Result<Duration, TrunkError> {
    text.parse().map_err(|error: ParseUnitError| TrunkError::value(key, format!("{text:?}"), error.expected))
}
