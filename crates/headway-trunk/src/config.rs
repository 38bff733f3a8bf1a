//! The configuration of a gateway: a TOML file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use headway_net::{OuterDscp, Prefix};
use headway_trunk_proto::{KeyError, PublicKey, SecretKey};
use headway_units::{Duration, ParseUnitError, Size};
use headway_wire::{Dscp, UnknownDscp};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::link::Rules;
use crate::networks::Networks;
use crate::policy::Destinations;
use crate::tun::TunSettings;
use crate::{TrunkError, private_file, socket_address, status_socket};

/// The configuration of a gateway.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// This gateway.
    pub gateway: GatewayConfig,
    /// The gateways at the other end of its links.
    #[serde(default, rename = "peer")]
    pub peers: Vec<PeerConfig>,
    /// Local addresses whose connections go to one destination behind a peer.
    #[serde(default, rename = "forward")]
    pub forwards: Vec<ForwardConfig>,
    /// SOCKS5 servers (RFC 1928) whose connections go through a peer.
    #[serde(default, rename = "socks")]
    pub socks: Vec<SocksConfig>,
    /// Connections that the kernel's TPROXY target hands over go to their own destinations through a peer.
    #[serde(default, rename = "transparent")]
    pub transparent: Vec<TransparentConfig>,
    /// A device into which packets of hosts are routed; without it, packets of peers are not taken.
    pub tun: Option<TunConfig>,
}

/// This gateway.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GatewayConfig {
    /// The file with its secret key, readable by its owner only; a relative path begins at the configuration's folder.
    pub key_file: PathBuf,
    /// The UDP address and port of the tunnel. Peers that know it begin; port 0 is any.
    #[serde(default = "any_address", deserialize_with = "socket_address::deserialize")]
    pub listen: SocketAddr,
    /// The longest IP packet on the link, in bytes.
    #[serde(default = "default_mtu")]
    pub mtu: u16,
    /// How long the link may be down before streams fail, such as `10min`.
    #[serde(default = "default_outage")]
    pub outage: String,
    /// The links carry no traffic but this gateway's: what they lose at any rate is damage, also where no damage is
    /// seen. Wrong on a shared path: congestion of others would be taken for damage until the sequential test finds
    /// out.
    #[serde(default)]
    pub own_path: bool,
    /// The DSCP of the tunnel's datagrams: a name (`EF`, `AF11` to `AF43`, `CS0` to `CS7`, `LE`), a number from 0 to 63, or `copy`
    /// for that of the host whose stream is inside.
    #[serde(default = "default_dscp")]
    pub dscp: String,
    /// A Unix socket at which `headway trunk status` can ask; none if left out. The gateway makes it and removes it: nothing
    /// else may be at its path.
    pub status_socket: Option<PathBuf>,
    /// What is logged: `error`, `warn`, `info`, or `debug`, which has every stream.
    #[serde(default)]
    pub log_level: LogLevel,
    /// A TCP address and port at which Prometheus can ask for metrics, such as `127.0.0.1:9464`; none if left out. Who
    /// reaches it can read the names of peers and what they carry.
    #[serde(default, deserialize_with = "socket_address::deserialize_option")]
    pub metrics: Option<SocketAddr>,
    /// Names by which metrics may be asked for, such as `gw1.example.net`. An IP address, `localhost` and the host name of
    /// this machine need not be given. Requests for other names are refused: pages of the web could read the metrics
    /// through browsers that reach them (DNS rebinding).
    #[serde(default)]
    pub metrics_names: Vec<String>,
    /// What the buffers of all streams may use, such as `256MiB`: beyond that, new streams are refused, until others have
    /// ended. Not limited if left out.
    pub memory: Option<String>,
    /// Streams at most that are open, of all peers; as many may wait for their destination. Connections that are opened ahead of
    /// need do not count.
    #[serde(default = "default_streams")]
    pub max_streams: usize,
}

/// What is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// What keeps the gateway from working.
    Error,
    /// And what limits it.
    Warn,
    /// And what happens to its peers.
    #[default]
    Info,
    /// And every stream.
    Debug,
    /// And every packet that is not sent.
    Trace,
}

