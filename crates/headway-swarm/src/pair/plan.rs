//! What a seed decides: hosts, links, connections and what the programs do with them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use headway_link::{Damage, HitZone, LinkConfig, QueueLimit};
use headway_tcp::{Profile, Variant};
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Rate};

use super::adversary::{Adversary, PacketKind, Treatment};
use crate::profiles::profile;
use crate::side::plan::{SidePlan, Style, side_plan};
use crate::spans::Spans as _;

/// The port that both hosts listen on.
pub(crate) const LISTEN: u16 = 80;
/// Client ports start here, one for each connection.
pub(crate) const FIRST_PORT: u16 = 1000;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) addresses: [IpAddr; 2],
    pub(crate) profiles: [Arc<Profile>; 2],
    pub(crate) backlog: usize,
    /// The direction from each host to the other while the schedule is harsh.
    pub(crate) links: [LinkConfig; 2],
    /// Both directions afterwards.
    pub(crate) healed: LinkConfig,
    pub(crate) adversaries: [Adversary; 2],
    /// How long it is harsh.
    pub(crate) harsh: Duration,
    pub(crate) flows: Vec<FlowPlan>,
    /// When the path's MTU becomes what, in both directions.
    pub(crate) mtu_changes: Vec<(Duration, u16)>,
    pub(crate) near: Near,
    /// Packets that arrive at the same time are handed over together.
    pub(crate) batches: bool,
}

/// Whose senders a schedule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Senders {
    /// Those that the papers compare.
    #[default]
    Papers,
    /// Ours, among themselves or with one of the papers' at the other end.
    Ours,
}

/// Which number is near its wrap-around when the first connection opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Near {
    Nothing,
    /// The initial sequence number of this side of the first connection.
    Sequence(usize),
    /// Its timestamp.
    Stamp(usize),
}

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    /// Which host opens; `None` for both at once.
    pub(crate) opener: Option<usize>,
    pub(crate) ports: [u16; 2],
    /// When the active sides call for it.
    pub(crate) starts: [Duration; 2],
    pub(crate) sides: [SidePlan; 2],
}

impl FlowPlan {
    pub(crate) fn socket(&self, plan: &Plan, side: usize) -> SocketAddr {
        SocketAddr::new(plan.addresses[side], self.ports[side])
    }
}

impl Plan {
    pub(crate) fn new(seed: u64, senders: Senders) -> Self {
        let mut rng = Rng::new(seed);
        let v6 = rng.permille(300);
        let addresses = if v6 {
            [1, 2].map(|n| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n)))
        } else {
            [1, 2].map(|n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)))
        };
        let (variants, others): (&[Variant], &[Variant]) = match senders {
            Senders::Papers => (&Variant::PAPERS, &Variant::PAPERS),
            Senders::Ours => (&Variant::OURS, &Variant::ALL),
        };
        let variant = rng.pick(variants);
        let first = profile(&mut rng, variant);
        let second = if rng.permille(600) {
            // The same except for its buffers.
            let other = profile(&mut rng, variant);
            Profile { send_buffer: other.send_buffer, receive_buffer: other.receive_buffer, ..first.clone() }
        } else {
            let variant = rng.pick(others);
            profile(&mut rng, variant)
        };
        let time_wait = first.time_wait.min(second.time_wait);
        let mut profiles = [first, second];
        // Both windows close again and again.
        let tight = rng.permille(150);
        if tight {
            profiles.iter_mut().for_each(|profile| profile.receive_buffer = rng.between(1, 3000));
        }
        let profiles = profiles.map(Arc::new);
        // No packet lives longer than a maximum segment lifetime, half of TIME-WAIT, says RFC 9293.
        let longest = (time_wait / 4).min(Duration::from_secs(8));
        let severity = rng.pick(&[0, 20, 50, 150, 300, 600]);
        let harsh = match rng.below(20) {
            0 => rng.millis(20_000, 150_000),
            1..=6 => rng.millis(5_000, 20_000),
            _ => rng.millis(200, 5_000),
        };
        let delay = rng.pick(&[0, 50, 1_000, 10_000, 60_000, 300_000]);
        let links = [(); 2].map(|()| link(&mut rng, severity, delay, longest));
        let healed = LinkConfig {
            rate: rng.coin().then(|| Rate::from_bits_per_second(rng.between(1_000_000, 100_000_000))),
            delay: Duration::from_micros(delay),
            ..LinkConfig::default()
        };
        let adversaries = [(); 2].map(|()| adversary(&mut rng, severity, harsh, longest));
        let count = rng.pick(&[1, 1, 1, 2, 2, 3, 5]);
        let flows = (0..count).map(|n| flow(&mut rng, n, &profiles, harsh, tight)).collect();
        let mtu_changes = mtu_changes(&mut rng, v6, harsh);
        let near = match rng.below(10) {
            0..=3 => Near::Sequence(rng.below(2)),
            4..=5 => Near::Stamp(rng.below(2)),
            _ => Near::Nothing,
        };
        let backlog = rng.pick(&[1, 2, 8]);
        Self {
            seed,
            addresses,
            profiles,
            backlog,
            links,
            healed,
            adversaries,
            harsh,
            flows,
            mtu_changes,
            near,
            batches: rng.permille(200),
        }
    }
}

