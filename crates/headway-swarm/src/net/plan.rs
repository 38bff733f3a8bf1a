//! What a seed decides: hosts, paths, connections, and what fails when.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use headway_link::{Damage, HitZone, LinkConfig, QueueLimit};
use headway_tcp::congestion::Algorithm;
use headway_tcp::{KeepAlive, Profile, Variant};
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Instant, Rate};

use super::middlebox::BoxPlan;
use crate::profiles::profile;
use crate::side::plan::{Closes, SidePlan, Style, side_plan};
use crate::spans::Spans as _;
use crate::{Case, Feature, Features, links};

/// Every host listens on it.
pub(super) const LISTEN: u16 = 80;
/// Client ports start here, one for each connection.
pub(super) const FIRST_PORT: u16 = 1000;
/// Packets of an attacker in a world, about.
const MOST_ATTACKS: u32 = 1_000;
/// By how much transfers of some worlds are larger, and how many windows they are at most.
const MOST_WINDOWS: usize = 500;
const LARGER: usize = 100;
/// When worlds begin.
pub(super) const START: Instant = Instant::from_nanos(1_000_000_000_000);

/// A world.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) features: Features,
    /// Hosts are gateways, with a tunnel between each two.
    pub(super) is_sealed: bool,
    pub(super) hosts: Vec<HostPlan>,
    /// From each host to each other one.
    pub(super) paths: Vec<Vec<PathPlan>>,
    /// What every link is like after the harsh time.
    pub(super) healed: LinkConfig,
    pub(super) flows: Vec<FlowPlan>,
    /// How long it is harsh.
    pub(super) harsh: Duration,
    pub(super) faults: Vec<(Duration, Fault)>,
    /// The mean time between two packets of an attacker.
    pub(super) attack_gap: Option<Duration>,
    /// Packets that arrive at the same time are handed over together.
    pub(super) batches: bool,
}

/// A host.
#[derive(Clone, Debug)]
pub(super) struct HostPlan {
    /// Without a tunnel.
    pub(super) address: IpAddr,
    pub(super) profile: Arc<Profile>,
    pub(super) backlog: usize,
    pub(super) max_connections: usize,
    /// It knows where the other gateways are from the start; at least one of two does.
    pub(super) knows: bool,
    /// A gateway sends something at least so often.
    pub(super) keep_alive: Option<Duration>,
}

/// A path in one direction.
#[derive(Clone, Debug)]
pub(super) struct PathPlan {
    pub(super) link: LinkConfig,
    /// The longest packet that passes.
    pub(super) mtu: u16,
    /// Longer ones are dropped without a word.
    pub(super) is_black_hole: bool,
    /// The boxes on the way; the same in both directions.
    pub(super) boxes: Vec<BoxPlan>,
    /// Datagrams without a UDP checksum are dropped.
    pub(super) drops_unchecked: bool,
}

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct FlowPlan {
    /// Who opens, and to whom.
    pub(super) ends: [usize; 2],
    pub(super) port: u16,
    pub(super) starts: Duration,
    pub(super) sides: [SidePlan; 2],
    /// What this side says of what has arrived is changed on its way.
    pub(super) liar: Option<usize>,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The host's process begins anew.
    Restart(usize),
    /// The host's clock goes forward.
    Jump(usize, Duration),
    /// The host does nothing for so long.
    Stall(usize, Duration),
    /// The gateway is reached at another address.
    Roam(usize),
}

impl Fault {
    fn host(self) -> usize {
        match self {
            Self::Restart(host) | Self::Jump(host, _) | Self::Stall(host, _) | Self::Roam(host) => host,
        }
    }
}

