//! Sender profiles: plain values, so that one simulation can hold several.
//!
//! [`Variant::apply`] makes a sender of a profile, and with it the default controller: modified BBR for `headway`, CUBIC
//! for `modern`.

use core::{fmt, net::IpAddr, str::FromStr};

use headway_units::Duration;
use headway_wire::{Dscp, IpHeader};

use crate::Error;
use crate::congestion::{Algorithm, Custom, StartEstimate};
use crate::rules::RulesOff;

/// Which of the papers' HACK mechanisms a connection offers and, if the peer does too, uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HackMode {
    /// Plain TCP.
    #[default]
    Off,
    /// TCP HACK: kinds 14 and 15 (paper 000).
    Hack,
    /// Extended HACK: kind 16 where the peer understands it (paper 003).
    Xhack,
    /// HACK v2 (`docs/protocol.md`), and Extended HACK with a peer that lacks it.
    V2,
}

/// How a sender answers special ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum HackRules {
    /// Paper 000, section 3.3, and nothing more: the named segment is retransmitted as the congestion
    /// window permits, the special ACK is not processed further. For study.
    Literal,
    /// The rules that make HACK work; see [`crate::hack`].
    #[default]
    Default,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossRecovery {
    /// Fast retransmit and fast recovery that ends at the first ACK of new data (RFC 5681),
    /// used where SACK is not negotiated.
    Reno,
    /// RFC 6582 without SACK, RFC 6675 with it.
    Standard,
    /// Linux 2.2: Hoe-style NewReno without SACK, FACK-style recovery with it. After a timeout it
    /// keeps the backoff, and sends no new data, until all that was outstanding is acknowledged.
    Linux22,
    /// Loss detection by time (RACK-TLP, RFC 8985), with the features that are on ([`Features`]).
    RackTlp,
}

impl LossRecovery {
    /// Whether it measures what each ACK delivers.
    pub(crate) fn measures_delivery(self) -> bool {
        self == Self::RackTlp
    }
}

/// The algorithms that come with RACK-TLP, each on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Tail loss probes (RFC 8985, section 7).
    pub tlp: bool,
    /// Proportional rate reduction (RFC 6937); without it the window falls at once.
    pub prr: bool,
    /// Forward RTO-recovery (RFC 5682).
    pub frto: bool,
    /// Take reductions back that D-SACK (RFC 2883, RFC 3708) or timestamps (Eifel, RFC 3522 and
    /// 4015) show to be spurious.
    pub undo: bool,
    /// Leave slow start before the queue overflows (HyStart++, RFC 9406).
    pub hystart: bool,
    /// Spread what the window allows over the round trip.
    pub pacing: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Buffers grow with the path, from a small start up to the profile's sizes.
    pub autotune: bool,
    /// Answer SYNs without keeping state (SYN cookies, RFC 4987, section 3.6) while the backlog is full
    /// of connections that are opening.
    pub cookies: bool,
    /// New connections start from what earlier ones learnt of the path (RFC 9040).
    pub sharing: bool,
    /// Distinguish damage from congestion and respond to congestion alone.
    pub ledger: bool,
    /// The path is the sender's own, such as a trunk: what it loses at any rate is damage, also where no damage
    /// is seen. Needs the ledger.
    pub own_path: bool,
    /// Repeat small segments that are in flight in the next small one, where the path damages packets or connections share a window
    /// (redundant bundling, Evensen and others, 2008). Needs the ledger.
    pub bundling: bool,
    /// Send what is in the network at the end of what there is to send once more, within a budget, where the path damages
    /// packets or is the sender's own, and where connections share a window (Flach and others, 2013). Needs the ledger.
    pub tail_copies: bool,
    /// Repair damaged headers from what is known of the connection.
    pub repair: bool,
    /// Keep corrupted payloads and have only their bad blocks retransmitted. Needs HACK v2.
    pub partial: bool,
    /// Rules of the sender that do not hold.
    pub rules_off: RulesOff,
}

