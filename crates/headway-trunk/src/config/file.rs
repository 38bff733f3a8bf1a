//! The TOML file, key by key.

use std::net::SocketAddr;
use std::path::PathBuf;

use headway_wire::Dscp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Endpoint, socket_address};

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
    /// The modem at this end of a link: the tunnel goes over its frames, and not over UDP. There is one peer then, at the other
    /// end.
    pub modem: Option<ModemTable>,
    /// A device into which packets of hosts are routed; without it, packets of peers are not taken.
    pub tun: Option<TunConfig>,
}

/// This gateway.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GatewayConfig {
    /// The file with its secret key, readable by its owner only; a relative path begins at the configuration's folder.
    pub key_file: PathBuf,
    /// The UDP address and port of the tunnel. Peers that know it begin; port 0 is any. Not with `[modem]`.
    #[serde(default = "any_address", deserialize_with = "socket_address::deserialize")]
    pub listen: SocketAddr,
    /// The longest IP packet on the link, in bytes; not with `[modem]`.
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
    /// for that of the host whose stream is inside. Not with `[modem]`, whose frames have none.
    #[serde(default = "default_dscp")]
    pub dscp: String,
    /// A Unix socket at which `headway trunk status` can ask; none if left out. The gateway makes it and removes it: nothing
    /// else may be at its path.
    pub status_socket: Option<PathBuf>,
    /// A file in which the rates that the links to peers carried are kept across restarts, such as
    /// `/var/lib/headway/rates.toml`; none if left out. For ten minutes a session of a peer without `link-rate` starts from its.
    pub state_file: Option<PathBuf>,
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

/// The modem at this end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModemTable {
    /// Its frames in datagrams: where received ones come, and the socket of its program, each an address with a port or
    /// `unix:PATH`; a relative path begins at the configuration's folder.
    pub frames: Option<[String; 2]>,
    /// A TNC that speaks KISS: `HOST:PORT` or `DEVICE:SPEED`.
    pub kiss: Option<String>,
    /// With `kiss`, the station at this end, such as `N0CALL-1`.
    pub callsign: Option<String>,
    /// With `kiss`, the station at the other end.
    pub peer_callsign: Option<String>,
    /// A serial line without a frame check: `DEVICE:SPEED`, such as `/dev/ttyUSB0:57600`.
    pub serial: Option<String>,
    /// Wi-Fi cards in monitor mode, such as `["wlan0", "wlan1"]`: all receive, and the first that is there sends.
    pub monitor: Option<Vec<String>>,
    /// With `monitor`, the rate at which is sent, one of 802.11a, b or g, such as `24mbit`; the driver's choice if left out.
    pub wifi_rate: Option<String>,
    /// With `kiss` or `serial`, how long nothing is sent after something was received (half duplex), such as `300ms`.
    pub turnaround: Option<String>,
    /// The longest frame, in bytes; 255 with `kiss`, 1472 with `monitor` and 1500 otherwise if left out.
    pub mtu: Option<u16>,
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
    /// Its UDP address or name, and port; without it, it begins. A link-local address has its interface with it:
    /// `[fe80::1%eth0]:4433`. A name is looked up again when the peer does not answer.
    #[schemars(with = "Option<String>")]
    pub endpoint: Option<Endpoint>,
    /// The longest time without a packet to it, so that a NAT keeps its mapping, such as `25s`.
    pub keep_alive: Option<String>,
    /// What the link to it carries, headers included, such as `10mbit`, if that is known: the first session starts from it, if
    /// the link turns out to carry it, and the status says what share of what is possible is used.
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
    /// Tells a client that it is connected as soon as it has said where to, so that what it says goes a round trip sooner. A
    /// destination that is not reached is then a connection that is reset, and not a SOCKS error.
    #[serde(default)]
    pub fast_open: bool,
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

pub(super) fn any_address() -> SocketAddr {
    ([0, 0, 0, 0], 0).into()
}

pub(super) fn default_dscp() -> String {
    Dscp::DEFAULT.to_string()
}

pub(super) fn default_mtu() -> u16 {
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
