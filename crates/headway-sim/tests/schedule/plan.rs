//! What a seed decides: hosts, links, connections and what the programs do with them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use headway_link::{Damage, HitZone, LinkConfig, QueueLimit};
use headway_tcp::congestion::Algorithm;
use headway_tcp::{DelayedAck, Features, HackRules, KeepAlive, LossRecovery, Profile, Variant};
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Rate};

use super::adversary::{Adversary, Kind, Treatment};

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
pub(crate) enum Senders {
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

/// What a program does at its end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct SidePlan {
    /// Bytes to write in all.
    pub(crate) total: usize,
    pub(crate) style: Style,
    /// Writes before the connection is open.
    pub(crate) writes_early: bool,
    pub(crate) closes: Closes,
    /// Aborts at this time, if it still can.
    pub(crate) aborts: Option<Duration>,
    /// Changes a setting at this time.
    pub(crate) changes: Option<(Duration, Change)>,
}

/// When a program works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    /// After each notification, and only then: a notification that is missing stalls it.
    Told,
    /// Now and then, in small portions, while the schedule is harsh; at once afterwards.
    Timed { gap: Duration, writes: usize, reads: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closes {
    /// When all is written.
    Written,
    /// When all is written and the peer has closed.
    After,
    /// When all is written and everything has come to rest.
    AtRest,
    /// When all is written; then it ignores what arrives.
    Leaves,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Nagle(bool),
    KeepAlive(Option<KeepAlive>),
    UserTimeout(Option<Duration>),
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
            // The same but for its buffers.
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

fn profile(rng: &mut Rng, variant: Variant) -> Profile {
    let base = match rng.coin() {
        _ if variant.is_modern() => Profile::modern(),
        true => Profile::linux22(),
        false => Profile::standard(),
    };
    let mut p = variant.apply(base);
    if variant.is_modern() {
        some_switches(rng, &mut p);
    }
    if rng.permille(350) {
        p.hack_rules = HackRules::Literal;
    }
    p.mtu = rng.pick(&[128, 200, 296, 576, 1280, 1500, 1500, 9000]);
    p.timestamps = rng.permille(650);
    p.window_scaling = rng.permille(650);
    p.nagle = rng.permille(700);
    p.s_buffer = rng.pick(&[0, 1, 6, 64]);
    p.limited_transmit = rng.coin();
    p.initial_window = rng.pick(&[1, 2, 4, 10]);
    if rng.permille(100) && !variant.is_modern() {
        p.recovery = LossRecovery::Reno;
    }
    if rng.permille(300) {
        p.rto.min = rng.pick(&[1, 50, 1000]).into_millis();
        p.rto.max = rng.pick(&[2_000, 10_000]).into_millis();
        p.rto.initial = p.rto.initial.min(p.rto.max);
    }
    p.rto.retries = if rng.permille(300) { Some(rng.pick(&[2, 5, 15])) } else { None };
    p.syn_retries = rng.pick(&[2, 6, 10]);
    if rng.permille(300) {
        p.clock = rng.pick(&[1, 10, 100]).into_millis();
    }
    if rng.permille(400) {
        p.delayed_ack =
            DelayedAck { timeout: rng.pick(&[0, 1, 40, 200, 500]).into_millis(), adaptive: rng.coin() };
    }
    p.keep_alive = rng.permille(200).then(|| keep_alive(rng));
    p.user_timeout = rng.permille(150).then(|| rng.millis(100, 60_000));
    p.time_wait = rng.pick(&[4, 20, 60]).into_secs();
    p.send_buffer = buffer(rng);
    p.receive_buffer = buffer(rng);
    p
}

/// Each part of the modern sender works without the others.
fn some_switches(rng: &mut Rng, p: &mut Profile) {
    p.congestion = rng.pick(&[Algorithm::Cubic, Algorithm::Cubic, Algorithm::Bbr, Algorithm::Reno]);
    let Features {
        tlp,
        prr,
        frto,
        undo,
        hystart,
        pacing,
        ecn,
        autotune,
        sharing,
        cookies,
        ledger,
        own_path,
        bundling,
        tail_copies,
        repair,
        partial,
    } = &mut p.features;
    for switch in [tlp, prr, frto, undo, hystart, pacing, ecn, autotune, sharing, cookies, ledger, repair] {
        *switch &= rng.permille(850);
    }
    *partial = *repair && rng.coin();
    *own_path = rng.permille(300);
    // No draw of its own: those of known seeds stay.
    *bundling = *ledger;
    *tail_copies = *ledger;
}

fn keep_alive(rng: &mut Rng) -> KeepAlive {
    KeepAlive {
        idle: rng.millis(100, 20_000),
        // More than a round trip: an answer in time is possible.
        interval: rng.millis(1_500, 5_000),
        probes: rng.between(1, 9),
    }
}

fn buffer(rng: &mut Rng) -> usize {
    match rng.below(20) {
        0 => rng.between(1, 10),
        1..=2 => rng.between(11, 600),
        3..=6 => rng.between(600, 5_000),
        7..=13 => rng.between(5_000, 70_000),
        _ => rng.between(70_000, 1 << 20),
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
    for kind in Kind::ALL {
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
    let mut sides = [0, 1].map(|side| side_plan(rng, side, profiles, harsh));
    if tight {
        for side in &mut sides {
            side.style =
                Style::Timed { gap: rng.millis(100, 2_000), writes: 5_000, reads: rng.between(1, 1_000) };
        }
    }
    FlowPlan { opener, ports, starts, sides }
}

fn side_plan(rng: &mut Rng, side: usize, profiles: &[Arc<Profile>; 2], harsh: Duration) -> SidePlan {
    let (ours, theirs) = (&profiles[side], &profiles[1 - side]);
    // Small buffers and small packets make for many exchanges.
    let buffer = ours.send_buffer.min(theirs.receive_buffer);
    let mtu = usize::from(ours.mtu.min(theirs.mtu));
    let most = match rng.below(10) {
        0..=1 => 0,
        2..=3 => 300,
        4..=8 => 15_000,
        _ => 120_000,
    };
    let total = rng.between(0, most).min(buffer.saturating_mul(40)).min(mtu * 150);
    let style = if rng.coin() {
        Style::Told
    } else {
        let writes = rng.pick(&[1, 30, 500, 3000, 50_000]);
        let reads = rng.pick(&[1, 30, 500, 3000, 50_000]);
        Style::Timed { gap: rng.millis(1, 800), writes, reads }
    };
    let some_time = |rng: &mut Rng| Duration::from_micros(rng.below(harsh.as_micros() * 2));
    let changes = rng.permille(150).then(|| {
        let change = match rng.below(3) {
            0 => Change::Nagle(rng.coin()),
            1 => Change::KeepAlive(rng.coin().then(|| keep_alive(rng))),
            _ => Change::UserTimeout(rng.coin().then(|| rng.millis(1_000, 60_000))),
        };
        (some_time(rng), change)
    });
    SidePlan {
        total,
        style,
        writes_early: rng.coin(),
        closes: match rng.below(20) {
            0..=8 => Closes::Written,
            9..=13 => Closes::After,
            14..=18 => Closes::AtRest,
            _ => Closes::Leaves,
        },
        aborts: rng.permille(70).then(|| some_time(rng)),
        changes,
    }
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

/// Shorter to write than the constructors in a table of choices.
trait Spans {
    fn into_millis(self) -> Duration;
    fn into_secs(self) -> Duration;
}

impl Spans for u64 {
    fn into_millis(self) -> Duration {
        Duration::from_millis(self)
    }
    fn into_secs(self) -> Duration {
        Duration::from_secs(self)
    }
}
