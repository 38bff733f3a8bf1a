//! Options of the carrier, the address and the TCP.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, value_parser};
use headway_command::output::{LogWriter, create};
use headway_command::{BadOption, Named, OutputError, require_distinct};
use headway_net::{
    Carrier, EthernetCarrier, EthernetConfig, FramesCarrier, FramesConfig, LogFile, ModemConfig, Prefix,
    QlogFile, Stack, StackConfig, StreamPlace, TunCarrier, TunConfig, UdpCarrier, UdpConfig,
};
use headway_sim::race::{
    Feature, FeatureOverrides, ProfileName, TcpSender, congestion_name, parse_congestion,
};
use headway_tcp::congestion::Algorithm;
use headway_tcp::{HackMode, KeepAlive, Profile};
use headway_trace::{EventLog, Qlog, QlogClock, QlogHeader, VantagePoint};
use headway_units::{Duration, Size};
use headway_wire::{Dscp, IpHeader};

use super::captures::open_capture;
use super::error::TransportError;
use super::transport::{Reach, Transport};

/// Options of headway's own TCP and its carriers.
const NOT_OF_THE_KERNEL: [&str; 14] = [
    "address",
    "peer_address",
    "mtu",
    "dscp",
    "ttl",
    "variant",
    "cc",
    "profile",
    "with",
    "without",
    "window",
    "pcap",
    "events",
    "qlog",
];