/// A gateway at the other end of a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PeerConfig {
    /// Its name, in this file and in messages; not empty.
    pub name: String,
    /// Its public key, as `headway trunk pubkey` prints it.
    pub public_key: String,
    /// A file with a secret that both gateways have, readable by its owner only.
    pub preshared_key_file: Option<PathBuf>,
    /// Its UDP address and port; without it, it begins. A link-local address has its interface with it: `[fe80::1%eth0]:4433`.
    #[serde(default, deserialize_with = "socket_address::deserialize_option")]
    pub endpoint: Option<SocketAddr>,
    /// The longest time without a packet to it, so that a NAT keeps its mapping, such as `25s`.
    pub keep_alive: Option<String>,
    /// What the link to it carries, headers included, such as `10mbit`, if that is known: then the status says what share
    /// of what is possible is used.
    pub link_rate: Option<String>,
    /// Where its streams may go from here: prefixes such as `10.0.0.0/8`, or `any` for everything but addresses of this
    /// machine (loopback, link-local) and multicast. Empty: nowhere.
    #[serde(default)]
    pub destinations: Vec<String>,
    /// Of these destinations, as prefixes, those whose servers understand the PROXY protocol, version 2: each connection
    /// begins with the address of the host that it is made for.
    #[serde(default)]
    pub proxy_protocol: Vec<String>,
    /// The prefixes that are reached through it, such as `10.0.0.0/8`: they are routed into the device of `[tun]`, and
    /// packets from this peer must come from them. Refused without `[tun]`, where they would have no effect.
    #[serde(default)]
    pub allowed_ips: Vec<String>,
}

/// A local address whose connections go to one destination behind a peer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ForwardConfig {
    /// The local TCP address and port.
    #[serde(deserialize_with = "socket_address::deserialize")]
    pub listen: SocketAddr,
    /// The peer's name; may be left out if there is one.
    pub peer: Option<String>,
    /// The destination, as the peer sees it: an address or a name, and a port.
    pub to: String,
}

/// A SOCKS5 server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SocksConfig {
    /// The local TCP address and port. It asks for no password: only who may use the trunk should reach it.
    #[serde(deserialize_with = "socket_address::deserialize")]
    pub listen: SocketAddr,
    /// The peer's name; may be left out if there is one.
    pub peer: Option<String>,
}

/// A listener for connections that TPROXY hands over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TransparentConfig {
    /// The local TCP address and port that the TPROXY rule names.
    #[serde(deserialize_with = "socket_address::deserialize")]
    pub listen: SocketAddr,
    /// Interfaces whose TCP connections it takes: with them, the gateway makes the rules of nftables and of routing
    /// itself, and removes them at its end. Needs root or `CAP_NET_ADMIN`.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// With `interfaces`: the destinations whose connections it takes, as prefixes; all but this machine's own addresses if
    /// left out.
    #[serde(default)]
    pub to: Vec<String>,
    /// With `interfaces`: the mark of packets that are redirected.
    #[serde(default = "default_mark")]
    pub mark: u32,
    /// With `interfaces`: the number of the routing table that delivers them here.
    #[serde(default = "default_mark")]
    pub table: u32,
    /// The peer's name; may be left out if there is one.
    pub peer: Option<String>,
}

/// A device into which packets of hosts are routed. It is made with the gateway and removed with it; needs
/// `CAP_NET_ADMIN`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TunConfig {
    /// Its name.
    #[serde(default = "default_device")]
    pub device: String,
    /// An address of the gateway in a network of its own, such as `10.77.0.2/30`; the kernel gets the first other one.
    pub address: String,
    /// Its MTU, in bytes.
    #[serde(default = "default_mtu")]
    pub mtu: u16,
    /// How TCP is carried.
    #[serde(default)]
    pub tcp: TunTcp,
    /// Datagrams that are later than the fastest by more than this are not delivered, such as `2s`.
    #[serde(default = "default_deadline")]
    pub deadline: String,
}

/// How TCP crosses the trunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TunTcp {
    /// Connections are taken here, and made by the far gateway.
    #[default]
    Split,
    /// Their packets cross as they are, in order. TCP inside TCP: slower, and for comparison.
    Packets,
}

fn default_device() -> String {
    "headway0".into()
}

fn default_deadline() -> String {
    "2s".into()
}

fn default_mark() -> u32 {
    18_519
}

fn any_address() -> SocketAddr {
    ([0, 0, 0, 0], 0).into()
}

fn default_dscp() -> String {
    Dscp::DEFAULT.to_string()
}

fn default_mtu() -> u16 {
    1500
}