impl Features {
    /// Everything off: what profiles of other recoveries have.
    pub const OFF: Self = Self {
        tlp: false,
        prr: false,
        frto: false,
        undo: false,
        hystart: false,
        pacing: false,
        ecn: false,
        autotune: false,
        cookies: false,
        sharing: false,
        ledger: false,
        own_path: false,
        bundling: false,
        tail_copies: false,
        repair: false,
        partial: false,
        rules_off: RulesOff::NONE,
    };

    /// A current TCP without anything of ours.
    pub const TCP: Self = Self {
        tlp: true,
        prr: true,
        frto: true,
        undo: true,
        hystart: true,
        pacing: true,
        ecn: true,
        autotune: true,
        cookies: true,
        sharing: true,
        ..Self::OFF
    };
}

/// The retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first round-trip sample.
    pub initial: Duration,
    /// Lower bound.
    pub min: Duration,
    /// Lower bound of the part that represents the variation, RFC 6298's K*RTTVAR. On a steady path
    /// that part shrinks to nothing, and without RFC 6298's minimum of one second for the whole, a
    /// peer that delays one ACK looks like a loss. Linux takes its minimum here.
    pub min_variation: Duration,
    /// Upper bound, also of the doubled value.
    pub max: Duration,
    /// Timeouts in a row without an answer before the connection fails; `None`: never.
    pub retries: Option<u32>,
    /// Linux 2.2 adds a quarter, and more while the window is small, to the computed value.
    pub linux22_margin: bool,
}

/// When the receiver sends an ACK (RFC 9293, 3.8.6.3; RFC 5681, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// The longest that an ACK is held back; zero: every segment is acknowledged at once.
    pub timeout: Duration,
    /// Linux 2.2: the time held back follows the gaps between arrivals, and the first segment of
    /// a connection is acknowledged at once.
    pub adaptive: bool,
    /// An ACK is held back no longer than the round-trip time divided by this, and only where the segment before arrived
    /// less than half as long ago: the next one is about to come, and the delay is too short to look like a queue.
    pub part: Option<u32>,
}

/// Keep-alive probes (RFC 9293, 3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle time before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Unanswered probes before the connection fails.
    pub probes: u32,
}

impl KeepAlive {
    /// Whether it can work: a timer of no time would expire without end.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.idle.is_zero() || self.interval.is_zero() {
            return Err(Error::BadProfile("the times of keep-alive must not be zero"));
        }
        Ok(())
    }
}