/// The network options of every live command.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkArguments {
    /// A TUN device between headway's TCP and this machine's kernel; created if it does not exist
    #[arg(long, value_name = "DEVICE", group = "carrier", requires = "address")]
    tun: Option<String>,
    /// Coalesce segments between the kernel and headway's TCP: faster, but without HACK, and damage is
    /// hidden
    #[arg(long, action = ArgAction::SetTrue)]
    offload: bool,
    /// TCP segments in UDP datagrams without checksum, from LOCAL to PEER (`any`: any peer); needs no
    /// privilege
    #[arg(long, num_args = 2, value_names = ["LOCAL", "PEER"], group = "carrier")]
    udp: Option<Vec<String>>,
    /// An Ethernet interface, with an address that the kernel does not have
    #[arg(long, value_name = "INTERFACE", group = "carrier", requires = "address")]
    packet: Option<String>,
    /// The frames of a modem, damaged ones too, through datagrams of its program (docs/live.md): from LOCAL to MODEM, each
    /// an address with a port or unix:PATH
    #[arg(long, num_args = 2, value_names = ["LOCAL", "MODEM"], group = "carrier", requires_all = ["address", "peer_address"])]
    frames: Option<Vec<String>>,
    /// A TNC that speaks KISS, over TCP or at a serial device; damaged frames too, where it hands them up (docs/live.md)
    #[arg(long, value_name = "HOST:PORT|DEVICE:SPEED", group = "carrier", requires_all = ["callsign", "peer_callsign", "address", "peer_address"])]
    kiss: Option<String>,
    /// With --kiss, the station at this end, such as N0CALL-1
    #[arg(long, value_name = "CALLSIGN")]
    callsign: Option<String>,
    /// With --kiss, the station at the other end
    #[arg(long, value_name = "CALLSIGN")]
    peer_callsign: Option<String>,
    /// A serial line without a frame check, such as that of a radio module (docs/live.md)
    #[arg(long, value_name = "DEVICE:SPEED", group = "carrier", requires_all = ["address", "peer_address"])]
    serial: Option<String>,
    /// Wi-Fi cards in monitor mode, such as wlan0 or wlan0,wlan1, which hand up damaged frames (docs/live.md): all receive, and
    /// the first that is there sends
    #[arg(long, value_name = "INTERFACE,...", value_delimiter = ',', group = "carrier", requires_all = ["address", "peer_address"])]
    monitor: Option<Vec<String>>,
    /// With --monitor, the rate at which is sent, one of 802.11a, b or g such as 24mbit [default: the driver's choice, as a rule
    /// its lowest]
    #[arg(long, value_name = "RATE")]
    wifi_rate: Option<String>,
    /// With --kiss or --serial, half duplex: send nothing for this long after something was received [default: 0s]
    #[arg(long, value_name = "TIME")]
    turnaround: Option<Duration>,
    /// The kernel's TCP, for comparison
    #[arg(long, action = ArgAction::SetTrue, group = "carrier", conflicts_with_all = NOT_OF_THE_KERNEL)]
    kernel: bool,
    /// The local address with its prefix length, such as 10.77.2.2/24; with --udp and the frames of
    /// a modem, a name for this end, at this end only (except with --monitor) [default with --udp: the outer address]
    #[arg(long, value_name = "ADDRESS/LEN")]
    address: Option<String>,
    /// With --tun, the kernel's address [default: the first other address of the network]; with --udp and the
    /// frames of a modem, a name for the peer, at this end only (except with --monitor) [default with --udp: the outer address]
    #[arg(long, value_name = "ADDRESS")]
    peer_address: Option<IpAddr>,
    /// With --packet, the gateway to other networks
    #[arg(long, value_name = "ADDRESS")]
    gateway: Option<IpAddr>,
    /// With --packet, make the card deliver frames with a wrong check sequence while the command runs
    /// (`ethtool -K INTERFACE rx-all on`)
    #[arg(long, action = ArgAction::SetTrue)]
    rx_all: bool,
    /// With --tun or --packet, the only host that packets come from: those whose IP header is corrupted are
    /// counted as its damaged packets
    #[arg(long, value_name = "ADDRESS")]
    only_peer: Option<IpAddr>,
    /// MTU [default: the interface's; with --udp 1500, all headers included; of a
    /// modem the longest frame, 1500, with --kiss 255, with --monitor 1472]
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u16>,
    /// The DSCP of all packets sent, by name (EF, LE, VOICE-ADMIT, CS0 to CS7, AF11 to AF43) or number (0 to 63)
    #[arg(long, value_name = "CODEPOINT", default_value_t = Dscp::DEFAULT)]
    dscp: Dscp,
    /// The hop limit (IPv6) or time to live (IPv4) of all packets sent
    #[arg(long, value_name = "HOPS", default_value_t = IpHeader::HOP_LIMIT, value_parser = value_parser!(u8).range(1..))]
    ttl: u8,
    /// Give up when the peer has not answered for this long: while connecting [default: 20s], while idle [default:
    /// 2min], and with data outstanding [default: 10 retransmissions]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Duration>,

    /// The sender: headway, modern, modern+hack, or one of the papers' newreno, sack, hack, hack+sack,
    /// xhack, xhack+sack; optionally with a congestion controller, as in modern:bbr
    #[arg(long, value_name = "NAME", default_value = "headway", help_heading = "TCP")]
    variant: TcpSender,
    /// The congestion controller, if --variant has none [default: that of the variant]
    #[arg(long, value_name = Algorithm::CHOICE, value_parser = parse_congestion, help_heading = "TCP")]
    cc: Option<Algorithm>,
    /// The base profile of the papers' senders; headway's have their own
    #[arg(long, value_name = "linux22|standard|modern", default_value = "standard", help_heading = "TCP")]
    profile: ProfileName,
    /// Features of the modern sender to enable (see `headway race --help`)
    #[arg(long, value_delimiter = ',', value_name = "FEATURE,...", help_heading = "TCP")]
    with: Vec<Feature>,
    /// Features of the modern sender to disable
    #[arg(long, value_delimiter = ',', value_name = "FEATURE,...", help_heading = "TCP")]
    without: Vec<Feature>,
    /// The maximum receive window [default: the profile's]
    #[arg(long, value_name = "SIZE", help_heading = "TCP")]
    window: Option<Size>,

    /// Write every packet to this file (pcapng)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pcap: Option<PathBuf>,
    /// Write every event to this file, as lines of JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    events: Option<PathBuf>,
    /// Write every event to this file as qlog, with the metrics of loss recovery (JSON text sequence, .sqlog)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    qlog: Option<PathBuf>,
    /// Print events of connections on standard error; twice: of every segment
    #[arg(long, short, action = ArgAction::Count, help_heading = "Output")]
    verbose: u8,
}

