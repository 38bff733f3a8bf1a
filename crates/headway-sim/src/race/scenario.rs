//! What a race is run over: every parameter.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use headway_link::{Damage, LinkConfig, bound, share_hit};
use headway_tcp::congestion::{Custom, StartEstimate};
use headway_tcp::{HackRules, Profile, Variant};
use headway_units::{Duration, Rate, Share, Size};

use super::features::FeatureOverrides;
use super::sender::TcpSender;
use super::trunk::{Edge, Trunk};
use super::unknown_name::UnknownName;
use crate::packet_trace::PacketTrace;

/// A sender profile by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProfileName {
    /// [`Profile::linux22`].
    Linux22,
    /// [`Profile::standard`].
    Standard,
    /// [`Profile::modern`].
    Modern,
}

impl ProfileName {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux22 => "linux22",
            Self::Standard => "standard",
            Self::Modern => "modern",
        }
    }

    /// The profile itself.
    pub fn profile(self) -> Profile {
        match self {
            Self::Linux22 => Profile::linux22(),
            Self::Standard => Profile::standard(),
            Self::Modern => Profile::modern(),
        }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ProfileName {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, Self::Err> {
        [Self::Linux22, Self::Standard, Self::Modern]
            .into_iter()
            .find(|name| name.name() == input)
            .ok_or_else(|| UnknownName::new(input, "a profile: linux22, standard or modern"))
    }
}

/// What a host does with a packet whose IP header is corrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// It drops it unseen, as any host of the Internet: the sender is not known.
    #[default]
    Drop,
    /// It counts it as a damaged packet of the host at the other end of the link, which has no other
    /// ([`Host::receive_from_only_peer`](headway_tcp::Host::receive_from_only_peer)).
    Count,
}

impl Frames {
    /// Its name in options and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Count => "count",
        }
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Frames {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, Self::Err> {
        [Self::Drop, Self::Count]
            .into_iter()
            .find(|frames| frames.name() == input)
            .ok_or_else(|| UnknownName::new(input, "drop or count"))
    }
}

/// How special ACKs are answered, by its name.
///
/// # Errors
///
/// There are no rules of this name.
pub fn parse_rules(input: &str) -> Result<HackRules, UnknownName> {
    match input {
        "literal" => Ok(HackRules::Literal),
        "default" => Ok(HackRules::Default),
        _ => Err(UnknownName::new(input, "literal or default")),
    }
}

/// The name of the rules for special ACKs.
pub fn rules_name(rules: HackRules) -> &'static str {
    match rules {
        HackRules::Literal => "literal",
        HackRules::Default => "default",
    }
}

/// Everything that determines a race, except the content, the senders and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The profile of the papers' senders; ours bring their own ([`Variant::is_modern`](headway_tcp::Variant::is_modern)).
    pub profile: ProfileName,
    /// How special ACKs are answered.
    pub rules: HackRules,
    /// The controllers of senders that are named `custom`.
    pub custom: Option<Custom>,
    /// Features of the modern sender that are turned on or off, in the flow that is raced and in its
    /// companions that are not rivals.
    pub features: FeatureOverrides,
    /// The forward path.
    pub forward: LinkConfig,
    /// The reverse path.
    pub reverse: LinkConfig,
    /// The largest window that the receiver offers.
    pub window: Size,
    /// Largest IP packet.
    pub mtu: u16,
    /// Timeouts in a row before a sender gives up; `None`: never. The profiles linux22 and standard
    /// have a limit of their own for SYNs.
    pub retries: Option<u32>,
    /// Virtual time after which a run is called unfinished.
    pub time_limit: Duration,
    /// A run of fixed duration: there is always more to send, and what counts is how much has arrived
    /// when this much virtual time has passed since the first SYN. `None`: the content is sent, and
    /// what counts is how long it takes.
    pub duration: Option<Duration>,
    /// The hosts make one transfer of the same content before, whose time is not counted: what they
    /// learnt of the path remains.
    pub warm: bool,
    /// What `headway`, but as a rival, and the gateways of a trunk are told that the link carries, in percent of what it does:
    /// they start from that ([`Profile::start`]). `None`: nothing.
    pub told: Option<u32>,
    /// What the hosts do with a packet whose IP header is corrupted.
    pub frames: Frames,
    /// Other senders of the same content that share the link.
    pub companions: Vec<Companion>,
    /// Traffic that does not respond to congestion, through the same queue.
    pub cross: Option<CrossTraffic>,
    /// Gateways at both ends of the link, which carry what the hosts send.
    pub trunk: Option<Trunk>,
    /// The links between the hosts and the ends of the shared link, or the gateways there.
    pub edge: Edge,
}