fn default_outage() -> String {
    "10min".into()
}

fn default_streams() -> usize {
    4096
}

/// The JSON schema of configurations.
pub fn schema() -> String {
    // A schema is always JSON.
    let text = serde_json::to_string_pretty(&schemars::schema_for!(Config)).unwrap_or_default();
    text + "\n"
}

/// A peer's entry, read.
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) tunnel: headway_trunk_proto::PeerConfig,
    pub(crate) rules: Rules,
    pub(crate) networks: Vec<IpNet>,
}

/// Everything that the files say, read and checked.
pub(crate) struct Settings {
    pub(crate) secret: SecretKey,
    pub(crate) peers: Vec<Peer>,
    pub(crate) outage: Duration,
    pub(crate) dscp: OuterDscp,
    pub(crate) memory: Option<u64>,
    pub(crate) tun: Option<Taken>,
}

/// What is taken from a TUN device, and given to it.
pub(crate) struct Taken {
    pub(crate) settings: TunSettings,
    pub(crate) deadline: Duration,
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
        let invalid = |source| TrunkError::Invalid { path: path.into(), source: Box::new(source) };
        config.check().map_err(invalid)?;
        Ok(config)
    }

    /// Reads a configuration from `text`, which came from `path`: relative paths in it begin at its folder.
    ///
    /// # Errors
    ///
    /// It is no TOML, or a key is unknown, missing or of a wrong type.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TrunkError> {
        let mut config: Self =
            toml::from_str(text).map_err(|error| TrunkError::of_toml(path, text, &error))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        config.gateway.key_file = folder.join(&config.gateway.key_file);
        if let Some(socket) = &mut config.gateway.status_socket {
            *socket = folder.join(&socket);
        }
        for peer in &mut config.peers {
            if let Some(file) = &mut peer.preshared_key_file {
                *file = folder.join(&file);
            }
        }
        Ok(config)
    }

    /// Checks what [`Config::parse`] has read, and the files that it names.
    ///
    /// # Errors
    ///
    /// As for [`Config::load`].
    pub fn check(&self) -> Result<(), TrunkError> {
        self.settings()?;
        self.gateway.status_socket.as_deref().map_or(Ok(()), status_socket::check)
    }

    pub(crate) fn settings(&self) -> Result<Settings, TrunkError> {
        let secret: SecretKey = private_file::read("gateway.key-file", &self.gateway.key_file)?;
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
        let dscp = read_dscp(&self.gateway.dscp)?;
        let memory = self.gateway.memory.as_ref().map(|text| read_memory(text)).transpose()?;
        if self.peers.is_empty() {
            return Err(TrunkError::value("[[peer]]", "none", "at least one"));
        }
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
            if read
                .tunnel
                .endpoint
                .is_some_and(|endpoint| endpoint.is_ipv4() != self.gateway.listen.is_ipv4())
            {
                let key = format!("peer {}: endpoint", peer.name);
                let listen = format!("an address of the family of gateway.listen ({})", self.gateway.listen);
                return Err(TrunkError::value(
                    key,
                    peer.endpoint.map_or_else(String::new, |e| e.to_string()),
                    listen,
                ));
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
            crate::request::Destination::parse(&forward.to).ok_or_else(|| {
                TrunkError::value(
                    "forward.to",
                    &forward.to,
                    "a host and a port, such as 10.0.0.5:22, and no interface: the peer connects",
                )
            })?;
        }
        crate::listeners::check(self)?;
        crate::redirection::check(self)?;
        let tun = self.tun.as_ref().map(|tun| tun.settings(&peers)).transpose()?;
        Ok(Settings { secret, peers, outage, dscp, memory, tun })
    }

    /// The place of a named peer, or of the only one.
    pub(crate) fn peer_of(&self, name: Option<&str>, entry: &str) -> Result<usize, TrunkError> {
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
    let link_rate = peer.link_rate.as_ref().map(read).transpose()?;
    let mut tunnel = headway_trunk_proto::PeerConfig::new(key);
    (tunnel.preshared, tunnel.endpoint, tunnel.keep_alive) = (preshared, peer.endpoint, keep_alive);
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

fn duration(key: &str, text: &str) -> Result<Duration, TrunkError> {
    text.parse().map_err(|error: ParseUnitError| TrunkError::value(key, format!("{text:?}"), error.expected))
}