/// All headers, and some data.
const LEAST_MTU: u16 = 128;
/// The same of the frames of a modem, which have headers twice.
const LEAST_FRAME: u16 = 160;
/// How long a connection may take to open.
const CONNECT_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);
/// The silence after which an open connection is given up, if nothing is outstanding.
const SILENCE_LIMIT: Duration = Duration::from_secs(120);
/// The silence before the first probe.
const IDLE: Duration = Duration::from_secs(25);
const PROBES: u32 = 4;
/// Unanswered retransmissions of data: more than three minutes.
const RETRIES: u32 = 10;

fn bad(option: &'static str, value: impl Into<String>, expected: impl ToString) -> TransportError {
    BadOption::new(option, value, expected).into()
}

impl NetworkArguments {
    /// Starts the transport of the options.
    pub fn open(&self) -> Result<Transport, TransportError> {
        self.open_through(|carrier| carrier)
    }

    /// The same, with a wrapper around the carrier.
    pub fn open_through(
        &self,
        wrap: impl FnOnce(Box<dyn Carrier>) -> Box<dyn Carrier>,
    ) -> Result<Transport, TransportError> {
        start_log(self.verbose);
        if let Some(peer) = self.only_peer.filter(|_| self.udp.is_some() || self.has_modem() || self.kernel) {
            const EXPECTED: &str = "expected --tun or --packet with --only-peer: otherwise this machine's kernel \
                                    drops packets whose IP header is corrupted";
            return Err(bad("--only-peer", peer.to_string(), EXPECTED));
        }
        self.check_carrier()?;
        require_distinct([], self.written())?;
        if self.kernel {
            return Ok(Transport::of_kernel(self.connect_limit()?));
        }
        if let Some(mtu) = self.mtu.filter(|mtu| *mtu < LEAST_MTU) {
            return Err(bad("--mtu", mtu.to_string(), format!("expected at least {LEAST_MTU}")));
        }
        let limit = self.connect_limit()?;
        let mut reach = Reach::Any;
        let profile = self.tcp()?;
        let has_other = self.packet.is_some() || self.has_modem();
        let of_environment = || if has_other { None } else { udp_of_environment() };
        let udp = self.udp.clone().or_else(of_environment);
        let carriers = (&self.tun, &udp, &self.packet, self.modem()?);
        let (carrier, addresses): (Box<dyn Carrier>, Vec<IpAddr>) = match carriers {
            (Some(device), ..) => {
                let address = self.prefix("--tun")?;
                if self.offload && profile.hack != HackMode::Off {
                    const EXPECTED: &str =
                        "expected a --variant without HACK, such as modern, with --offload";
                    return Err(bad("--variant", self.variant.to_string(), EXPECTED));
                }
                let config = TunConfig {
                    device: device.clone(),
                    address,
                    kernel: self.peer_address,
                    mtu: self.mtu,
                    offload: self.offload,
                    only_peer: self.only_peer,
                };
                (Box::new(TunCarrier::open(&config)?), vec![address.address()])
            }
            (_, Some(ends), ..) => {
                let config = self.udp_config(ends)?;
                let peer = config.peer.map(|peer| config.inner_peer.unwrap_or(peer.ip()));
                reach = peer.map_or(Reach::None, Reach::Only);
                let carrier = UdpCarrier::open(&config)?;
                let address = carrier.inner_address();
                (Box::new(carrier), vec![address])
            }
            (_, _, Some(interface), _) => {
                let address = self.prefix("--packet")?;
                let config = EthernetConfig {
                    interface: interface.clone(),
                    address,
                    gateway: self.gateway,
                    mtu: self.mtu,
                    rx_all: self.rx_all,
                    neighbours: Vec::new(),
                    only_peer: self.only_peer,
                };
                (Box::new(EthernetCarrier::open(&config)?), vec![address.address()])
            }
            (.., Some(modem)) => {
                let config = self.frames_config(modem)?;
                reach = Reach::Only(config.peer);
                (Box::new(FramesCarrier::open(&config)?), vec![config.address])
            }
            _ => return Err(TransportError::NoCarrier),
        };
        let carrier = wrap(carrier);
        let capture = self.pcap.as_deref().map(|path| open_capture(path, &[&carrier.name()])).transpose()?;
        let log = self.events.as_deref().map(open_log).transpose()?;
        let qlog = self.qlog.as_deref().map(|path| open_qlog(path, self.label())).transpose()?;
        let config =
            StackConfig { addresses, profile: Some(profile), capture, log, qlog, ..StackConfig::default() };
        Ok(Transport::of_stack(Stack::start(carrier, config)?, reach, limit))
    }