/// A flow beside the one that is raced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Companion {
    /// Its sender.
    pub sender: TcpSender,
    /// Whether the damage of the link hits its packets too.
    pub damaged: bool,
    /// Whether it represents the others, whose share is measured, rather than more flows like the one
    /// that is raced.
    pub rival: bool,
    /// When it begins, after the race.
    pub start: Duration,
    /// How much it sends; `None`: as much as the one that is raced, or all the time.
    pub size: Option<u64>,
    /// One-way delay of both paths in addition to that of the link.
    pub delay: Duration,
}

impl Companion {
    /// A flow like the one that is raced, except for its sender.
    pub fn new(sender: TcpSender) -> Self {
        let (start, delay) = (Duration::ZERO, Duration::ZERO);
        Self { sender, damaged: true, rival: false, start, size: None, delay }
    }
}

/// UDP datagrams that answer to no signal. They are never damaged (paper 004, Fig. 7: "only TCP data was
/// corrupted").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrossTraffic {
    /// They come at a constant rate.
    Constant {
        /// Rate in bits of IP packets.
        rate: Rate,
        /// Length of a datagram with its headers; at least 28 bytes.
        packet: u16,
    },
    /// They have the times and lengths of a recording, which is repeated until the race ends.
    Replay(PacketTrace),
}

/// The size of the IP header, which damage spares unless it is asked for.
pub(super) const IP_HEADER: usize = 20;
/// TCP header with timestamps.
pub(super) const TCP_HEADER: u32 = 32;

impl Default for Scenario {
    /// The papers' headline cell: 10 Mbit/s, one-way delay 300 ms, bursts of 5 packets that start with
    /// 5 % (paper 000, Figs 20-24), at the share of header hits that fits the papers' figures.
    fn default() -> Self {
        let clean = LinkConfig {
            rate: Some(Rate::from_bits_per_second(10_000_000)),
            delay: Duration::from_millis(300),
            queue: headway_link::QueueLimit::Packets(100),
            ..LinkConfig::default()
        };
        Self {
            profile: ProfileName::Linux22,
            rules: HackRules::Default,
            custom: None,
            features: FeatureOverrides::default(),
            forward: LinkConfig {
                damage: Damage::Burst {
                    p: Share::new(0.05).unwrap_or(Share::ZERO),
                    length: 5,
                    clock: headway_link::BurstClock::Packets,
                },
                header_hit: Share::new(0.4),
                ..clean.clone()
            },
            reverse: clean,
            window: Size::from_bytes(1 << 20),
            mtu: 1500,
            retries: None,
            time_limit: Duration::from_secs(24 * 3600),
            duration: None,
            warm: false,
            told: None,
            frames: Frames::Drop,
            companions: Vec::new(),
            cross: None,
            trunk: None,
            edge: Edge::default(),
        }
    }
}

impl Scenario {
    /// The profile of `sender` in this scenario, as the flow that is raced.
    pub fn profile_of(&self, sender: impl Into<TcpSender>) -> Arc<Profile> {
        let sender = sender.into();
        let mut profile = self.bare_profile(sender, self.window);
        self.features.apply(&mut profile.features);
        profile.start = self.start().filter(|_| sender.variant == Variant::Headway);
        Arc::new(profile)
    }