/// Everything that a connection is configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Largest IP packet to send or to ask for, in bytes.
    pub mtu: u16,
    /// The DSCP of all its packets, those of a listener without a connection included. RFC 9293, 3.9.1.9, has it be
    /// "specified independently in each direction"; the ECN bits beside it are TCP's.
    pub dscp: Dscp,
    /// The hop limit (IPv6) or time to live (IPv4) of the same packets, 1 to 255. RFC 9293, 3.9.2: it "MUST be
    /// configurable".
    pub hop_limit: u8,
    /// Offer and accept selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// SACK blocks cover a FIN that follows their data: it occupies a sequence number (RFC 9293, 3.4). To a
    /// sender that detects losses by time, a last segment of which only the data is reported looks lost for
    /// ever.
    pub sack_fin: bool,
    /// Of the header of a corrupted segment the ACK number and the timestamps have to be possible too, not only the
    /// sequence number. The papers ask for none of it.
    pub checks_damaged: bool,
    /// What partial recovery has completed is believed by a carrier's tag alone
    /// ([`Host::receive_tagged`](crate::Host::receive_tagged)), never by its CRC: for carriers that encrypt. To be set with the
    /// carrier, as `headway-net` does; elsewhere anyone on the path could have a CRC hold.
    pub tagged_payloads: bool,
    /// The carrier can give segments their compact form, and understands it ([`headway_wire::compact`]). It is offered with
    /// HACK v2 and timestamps. Where the peer accepts it, segments are [`LEFT_OUT`](headway_wire::compact::LEFT_OUT) bytes
    /// longer, and [`Transmit::compact`](crate::Transmit::compact) says which. To be set with the carrier, as
    /// `headway-net` does.
    pub compact_headers: bool,
    /// Where long packets are lost again and again, and no router says why, the longest that passes is searched (RFC 4821).
    /// Without [`LossRecovery::RackTlp`] and SACK packets become short, and longer ones are tried again after ten minutes.
    pub mtu_search: bool,
    /// Offer and accept timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer and accept window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer and accept HACK.
    pub hack: HackMode,
    /// How special ACKs are answered.
    pub hack_rules: HackRules,
    /// Numbers that `s_buffer` holds at most.
    pub s_buffer: usize,
    /// How losses are found and repaired.
    pub recovery: LossRecovery,
    /// Which features are on.
    pub features: Features,
    /// RFC 3042: a new segment on each of the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// The congestion controller.
    pub congestion: Algorithm,
    /// What builds the controllers of [`Algorithm::Custom`].
    pub custom: Option<Custom>,
    /// Initial congestion window in segments.
    pub initial_window: u32,
    /// What the path is said to carry: a connection, or the domain that it is opened in, starts from it. `None`: nothing is
    /// known, and slow start or Startup search.
    pub start: Option<StartEstimate>,
    /// RFC 3465's L: segments by which one ACK opens the window in slow start at most. `None`: as the RFCs have
    /// it, 2 (RFC 3465, 2.3), 8 with HyStart++, no limit with pacing (RFC 9406, 4.3).
    pub slow_start_limit: Option<u32>,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Retransmissions of a SYN or SYN-ACK, each after twice the time of the one before, until the
    /// attempt fails. RFC 9293, 3.8.3, R2: "MUST be set large enough to provide retransmission of the
    /// segment for at least 3 minutes". Those of [`syn_linear`](Self::syn_linear) come before.
    pub syn_retries: u32,
    /// Retransmissions of a SYN that follow one another at the initial timeout, before it begins to
    /// double. RFC 6298 doubles from the first on; Linux repeats four times.
    pub syn_linear: u32,
    /// Resolution of the clock behind timers and timestamps.
    pub clock: Duration,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Nagle's algorithm (RFC 9293, 3.7.4).
    pub nagle: bool,
    /// Keep-alive, off by default.
    pub keep_alive: Option<KeepAlive>,
    /// How long sent data may stay unacknowledged before the connection fails; `None`: no limit
    /// but the retransmission timer's.
    pub user_timeout: Option<Duration>,
    /// How long a connection stays in TIME-WAIT (twice the maximum segment lifetime).
    pub time_wait: Duration,
    /// Bytes that may wait to be sent or acknowledged.
    pub send_buffer: usize,
    /// Bytes of those that may wait to be sent for the first time, as Linux's `TCP_NOTSENT_LOWAT`: what
    /// a program writes long before its turn delays what it writes next, and leaves the processor's cache.
    pub not_sent: usize,
    /// Bytes that may wait to be read: the largest window ever offered.
    pub receive_buffer: usize,
    /// Whether data that arrives beyond a hole is notified of too, for programs that read it there
    /// ([`Host::peek_beyond`](crate::Host::peek_beyond)).
    pub unordered: bool,
}

impl Profile {
    /// The standard TCP of the RFCs: 9293, 5681, 6582, 2018, 2883, 6675, 7323, 6298, 6928, 5961.
    pub fn standard() -> Self {
        Self {
            mtu: 1500,
            dscp: Dscp::DEFAULT,
            hop_limit: IpHeader::HOP_LIMIT,
            sack: true,
            sack_fin: false,
            checks_damaged: false,
            tagged_payloads: false,
            compact_headers: false,
            mtu_search: false,
            timestamps: true,
            window_scaling: true,
            hack: HackMode::Off,
            hack_rules: HackRules::Default,
            s_buffer: 64,
            recovery: LossRecovery::Standard,
            features: Features::OFF,
            limited_transmit: true,
            congestion: Algorithm::Reno,
            custom: None,
            initial_window: 10,
            start: None,
            slow_start_limit: None,
            rto: RtoConfig {
                initial: Duration::from_secs(1),
                min: Duration::from_millis(200),
                min_variation: Duration::from_millis(200),
                max: Duration::from_secs(120),
                retries: Some(15),
                linux22_margin: false,
            },
            syn_retries: 7,
            syn_linear: 0,
            clock: Duration::from_millis(1),
            delayed_ack: DelayedAck { timeout: Duration::from_millis(40), adaptive: false, part: None },
            nagle: true,
            keep_alive: None,
            user_timeout: None,
            time_wait: Duration::from_secs(60),
            send_buffer: 1 << 20,
            not_sent: usize::MAX,
            receive_buffer: 1 << 20,
            unordered: false,
        }
    }