    /// The files that are written.
    pub fn written(&self) -> [Named<'_>; 3] {
        [
            ("--pcap", self.pcap.as_deref()),
            ("--events", self.events.as_deref()),
            ("--qlog", self.qlog.as_deref()),
        ]
    }

    /// Whether the options of one carrier are given with it. The parser does not ask for a carrier where another is given.
    fn check_carrier(&self) -> Result<(), TransportError> {
        let of_packet = "expected --packet INTERFACE with it";
        if let Some(gateway) = self.gateway.filter(|_| self.packet.is_none()) {
            return Err(bad("--gateway", gateway.to_string(), of_packet));
        }
        if self.rx_all && self.packet.is_none() {
            return Err(bad("--rx-all", "", of_packet));
        }
        if self.offload && self.tun.is_none() {
            return Err(bad("--offload", "", "expected --tun DEVICE with it"));
        }
        for (option, value) in [("--callsign", &self.callsign), ("--peer-callsign", &self.peer_callsign)] {
            if let Some(value) = value.as_ref().filter(|_| self.kiss.is_none()) {
                return Err(bad(option, value, "expected --kiss with it"));
            }
        }
        if let Some(rate) = self.wifi_rate.as_ref().filter(|_| self.monitor.is_none()) {
            return Err(bad("--wifi-rate", rate, "expected --monitor with it"));
        }
        if let Some(time) = self.turnaround.filter(|_| self.kiss.is_none() && self.serial.is_none()) {
            return Err(bad("--turnaround", time.to_string(), "expected --kiss or --serial with it"));
        }
        Ok(())
    }

    /// How long data may stay unacknowledged: no longer than `--timeout` says.
    pub fn stall(&self, limit: std::time::Duration) -> std::time::Duration {
        let timeout = self.timeout.map(|timeout| std::time::Duration::from_nanos(timeout.as_nanos()));
        timeout.map_or(limit, |timeout| timeout.min(limit))
    }

    fn connect_limit(&self) -> Result<std::time::Duration, TransportError> {
        match self.timeout {
            None => Ok(CONNECT_LIMIT),
            Some(limit) if limit.as_millis() < 100 => {
                Err(bad("--timeout", limit.to_string(), "expected at least 100ms"))
            }
            Some(limit) => Ok(std::time::Duration::from_nanos(limit.as_nanos())),
        }
    }

    /// Whether more is to be said than usual.
    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// The name of the TCP, for results.
    pub fn label(&self) -> String {
        match (self.kernel, self.cc) {
            (true, _) => "kernel".into(),
            (false, Some(cc)) if self.variant.congestion.is_none() => {
                TcpSender { congestion: Some(cc), ..self.variant }.to_string()
            }
            (false, _) => self.variant.to_string(),
        }
    }