    /// What those start from that are told a rate.
    pub(super) fn start(&self) -> Option<StartEstimate> {
        let rate = self.ip_rate()?.bits_per_second();
        Some(StartEstimate::told(Rate::from_bits_per_second(rate / 100 * u64::from(self.told?))))
    }

    /// The profile of a companion.
    pub(super) fn profile_beside(&self, companion: &Companion) -> Arc<Profile> {
        if companion.rival {
            Arc::new(self.bare_profile(companion.sender, self.window))
        } else {
            self.profile_of(companion.sender)
        }
    }

    pub(super) fn bare_profile(&self, sender: TcpSender, window: Size) -> Profile {
        let window = usize::try_from(window.bytes()).unwrap_or(usize::MAX);
        let profile = self.profile_name(sender).profile();
        let mut profile = sender.variant.apply(profile.with_window(window));
        profile.congestion = sender.congestion.unwrap_or(profile.congestion);
        profile.custom = self.custom.clone();
        profile.hack_rules = self.rules;
        profile.mtu = self.mtu;
        profile.rto.retries = self.retries;
        if self.profile_name(sender) == ProfileName::Modern {
            profile.syn_retries = self.retries.unwrap_or(u32::MAX);
        }
        profile
    }

    /// Which profile `sender` has here.
    pub fn profile_name(&self, sender: impl Into<TcpSender>) -> ProfileName {
        if sender.into().variant.is_modern() { ProfileName::Modern } else { self.profile }
    }

    /// Whether the two hosts are the ends of the link, without routers between.
    pub(super) fn is_point_to_point(&self) -> bool {
        let is_alone = self.companions.is_empty() && self.cross.is_none();
        is_alone && self.trunk.is_none() && self.edge == Edge::default()
    }

    /// Share of the packets of the forward path that are expected to be hit.
    pub fn share_hit(&self) -> f64 {
        share_hit(&self.forward.damage, usize::from(self.mtu) - IP_HEADER)
    }

    /// Share of the packets of the forward path that are expected not to arrive intact: hit, or lost silently.
    pub fn share_lost(&self) -> f64 {
        let of_trace = if let Damage::Trace(trace) = &self.forward.damage { trace.share_lost() } else { 0.0 };
        1.0 - (1.0 - self.share_hit() - of_trace) * (1.0 - self.forward.loss.share.value())
    }

    /// What no sender of whole packets can exceed, bit/s: IP rate times the payload's share of a
    /// packet times the share of packets that are neither hit nor lost silently. `None` for an infinitely fast
    /// link.
    pub fn bound(&self) -> Option<f64> {
        let packet = u32::from(self.mtu);
        let payload = packet - IP_HEADER as u32 - TCP_HEADER;
        Some(bound(self.ip_rate()?, payload, packet, self.share_lost()))
    }

    /// The blocks of [`Scenario::bound_of_blocks`], in bytes: the shortest of partial recovery.
    pub const BLOCK: usize = headway_wire::blocks::SHORTEST;

    /// What no sender of [blocks](Self::BLOCK) can exceed, bit/s: IP rate times the share of blocks that arrive
    /// intact, without headers. `None` where only chance knows which bits are hit, and for an infinitely fast link.
    pub fn bound_of_blocks(&self) -> Option<f64> {
        let Damage::Trace(trace) = &self.forward.damage else { return None };
        let share = trace.share_of_intact_blocks(Self::BLOCK, self.mtu.into())?;
        let arrives = share * (1.0 - self.forward.loss.share.value());
        Some(self.ip_rate()?.bits_per_second() as f64 * arrives)
    }

    /// The rate of the forward path in IP bytes, where layer 2 takes some of it.
    fn ip_rate(&self) -> Option<Rate> {
        let packet = u64::from(self.mtu);
        let framed = packet + u64::from(self.forward.overhead);
        let rate = self.forward.nominal_rate()?;
        Some(Rate::from_bits_per_second(rate.bits_per_second() * packet / framed))
    }
}