fn link(rng: &mut Rng, severity: u64, delay: u64, longest: Duration) -> LinkConfig {
    // One direction may be harmless.
    let severity = if rng.permille(200) { 0 } else { severity };
    let rate = rng.coin().then(|| rng.between(50_000, 20_000_000));
    let queue = match rate {
        // Half a second at most, so that the queue alone does not keep packets for long.
        Some(rate) => QueueLimit::Bytes(rng.between(1_500, (rate / 16).max(1_501))),
        None => QueueLimit::Unlimited,
    };
    let loss = rng.share(severity);
    let damaged = rng.pick(&[20, 100, 300, 600]);
    let damaged = rng.share(if severity == 0 { 0 } else { damaged });
    let damage = match rng.below(6) {
        0..=1 => Damage::None,
        2 => Damage::Random { p: damaged },
        3 => Damage::BitErrors { ber: damaged.value() / 2000.0 },
        4 => Damage::Gilbert { p: damaged, r: rng.share(900), good: rng.share(10), bad: rng.share(1000) },
        _ => {
            Damage::Burst { p: damaged, length: rng.between(1, 12), clock: headway_link::BurstClock::Packets }
        }
    };
    LinkConfig {
        rate: rate.map(Rate::from_bits_per_second),
        delay: Duration::from_micros(delay),
        queue,
        jitter: rng.pick(&[0, 0, 1, 20, 100]).into_millis(),
        duplicate: rng.share(severity),
        reorder: rng.share(severity),
        reorder_delay: rng.millis(0, longest.as_millis().min(500)),
        loss: loss.into(),
        damage,
        header_hit: match rng.below(4) {
            0 => None,
            1 => Some(rng.share(1000)),
            _ => Some(rng.share(100)),
        },
        hit_zone: rng.pick(&[HitZone::TcpHeader, HitZone::IpAndTcpHeader]),
        // Few flips pass a checksum most often.
        flips: rng.coin().then(|| rng.pick(&[1, 2, 2, 2, 3, 4, 8, 200])),
        ..LinkConfig::default()
    }
}

fn adversary(rng: &mut Rng, severity: u64, harsh: Duration, longest: Duration) -> Adversary {
    let mut treatments = Vec::new();
    for kind in PacketKind::ALL {
        if !rng.permille(250) {
            continue;
        }
        treatments.push(Treatment {
            kind,
            drop_first: rng.pick(&[0, 0, 1, 2, 5]),
            drop: rng.between(0, severity * 4 / 3) as u32,
            duplicate: rng.between(0, severity) as u32,
            copies: rng.between(1, 3),
            hold: rng.between(0, severity) as u32,
            longest: Duration::from_micros(rng.between(0, longest.as_micros())),
        });
    }
    let blackouts = (0..rng.pick(&[0, 0, 1, 3]))
        .map(|_| {
            let from = rng.between(0, harsh.as_micros());
            let to = from + rng.between(0, harsh.as_micros() / 2);
            (Duration::from_micros(from), Duration::from_micros(to))
        })
        .collect();
    Adversary {
        treatments,
        blackouts,
        truncate: if rng.permille(400) { rng.between(0, severity / 2) as u32 } else { 0 },
        // Damage that no checksum sees.
        swap_payload: if rng.permille(120) { rng.between(1, 20) } else { 0 },
        flip_header: if rng.permille(60) { rng.between(1, 20) } else { 0 },
    }
}

fn flow(rng: &mut Rng, n: u16, profiles: &[Arc<Profile>; 2], harsh: Duration, tight: bool) -> FlowPlan {
    let opener = if rng.permille(150) { None } else { Some(rng.below(2)) };
    let port = FIRST_PORT + n;
    let ports = match opener {
        None => [port, port],
        Some(0) => [port, LISTEN],
        Some(_) => [LISTEN, port],
    };
    let start = Duration::from_micros(rng.below(harsh.as_micros() / 3));
    let starts = [start, start + rng.pick(&[0, 0, 1, 30]).into_millis()];
    let mut sides = [0, 1].map(|side| side_plan(rng, &profiles[side], &profiles[1 - side], harsh));
    if tight {
        for side in &mut sides {
            side.style =
                Style::Timed { gap: rng.millis(100, 2_000), writes: 5_000, reads: rng.between(1, 1_000) };
        }
    }
    FlowPlan { opener, ports, starts, sides }
}

fn mtu_changes(rng: &mut Rng, v6: bool, harsh: Duration) -> Vec<(Duration, u16)> {
    if !rng.permille(200) {
        return Vec::new();
    }
    let least = if v6 { 1280 } else { 128 };
    let mut changes: Vec<(Duration, u16)> = (0..rng.between(1, 3))
        .map(|_| {
            let at = Duration::from_micros(rng.below(harsh.as_micros()));
            (at, rng.between(least, 1500) as u16)
        })
        .collect();
    changes.sort();
    changes
}