impl Plan {
    /// Draws a world. Everything is drawn whatever its features are, and what it does not have is taken out afterwards: so a
    /// world with a feature less is otherwise the same.
    pub(super) fn new(case: &Case, is_sealed: bool) -> Self {
        let features = case.features();
        let has = |feature| features.has(feature);
        let rng = &mut Rng::new(case.seed);
        let is_v6 = rng.permille(300);
        let count = rng.pick(&[2, 2, 2, 3, 3, 4, 6]);
        let harsh = match rng.below(20) {
            0 if has(Feature::Long) => rng.millis(300_000, 1_500_000),
            0..=3 => rng.millis(20_000, 90_000),
            _ => rng.millis(500, 20_000),
        };
        let mut hosts: Vec<HostPlan> =
            (0..count).map(|number| host(&mut rng.fork(), number, is_v6, is_sealed, features)).collect();
        // One of each two has to know where the other is; who moves, where all others are.
        hosts[0].knows = true;
        let mover = rng.below(count);
        if has(Feature::Roam) {
            hosts[mover].knows = true;
        }
        let delay = rng.pick(&[0, 50, 1_000, 10_000, 60_000, 300_000]);
        let severity = rng.pick(&[0, 20, 50, 150, 250]);
        let mut paths = paths(&mut rng.fork(), count, (delay, severity), (is_v6, is_sealed), features);
        if !is_sealed {
            open_black_holes(&mut paths, &hosts);
        }
        let healed = LinkConfig {
            rate: rng.coin().then(|| Rate::from_bits_per_second(rng.between(1_000_000, 100_000_000))),
            delay: Duration::from_micros(delay),
            ..LinkConfig::default()
        };
        let most = rng.pick(&[1, 2, 4, 8]);
        let mut draws = rng.fork();
        let mut flows: Vec<FlowPlan> =
            (0..most).map(|number| flow(&mut draws.fork(), number, &hosts, harsh)).collect();
        let mut draws = rng.fork();
        let mut faults: Vec<_> =
            (0..draws.between(0, 6)).map(|_| fault(&mut draws, (count, mover), harsh)).collect();
        faults.sort_by_key(|&(at, _)| at);
        let attack_gap = rng.pick(&[2, 20, 200]).into_millis().max(harsh / MOST_ATTACKS);
        let batches = rng.permille(200);
        faults.retain(|&(_, fault)| match fault {
            Fault::Restart(_) => has(Feature::Restart),
            Fault::Jump(..) => has(Feature::Jump),
            Fault::Stall(..) => has(Feature::Stall),
            Fault::Roam(_) => has(Feature::Roam) && is_sealed,
        });
        // Enough packets for a replay window to pass over.
        let is_large = rng.permille(150) && has(Feature::Long);
        for flow in &mut flows {
            flow.limit(features);
            if is_large {
                let buffers = |end: usize| {
                    let profile = &hosts[end].profile;
                    profile.receive_buffer.min(profile.send_buffer)
                };
                let most = flow.ends.map(buffers).into_iter().min().unwrap_or(0).saturating_mul(MOST_WINDOWS);
                flow.sides.iter_mut().for_each(|side| side.total = most.min(side.total * LARGER));
            }
        }
        let attacks = if is_sealed { Feature::Replay } else { Feature::Forge };
        let mut plan = Self {
            seed: case.seed,
            features,
            is_sealed,
            hosts,
            paths,
            healed,
            flows,
            harsh,
            faults,
            attack_gap: has(attacks).then_some(attack_gap),
            batches,
        };
        plan.cut(case);
        plan
    }

    /// Leaves out what the case leaves out.
    fn cut(&mut self, case: &Case) {
        let count = self.hosts.len().min(case.hosts.max(2));
        self.hosts.truncate(count);
        let mut number = 0;
        self.flows.retain(|flow| {
            number += 1;
            case.has_flow(number - 1) && flow.ends.iter().all(|&end| end < count)
        });
        self.faults.retain(|(_, fault)| fault.host() < count);
        self.harsh = case.shortened(self.harsh);
    }
}

impl FlowPlan {
    fn limit(&mut self, features: Features) {
        if !features.has(Feature::Lie) {
            self.liar = None;
        }
        for side in &mut self.sides {
            // What is drawn for two hosts alone is judged there.
            side.changes = None;
            if !features.has(Feature::Slow)
                && let Style::Timed { .. } = side.style
            {
                side.style = Style::Told;
            }
            if !features.has(Feature::Abort) {
                side.aborts = None;
            }
            if !features.has(Feature::Leave) && side.closes == Closes::Leaves {
                side.closes = Closes::Written;
            }
        }
    }
}