    /// The TCP of Linux 2.2, which the papers extended and measured against.
    pub fn linux22() -> Self {
        Self {
            recovery: LossRecovery::Linux22,
            limited_transmit: false,
            congestion: Algorithm::Linux22,
            initial_window: 2,
            rto: RtoConfig {
                initial: Duration::from_secs(3),
                min: Duration::from_millis(200),
                min_variation: Duration::ZERO,
                max: Duration::from_secs(120),
                retries: None,
                linux22_margin: true,
            },
            syn_retries: 10,
            clock: Duration::from_millis(10),
            delayed_ack: DelayedAck { timeout: Duration::from_millis(500), adaptive: true, part: None },
            ..Self::standard()
        }
    }

    /// Today's TCP: [`Profile::standard`] with RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682),
    /// undo of spurious reductions, CUBIC (RFC 9438) with HyStart++ (RFC 9406), pacing, ECN, and a search for the path's
    /// MTU where no router reports it (RFC 4821).
    pub fn modern() -> Self {
        Self {
            sack_fin: true,
            checks_damaged: true,
            mtu_search: true,
            recovery: LossRecovery::RackTlp,
            features: Features::TCP,
            congestion: Algorithm::Cubic,
            syn_linear: 4,
            send_buffer: 16 << 20,
            receive_buffer: 16 << 20,
            ..Self::standard()
        }
    }

    /// What scripts written for today's Linux expect: [`Profile::standard`], whose initial window of
    /// 10 segments, order of options and bounds of the retransmission timeout are Linux's, with Linux's
    /// number of SYNs and its slow start, in which an ACK opens the window by all that it acknowledges.
    pub fn linux() -> Self {
        Self { syn_retries: 6, slow_start_limit: Some(u32::MAX), ..Self::standard() }
    }

    /// The IP header of a packet between two addresses.
    pub(crate) fn ip_header(&self, src: IpAddr, dst: IpAddr) -> IpHeader {
        IpHeader { dscp: self.dscp, hop_limit: self.hop_limit, ..IpHeader::new(src, dst) }
    }

    /// Whether connections of this profile can work.
    ///
    /// # Errors
    ///
    /// [`Error::BadProfile`] says which value cannot be.
    pub fn check(&self) -> Result<(), Error> {
        let buffers = 1..=1_usize << 30;
        let sound = [
            (
                self.congestion != Algorithm::Custom || self.custom.is_some(),
                "a custom congestion controller must be given by the program",
            ),
            (self.mtu >= 128, "the MTU must be at least 128 bytes"),
            (!self.clock.is_zero(), "the clock must tick"),
            (
                !self.rto.initial.is_zero() && !self.rto.max.is_zero(),
                "the retransmission timeout must not be zero",
            ),
            (buffers.contains(&self.receive_buffer), "the receive buffer must have between 1 byte and 1 GiB"),
            (buffers.contains(&self.send_buffer), "the send buffer must have between 1 byte and 1 GiB"),
        ];
        if let Some(&(_, why)) = sound.iter().find(|(holds, _)| !holds) {
            return Err(Error::BadProfile(why));
        }
        Self::check_hop_limit(self.hop_limit)?;
        self.keep_alive.as_ref().map_or(Ok(()), KeepAlive::check)
    }

    /// RFC 791, 3.2: "If the time to live reaches zero before the internet datagram reaches its destination, the internet
    /// datagram must be destroyed".
    pub(crate) fn check_hop_limit(hops: u8) -> Result<(), Error> {
        if hops == 0 { Err(Error::BadProfile("the hop limit must be at least 1")) } else { Ok(()) }
    }

    /// SYNs that may be lost before the connection begins with a window of one segment.
    pub(crate) fn tolerated_syn_losses(&self) -> u32 {
        u32::from(self.recovery == LossRecovery::RackTlp)
    }

