//! The options that describe a link, of every command that has one.

use std::path::Path;

use clap::Args;
use headway_lab::{DamageError, Traces};
use headway_link::{Damage, FrameCheck, HitZone, LinkConfig};
use headway_sim::race::QueueSize;
use headway_trace::PathDirection;
use headway_units::{Duration, Rate, Share};

use crate::failure::BadOption;

/// How units and damage are written, for the end of a help text.
macro_rules! models {
    () => {
        "\
Units: rates 10mbit, 500kbit; times 300ms, 2s, 24h; sizes 64KiB, 2MiB, 10MB; shares 5%, 0.05.
Damage: none, random:P, burst:P:LENGTH[:time], ber:RATE, gilbert:P:R:GOOD:BAD,
        gilbert-bit:P:R:GOOD:BAD (the two rates of state change, then the error rate in each state);
        burst-hit:S:LENGTH: bursts that hit the share S of all packets;
        trace:FILE: replays a recorded link, packet by packet, and begins again at its end. FILE is a
        capture (pcap, pcapng), whose damaged packets are those with headway's remark or a wrong TCP
        checksum, or a text with a line for each fate: `ok 37`, `lost`, `hit payload 3`, `hit header 1`,
        `hit both 64` (bits, by chance), `hit 1` (where --header-hit says), `bits 161 980` (from the
        start of the IP packet), `bits tcp 5`, `bits payload 0 7`; `#` starts a remark."
    };
}
pub(crate) use models;

/// A link, both ways, and its damage.
#[derive(Args)]
pub(crate) struct LinkArguments {
    /// Rate of the link, both ways, in bits of IP packets
    #[arg(long, default_value = "10mbit", help_heading = "Link")]
    rate: Rate,
    /// Rate of the way back, if it is another
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    reverse_rate: Option<Rate>,
    /// Propagation delay, one way
    #[arg(long, default_value = "300ms", help_heading = "Link")]
    delay: Duration,
    /// Drop-tail queue in front of the link: 100p, 64KiB, 1bdp (bandwidth-delay products) or unlimited
    #[arg(long, value_name = "LIMIT", default_value = "100p", help_heading = "Link")]
    queue: QueueSize,
    /// Mark packets that find the queue longer than this, if their sender knows ECN (RFC 3168)
    #[arg(long, value_name = "LIMIT", help_heading = "Link")]
    mark: Option<QueueSize>,
    /// Layer-2 bytes that each packet costs beside its own
    #[arg(long, value_name = "BYTES", default_value_t = 0, help_heading = "Link")]
    overhead: u32,
    /// Up to this much more delay for each packet, in order
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = "Link")]
    jitter: Duration,
    /// Share of the packets that vanish
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    loss: Share,
    /// Share of the packets that arrive twice
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    duplicate: Share,
    /// Share of the packets that are overtaken
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    reorder: Share,
    /// By how much those are held back
    #[arg(long, value_name = "TIME", default_value = "10ms", help_heading = "Link")]
    reorder_delay: Duration,

    /// Damage on the way of the data
    #[arg(long, value_name = "MODEL", default_value = "burst:5%:5", value_parser = parse_damage,
          help_heading = "Damage")]
    damage: Damage,
    /// Damage on the way of the ACKs
    #[arg(long, value_name = "MODEL", default_value = "none", value_parser = parse_reverse_damage,
          help_heading = "Damage")]
    reverse_damage: Damage,
    /// Share of the damaged packets whose header is hit, or `place`: where the bits fall decides
    #[arg(long, value_name = "SHARE|place", default_value = "40%", value_parser = parse_header_hit,
          help_heading = "Damage")]
    header_hit: HeaderHit,
    /// Which headers can be hit: tcp or ip+tcp (hosts drop a packet whose IPv4 header is damaged)
    #[arg(long, value_name = "tcp|ip+tcp", default_value = "tcp", help_heading = "Damage")]
    hit_zone: HitZone,
    /// Bits flipped in a damaged packet [default: 1 for random, 64 for bursts]
    #[arg(long, value_name = "N", help_heading = "Damage")]
    flips: Option<u32>,
    /// What the link does with a damaged frame: keep it (hand it up), drop it, or arq:N (resend it
    /// itself, up to N times)
    #[arg(long, value_name = "keep|drop|arq:N", default_value = "keep", help_heading = "Damage")]
    frame_check: FrameCheck,
}

fn parse_damage(input: &str) -> Result<Damage, DamageError> {
    Traces::in_folder(Path::new("")).damage(input, PathDirection::Forward)
}

fn parse_reverse_damage(input: &str) -> Result<Damage, DamageError> {
    Traces::in_folder(Path::new("")).damage(input, PathDirection::Reverse)
}

/// `--header-hit`, which may leave it to the place of the bits.
#[derive(Clone, Copy)]
struct HeaderHit(Option<Share>);

fn parse_header_hit(input: &str) -> Result<HeaderHit, String> {
    if input == "place" {
        return Ok(HeaderHit(None));
    }
    input
        .parse()
        .map(|share| HeaderHit(Some(share)))
        .map_err(|error: headway_units::ParseUnitError| error.to_string())
}

impl LinkArguments {
    /// The way of the data and the way back, for packets of at most `mtu` octets.
    pub(crate) fn both(&self, mtu: u16) -> Result<[LinkConfig; 2], BadOption> {
        self.check()?;
        let limit = |size: QueueSize| size.limit(Some(self.rate), self.delay + self.delay, mtu);
        let forward = LinkConfig {
            rate: Some(self.rate),
            delay: self.delay,
            queue: limit(self.queue),
            mark: self.mark.map(limit),
            overhead: self.overhead,
            jitter: self.jitter,
            duplicate: self.duplicate,
            reorder: self.reorder,
            reorder_delay: self.reorder_delay,
            loss: self.loss,
            damage: self.damage.clone(),
            header_hit: self.header_hit.0,
            hit_zone: self.hit_zone,
            flips: self.flips,
            frame_check: self.frame_check,
        };
        let reverse = LinkConfig {
            rate: Some(self.reverse_rate.unwrap_or(self.rate)),
            damage: self.reverse_damage.clone(),
            ..forward
        };
        Ok([forward, reverse])
    }

    fn check(&self) -> Result<(), BadOption> {
        let bad = |option, value: String, expected: &str| Err(BadOption::new(option, value, expected));
        if self.rate.bits_per_second() == 0 {
            return bad("--rate", self.rate.to_string(), "expected a rate above zero, such as 10mbit");
        }
        if let Some(rate) = self.reverse_rate.filter(|rate| rate.bits_per_second() == 0) {
            return bad("--reverse-rate", rate.to_string(), "expected a rate above zero, such as 10mbit");
        }
        if self.flips == Some(0) {
            return bad("--flips", "0".into(), "expected at least one bit; `--damage none` damages nothing");
        }
        Ok(())
    }
}