    /// What a peer over UDP gives to reach this end, if there is only one way to say it.
    pub fn words_of_peer(&self) -> Option<String> {
        let [local, peer] = self.udp.as_deref()? else { return None };
        let at: SocketAddr = local.parse().ok()?;
        // With other names for the ends the peer needs them too.
        if at.ip().is_unspecified() || at.port() == 0 || self.address.is_some() {
            return None;
        }
        let any = if at.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        Some(format!("--udp {} {local}", if peer == "any" { any } else { peer.as_str() }))
    }

    fn prefix(&self, option: &'static str) -> Result<Prefix, TransportError> {
        let text = self.address.as_deref().unwrap_or_default();
        let prefix: Prefix =
            text.parse().map_err(|error| bad("--address", text, format!("{error} (for {option})")))?;
        if !prefix.is_host() {
            const EXPECTED: &str = "expected the address of a host: this is the network's own";
            return Err(bad("--address", text, EXPECTED));
        }
        Ok(prefix)
    }

    fn udp_config(&self, ends: &[String]) -> Result<UdpConfig, TransportError> {
        let [local, peer] = ends else { return Err(bad("--udp", ends.join(" "), "expected LOCAL PEER")) };
        const EXPECTED: &str = "expected an address with a port, such as 192.0.2.1:4000";
        let local: SocketAddr = local.parse().map_err(|_| bad("--udp", local, EXPECTED))?;
        let peer = match peer.as_str() {
            "any" => None,
            text => Some(text.parse().map_err(|_| bad("--udp", text, format!("{EXPECTED}, or any")))?),
        };
        Ok(UdpConfig {
            local,
            peer,
            inner_local: self.name_of_this_end()?,
            inner_peer: self.peer_address,
            mtu: self.mtu.unwrap_or(1500),
        })
    }

    /// `--address`, of which the prefix length may be omitted, and is ignored.
    fn name_of_this_end(&self) -> Result<Option<IpAddr>, TransportError> {
        let read = |text: &str| {
            let address = text.split_once('/').map_or(text, |(address, _)| address);
            address.parse().map_err(|_| bad("--address", text, "expected an address, such as 10.77.2.2"))
        };
        self.address.as_deref().map(read).transpose()
    }

    fn has_modem(&self) -> bool {
        self.frames.is_some() || self.kiss.is_some() || self.serial.is_some() || self.monitor.is_some()
    }

    /// The modem of the options.
    fn modem(&self) -> Result<Option<ModemConfig>, TransportError> {
        let turnaround = self.turnaround.unwrap_or_default();
        if let Some(ends) = &self.frames {
            let [local, modem] = &ends[..] else {
                return Err(bad("--frames", ends.join(" "), "expected LOCAL MODEM"));
            };
            let socket =
                |text: &String| text.parse().map_err(|expected: &str| bad("--frames", text, expected));
            return Ok(Some(ModemConfig::Datagrams { local: socket(local)?, modem: socket(modem)? }));
        }
        if let Some(place) = &self.kiss {
            let station = |option, callsign: &Option<String>| {
                let text = callsign.as_deref().unwrap_or_default();
                text.parse().map_err(|expected: &str| bad(option, text, expected))
            };
            return Ok(Some(ModemConfig::Kiss {
                place: place.parse().map_err(|expected: &str| bad("--kiss", place, expected))?,
                callsign: station("--callsign", &self.callsign)?,
                peer: station("--peer-callsign", &self.peer_callsign)?,
                turnaround,
            }));
        }
        if let Some(interfaces) = &self.monitor {
            let read =
                |text: &String| text.parse().map_err(|expected: &str| bad("--wifi-rate", text, expected));
            let rate = self.wifi_rate.as_ref().map(read).transpose()?;
            return Ok(Some(ModemConfig::Monitor { interfaces: interfaces.clone(), rate }));
        }
        let Some(place) = &self.serial else { return Ok(None) };
        match place.parse() {
            Ok(StreamPlace::Serial { device, speed }) => {
                Ok(Some(ModemConfig::Serial { device, speed, turnaround }))
            }
            _ => Err(bad("--serial", place, "expected DEVICE:SPEED, such as /dev/ttyUSB0:57600")),
        }
    }