    /// Retransmissions of our SYN until the attempt fails.
    pub(crate) fn syn_limit(&self) -> u32 {
        self.syn_retries.saturating_add(self.syn_linear)
    }

    pub(crate) fn offers_xhack(&self) -> bool {
        matches!(self.hack, HackMode::Xhack | HackMode::V2)
    }

    pub(crate) fn offers_hack(&self) -> bool {
        self.hack != HackMode::Off
    }

    /// Sets the buffers so that the window can reach `bytes`: what is in flight stays in the send
    /// buffer, which must have room for more.
    #[must_use]
    pub fn with_window(mut self, bytes: usize) -> Self {
        self.receive_buffer = bytes;
        self.send_buffer = bytes.saturating_mul(2);
        self
    }
}

/// The senders that the papers compare, by their names, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// NewReno.
    NewReno,
    /// Selective acknowledgements.
    Sack,
    /// TCP HACK on NewReno.
    Hack,
    /// TCP HACK together with SACK.
    HackSack,
    /// Extended HACK on NewReno.
    Xhack,
    /// Extended HACK together with SACK.
    XhackSack,
    /// Today's TCP ([`Profile::modern`]).
    Modern,
    /// Today's TCP with HACK as published.
    ModernHack,
    /// Today's TCP with HACK v2, the cause ledger, repair of headers, partial recovery of payloads, and modified
    /// BBR.
    Headway,
}

impl Variant {
    /// The papers' variants, in their order.
    pub const PAPERS: [Self; 6] =
        [Self::NewReno, Self::Sack, Self::Hack, Self::HackSack, Self::Xhack, Self::XhackSack];
    /// Ours.
    pub const OURS: [Self; 3] = [Self::Modern, Self::ModernHack, Self::Headway];
    /// Every variant.
    pub const ALL: [Self; 9] = [
        Self::NewReno,
        Self::Sack,
        Self::Hack,
        Self::HackSack,
        Self::Xhack,
        Self::XhackSack,
        Self::Modern,
        Self::ModernHack,
        Self::Headway,
    ];

    /// Whether it is one of ours, which bring their own profile.
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::ModernHack | Self::Headway)
    }

    /// The name used by the papers and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Hack => "hack",
            Self::HackSack => "hack+sack",
            Self::Xhack => "xhack",
            Self::XhackSack => "xhack+sack",
            Self::Modern => "modern",
            Self::ModernHack => "modern+hack",
            Self::Headway => "headway",
        }
    }

    /// `profile` with this variant's options switched on and the others off.
    #[must_use]
    pub fn apply(self, profile: Profile) -> Profile {
        let (sack, hack) = match self {
            Self::NewReno => (false, HackMode::Off),
            Self::Sack | Self::Modern => (true, HackMode::Off),
            Self::Hack => (false, HackMode::Hack),
            Self::HackSack => (true, HackMode::Hack),
            Self::Xhack => (false, HackMode::Xhack),
            Self::XhackSack | Self::ModernHack => (true, HackMode::Xhack),
            Self::Headway => (true, HackMode::V2),
        };
        let ours = self == Self::Headway;
        let features = Features {
            ledger: ours,
            bundling: ours,
            tail_copies: ours,
            repair: ours,
            partial: ours,
            ..profile.features
        };
        // Its model takes no single loss for a sign, so what the ledger cannot explain costs it least.
        let congestion = if ours { Algorithm::Bbr } else { profile.congestion };
        Profile { sack, hack, features, congestion, ..profile }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not one of [`Variant`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{input:?}: expected one of newreno, sack, hack, hack+sack, xhack, xhack+sack, modern, modern+hack, headway"
)]
#[non_exhaustive]
pub struct UnknownVariant {
    /// What was given.
    pub input: alloc::string::String,
}

impl FromStr for Variant {
    type Err = UnknownVariant;

    fn from_str(input: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|variant| variant.name() == input)
            .ok_or_else(|| UnknownVariant { input: input.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variants_of_the_papers_are_not_ours() {
        let ours: alloc::vec::Vec<_> =
            Variant::ALL.iter().filter(|variant| variant.is_modern()).map(|variant| variant.name()).collect();
        assert_eq!(ours, ["modern", "modern+hack", "headway"]);
    }
}
