//! What a race is run over: every parameter.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use headway_link::{Damage, FrameCheck, HitZone, LinkConfig, bound, share_hit};
use headway_tcp::congestion::{Custom, StartEstimate};
use headway_tcp::{HackRules, Profile, Variant};
use headway_units::{Duration, Rate, Share, Size};

use super::features::FeatureOverrides;
use super::hops::{Hop, HopRange};
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
    /// The forward path, unless there are hops.
    pub forward: LinkConfig,
    /// The reverse path, unless there are hops.
    pub reverse: LinkConfig,
    /// Links in a row in place of the one link of `forward` and `reverse`, which then is not used.
    pub hops: Vec<Hop>,
    /// The hops that the flow that is raced passes.
    pub flow_hops: HopRange,
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
    /// The hops that it passes.
    pub cross_hops: HopRange,
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
    /// The hops that it passes.
    pub hops: HopRange,
}

impl Companion {
    /// A flow like the one that is raced, except for its sender.
    pub fn new(sender: TcpSender) -> Self {
        let (start, delay) = (Duration::ZERO, Duration::ZERO);
        Self { sender, damaged: true, rival: false, start, size: None, delay, hops: HopRange::ALL }
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
            hops: Vec::new(),
            flow_hops: HopRange::ALL,
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
            cross_hops: HopRange::ALL,
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
        is_alone && self.hops.len() < 2 && self.trunk.is_none() && self.edge == Edge::default()
    }

    /// The links in a row, forward and reverse path of each: the hops, or the one link.
    pub fn links(&self) -> Vec<(&LinkConfig, &LinkConfig)> {
        if self.hops.is_empty() {
            return vec![(&self.forward, &self.reverse)];
        }
        self.hops.iter().map(|hop| (&hop.forward, &hop.reverse)).collect()
    }

    /// The forward links that the flow that is raced passes.
    fn flow_links(&self) -> Vec<&LinkConfig> {
        let mut links = self.links();
        let places = self.flow_hops.places(links.len());
        links.drain(..).map(|(forward, _)| forward).skip(places.start).take(places.len()).collect()
    }

    /// Share of the packets of the flow that is raced that are expected to be hit on the forward path.
    pub fn share_hit(&self) -> f64 {
        either(self.flow_links().into_iter().map(|link| self.share_hit_on(link)))
    }

    fn share_hit_on(&self, link: &LinkConfig) -> f64 {
        share_hit(&link.damage, usize::from(self.mtu) - IP_HEADER)
    }

    /// Share of them that are expected not to arrive intact: hit, or lost silently.
    pub fn share_lost(&self) -> f64 {
        either(self.flow_links().into_iter().map(|link| self.share_lost_on(link)))
    }

    fn share_lost_on(&self, link: &LinkConfig) -> f64 {
        let of_trace = if let Damage::Trace(trace) = &link.damage { trace.share_lost() } else { 0.0 };
        1.0 - (1.0 - self.share_hit_on(link) - of_trace) * (1.0 - link.loss.share.value())
    }

    /// What no sender of whole packets can exceed, bit/s: IP rate times the payload's share of a
    /// packet times the share of packets that are neither hit nor lost silently. `None` for an infinitely fast
    /// link.
    ///
    /// Of several hops it is that of the tightest: of what a hop transmits the share that arrives intact at the end.
    /// Packets that were lost on the hops before it take none of its rate; those that were damaged there do, where they
    /// are forwarded.
    pub fn bound(&self) -> Option<f64> {
        let packet = u32::from(self.mtu);
        let payload = packet - IP_HEADER as u32 - TCP_HEADER;
        let links = self.flow_links();
        let bounds = links.iter().enumerate().filter_map(|(place, link)| {
            let before: f64 = links[..place].iter().map(|link| self.share_intact_behind(link)).product();
            let after: f64 = links[place + 1..].iter().map(|link| self.share_intact_across(link)).product();
            let own = bound(self.ip_rate_of(link)?, payload, packet, self.share_lost_on(link));
            Some(own * before * after)
        });
        bounds.min_by(f64::total_cmp)
    }

    /// At most this share of the packets that leave a hop for the next one is intact.
    fn share_intact_behind(&self, link: &LinkConfig) -> f64 {
        let forwards = link.frame_check == FrameCheck::Keep
            && link.hit_zone == HitZone::TcpHeader
            // Others shorten and drop packets too.
            && !matches!(link.damage, Damage::Trace(_) | Damage::Modem { .. });
        if forwards { 1.0 - self.share_hit_on(link) } else { 1.0 }
    }

    /// At most this share of the packets that enter a hop leaves it intact.
    fn share_intact_across(&self, link: &LinkConfig) -> f64 {
        match link.frame_check {
            // What the link retransmits takes of its own rate.
            FrameCheck::Arq(_) => 1.0 - link.loss.share.value(),
            _ => 1.0 - self.share_lost_on(link),
        }
    }

    /// The blocks of [`Scenario::bound_of_blocks`], in bytes: the shortest of partial recovery.
    pub const BLOCK: usize = headway_wire::blocks::SHORTEST;

    /// What no sender of [blocks](Self::BLOCK) can exceed, bit/s: IP rate times the share of blocks that arrive
    /// intact, without headers. `None` where only chance knows which bits are hit, for an infinitely fast link and for
    /// several hops.
    pub fn bound_of_blocks(&self) -> Option<f64> {
        let [link] = self.flow_links()[..] else { return None };
        let Damage::Trace(trace) = &link.damage else { return None };
        let share = trace.share_of_intact_blocks(Self::BLOCK, self.mtu.into())?;
        let arrives = share * (1.0 - link.loss.share.value());
        Some(self.ip_rate_of(link)?.bits_per_second() as f64 * arrives)
    }

    /// The lowest rate of the links that the flow that is raced passes, in IP bytes.
    fn ip_rate(&self) -> Option<Rate> {
        self.flow_links().into_iter().filter_map(|link| self.ip_rate_of(link)).min()
    }

    /// The rate of a link in IP bytes, where layer 2 takes some of it.
    fn ip_rate_of(&self, link: &LinkConfig) -> Option<Rate> {
        let packet = u64::from(self.mtu);
        let framed = packet + u64::from(link.overhead);
        let rate = link.nominal_rate()?;
        Some(Rate::from_bits_per_second(rate.bits_per_second() * packet / framed))
    }
}

/// The share of packets to which at least one of independent events happens, each with one of `shares`.
fn either(shares: impl Iterator<Item = f64>) -> f64 {
    shares.reduce(|one, other| 1.0 - (1.0 - one) * (1.0 - other)).unwrap_or_default()
}