    fn frames_config(&self, modem: ModemConfig) -> Result<FramesConfig, TransportError> {
        let (Some(address), Some(peer)) = (self.name_of_this_end()?, self.peer_address) else {
            return Err(bad(
                "--address",
                "",
                "expected --address and --peer-address with the frames of a modem",
            ));
        };
        let mtu = self.mtu.unwrap_or(modem.usual_mtu());
        if mtu < LEAST_FRAME {
            return Err(bad(
                "--mtu",
                mtu.to_string(),
                format!("expected at least {LEAST_FRAME} with the frames of a modem"),
            ));
        }
        Ok(FramesConfig { modem, address, peer, mtu })
    }

    fn tcp(&self) -> Result<Profile, TransportError> {
        let mut profile = profile_of(self.variant, self.profile, self.timeout);
        (profile.dscp, profile.hop_limit) = (self.dscp, self.ttl);
        if let Some(congestion) = self.variant.congestion.or(self.cc) {
            if congestion == Algorithm::Custom {
                let option = if self.variant.congestion.is_some() { "--variant" } else { "--cc" };
                let expected = format!("expected one of {}: no program gives one here", Algorithm::CHOICE);
                return Err(bad(option, congestion_name(congestion), expected));
            }
            profile.congestion = congestion;
        }
        if let Some(window) = self.window {
            let bytes = usize::try_from(window.bytes()).unwrap_or(usize::MAX);
            profile = profile.with_window(bytes);
        }
        let mut features = FeatureOverrides::default();
        self.with.iter().for_each(|feature| features.set(*feature, true));
        self.without.iter().for_each(|feature| features.set(*feature, false));
        features.apply(&mut profile.features);
        profile
            .check()
            .map_err(|error| bad("--window", self.window.map_or(String::new(), |w| w.to_string()), error))?;
        Ok(profile)
    }
}

/// The profile of a sender on real networks, which gives up a peer that does not answer for `timeout`. The papers'
/// senders are based on `base`.
pub fn profile_of(sender: TcpSender, base: ProfileName, timeout: Option<Duration>) -> Profile {
    let name = if sender.variant.is_modern() { ProfileName::Modern } else { base };
    let mut profile = sender.variant.apply(name.profile());
    profile.mtu = u16::MAX;
    if let Some(congestion) = sender.congestion {
        profile.congestion = congestion;
    }
    let limit = timeout.unwrap_or(SILENCE_LIMIT);
    // Translators forget ports that are silent for half a minute.
    let idle = (limit / 2).min(IDLE);
    let interval = Duration::from_nanos(limit.as_nanos().saturating_sub(idle.as_nanos())) / (PROBES + 1);
    profile.keep_alive = Some(KeepAlive { idle, interval, probes: PROBES });
    profile.user_timeout = timeout;
    // RFC 9293, 3.8.3: "R2 for data segments SHOULD correspond to at least 100 seconds".
    profile.rto.retries = profile.rto.retries.map(|retries| retries.min(RETRIES));
    profile
}

/// The environment variable with the ends of `--udp` for commands without a carrier, as `headway shell` sets it.
pub const UDP_VARIABLE: &str = "HEADWAY_UDP";

fn udp_of_environment() -> Option<Vec<String>> {
    let ends = std::env::var(UDP_VARIABLE).ok()?;
    Some(ends.split_whitespace().map(str::to_owned).collect())
}

/// Logs events to standard error, by the level of `verbose`.
pub fn start_log(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(LogWriter).finish();
    // It fails only if it is set already.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

fn open_log(path: &Path) -> Result<LogFile, OutputError> {
    Ok(EventLog::new(create(path)?))
}

/// A stack may open connections and accept them.
fn open_qlog(path: &Path, sender: String) -> Result<QlogFile, OutputError> {
    let header = QlogHeader { title: sender, vantage_point: VantagePoint::Unknown, clock: QlogClock::Unix };
    Ok(Qlog::new(create(path)?, &header))
}