fn host(rng: &mut Rng, number: usize, is_v6: bool, is_sealed: bool, features: Features) -> HostPlan {
    let address = if is_v6 {
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1 + number as u16))
    } else {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + number as u8))
    };
    let variant = if is_sealed { Variant::Headway } else { rng.pick(&Variant::ALL) };
    let mut profile = profile(&mut rng.fork(), variant);
    let small = profile.receive_buffer.max(200);
    profile.mtu = rng.pick(&[296, 576, 1280, 1500, 1500, 9000]);
    if is_v6 {
        profile.mtu = profile.mtu.max(1280);
    }
    // Failures must have a reason that is seen from here.
    profile.user_timeout = None;
    profile.rto.retries = Some(15).filter(|_| rng.coin());
    profile.syn_retries = 10;
    profile.receive_buffer = profile.receive_buffer.max(3000);
    profile.send_buffer = profile.send_buffer.max(3000);
    profile.congestion = match variant.is_modern() {
        true => rng.pick(&[Algorithm::Cubic, Algorithm::Bbr, Algorithm::Bbr, Algorithm::Reno]),
        false => profile.congestion,
    };
    if is_sealed {
        // As a gateway has it.
        profile.mtu = u16::MAX;
        profile.hack_rules = headway_tcp::HackRules::Default;
        profile.timestamps = true;
        profile.tagged_payloads = true;
        profile.time_wait = 2.into_secs();
        profile.rto.retries = None;
        profile.keep_alive = Some(KeepAlive { idle: 600.into_secs(), interval: 10.into_secs(), probes: 61 });
    } else {
        profile.keep_alive = None;
    }
    let limits = rng.permille(500);
    let (backlog, most) = (rng.pick(&[1, 2, 8]), rng.pick(&[2, 4, 16]));
    let is_limited = limits && features.has(Feature::Limits);
    if is_limited {
        profile.receive_buffer = small;
    }
    HostPlan {
        address,
        profile: Arc::new(profile),
        backlog: if is_limited { backlog } else { 64 },
        max_connections: if is_limited { most.max(8) } else { 1 << 20 },
        knows: rng.coin(),
        keep_alive: rng.coin().then(|| rng.pick(&[1, 10, 25]).into_secs()),
    }
}

fn paths(
    rng: &mut Rng,
    count: usize,
    (delay, severity): (u64, u64),
    (is_v6, is_sealed): (bool, bool),
    features: Features,
) -> Vec<Vec<PathPlan>> {
    // Of each two hosts, by the lower and the higher number.
    let mut boxes: BTreeMap<(usize, usize), Vec<BoxPlan>> = BTreeMap::new();
    for pair in (0..count).flat_map(|from| (from + 1..count).map(move |to| (from, to))) {
        let mut draws = rng.fork();
        boxes.insert(pair, if is_sealed { Vec::new() } else { BoxPlan::draw(&mut draws, features) });
    }
    (0..count)
        .map(|from| {
            (0..count)
                .map(|to| {
                    let mut draws = rng.fork();
                    let mut path = path(&mut draws, delay, severity, is_v6, is_sealed, features);
                    let between = boxes.get(&(from.min(to), from.max(to)));
                    path.boxes = between.cloned().unwrap_or_default();
                    path
                })
                .collect()
        })
        .collect()
}

/// Black holes stay where the sender finds them: in profiles that search the MTU (RFC 4821), and down to what every IPv4 path is taken
/// to carry.
fn open_black_holes(paths: &mut [Vec<PathPlan>], hosts: &[HostPlan]) {
    for (paths, host) in paths.iter_mut().zip(hosts) {
        for path in paths.iter_mut().filter(|path| path.is_black_hole) {
            path.is_black_hole = host.profile.mtu_search;
            path.mtu = if path.is_black_hole { path.mtu.max(576) } else { u16::MAX };
        }
    }
}

fn path(
    rng: &mut Rng,
    delay: u64,
    severity: u64,
    is_v6: bool,
    is_sealed: bool,
    features: Features,
) -> PathPlan {
    let mut link = link(&mut rng.fork(), if rng.permille(200) { 0 } else { severity }, delay);
    links::limit(&mut link, features);
    links::extend(&mut rng.fork(), &mut link, features);
    let mute = format!("{}ms@{}ms", rng.between(1, 4_000), 1_000_000 + rng.below(20_000));
    if rng.permille(300) && features.has(Feature::Mute) {
        link.mute = mute.parse().expect("a length and a time");
    }
    let shortest = if is_v6 || is_sealed { 1280 } else { 296 };
    let mtu = rng.between(shortest, 1500_u64) as u16;
    let [has_mtu, is_silent, drops_unchecked] = [300, 300, 300].map(|share| rng.permille(share));
    let is_black_hole = is_silent && features.has(Feature::BlackHole);
    let is_short = has_mtu && features.has(Feature::Mtu) || is_black_hole;
    PathPlan {
        link,
        // A gateway finds out by itself.
        mtu: if is_short { mtu } else { u16::MAX },
        is_black_hole: is_black_hole || is_sealed,
        boxes: Vec::new(),
        drops_unchecked: drops_unchecked && features.has(Feature::Unchecked),
    }
}

fn link(rng: &mut Rng, severity: u64, delay: u64) -> LinkConfig {
    let rate = rng.coin().then(|| rng.between(100_000, 50_000_000));
    let queue = match rate {
        Some(rate) => QueueLimit::Bytes(rng.between(3_000, (rate / 16).max(3_001))),
        None => QueueLimit::Unlimited,
    };
    let damaged = rng.pick(&[20, 100, 300, 300]);
    let damaged = rng.share(damaged);
    let burst = headway_link::BurstClock::Packets;
    let damage = match rng.below(7) {
        0 => Damage::None,
        1..=2 => Damage::Random { p: damaged },
        3 => Damage::BitErrors { ber: damaged.value() / 5000.0 },
        4 => Damage::Gilbert { p: damaged, r: rng.share(900), good: rng.share(10), bad: rng.share(1000) },
        5 => Damage::GilbertBit {
            p: headway_units::Share::new(damaged.value() / 20_000.0).expect("a part of one"),
            r: rng.share(1),
            good: 0.0,
            bad: 0.01,
        },
        _ => Damage::Burst { p: damaged, length: rng.between(1, 12), clock: burst },
    };
    LinkConfig {
        rate: rate.map(Rate::from_bits_per_second),
        delay: Duration::from_micros(delay),
        queue,
        jitter: rng.pick(&[0, 0, 1, 20, 100]).into_millis(),
        duplicate: rng.share(severity / 2),
        reorder: rng.share(severity),
        reorder_delay: rng.millis(0, 500),
        loss: rng.share(severity).into(),
        damage,
        header_hit: match rng.below(4) {
            0 => None,
            1 => Some(rng.share(1000)),
            _ => Some(rng.share(100)),
        },
        hit_zone: rng.pick(&[HitZone::TcpHeader, HitZone::IpAndTcpHeader]),
        flips: rng.coin().then(|| rng.pick(&[1, 2, 2, 2, 3, 4, 8, 200])),
        ..LinkConfig::default()
    }
}

fn flow(rng: &mut Rng, number: u16, hosts: &[HostPlan], harsh: Duration) -> FlowPlan {
    let from = rng.below(hosts.len());
    let to = (from + rng.between(1, hosts.len() - 1)) % hosts.len();
    let (ours, theirs) = (&hosts[from].profile, &hosts[to].profile);
    FlowPlan {
        ends: [from, to],
        port: FIRST_PORT + number,
        starts: Duration::from_micros(rng.below(harsh.as_micros())),
        sides: [side_plan(rng, ours, theirs, harsh), side_plan(rng, theirs, ours, harsh)],
        liar: rng.permille(150).then(|| rng.below(2)),
    }
}

fn fault(rng: &mut Rng, (count, mover): (usize, usize), harsh: Duration) -> (Duration, Fault) {
    let at = Duration::from_micros(rng.below(harsh.as_micros()));
    let host = rng.below(count);
    let time = rng.millis(10, 60_000);
    let fault = match rng.below(4) {
        0 => Fault::Restart(host),
        1 => Fault::Jump(host, time),
        2 => Fault::Stall(host, time.min(Duration::from_secs(20))),
        _ => Fault::Roam(mover),
    };
    (at, fault)
}
