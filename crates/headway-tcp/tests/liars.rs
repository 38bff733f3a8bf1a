//! A peer that receives all that is sent and lies about it, over a path with a constant round trip.
//! Whatever it claims, the sender retransmits no more than its window each round trip, keeps its memory
//! within bounds, and delivers everything once the peer is honest.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use headway_tcp::congestion::Algorithm;
use headway_tcp::{ConnectionId, Host, HostConfig, Profile, Variant};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::{START, drain, hand_in};
use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Offsets};

const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const THEIRS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
const ROUND_TRIP: Duration = Duration::from_millis(100);
const MILLISECOND: Duration = Duration::from_millis(1);
const TOTAL: usize = 4 << 20;

/// What the peer lies about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// Counts damaged packets without end.
    Count,
    /// Counts every packet that the queue dropped, and no other, as damaged.
    CountDrops,
    /// Names everything outstanding in every ACK.
    NameAll,
    /// Names everything each millisecond, and foresees the timestamps of the copies.
    Foresee,
    /// Reports everything that is retransmitted as a duplicate, and never says that all has arrived.
    Duplicates,
    /// The same, but acknowledges what arrived, and counts damaged packets without end.
    CountedDuplicates,
    /// Counts a damaged packet for each 64 that arrive, and reports the latest retransmission as a duplicate in every
    /// ACK.
    RepeatedDuplicates,
    /// Echoes timestamps of long ago.
    OldEchoes,
    /// Acknowledges what it cannot have yet.
    Optimistic,
    /// Selectively acknowledges what never arrived, and takes it back.
    Renege,
    /// Acknowledges byte by byte.
    Divide,
    /// Closes its window, and opens it a little, again and again.
    Window,
    /// Acknowledges one segment in [`SLOWNESS`], as if nothing else had arrived intact, and counts without end.
    SlowCount,
    /// The same, and reports what is outstanding.
    SlowReports,
}

/// Longer than a retransmission timeout of this path.
const SLOWNESS: Duration = Duration::from_millis(700);

impl Lie {
    fn is_slow(self) -> bool {
        matches!(self, Self::SlowCount | Self::SlowReports)
    }
}

const LIES: [Lie; 15] = [
    Lie::None,
    Lie::Count,
    Lie::CountDrops,
    Lie::NameAll,
    Lie::Foresee,
    Lie::Duplicates,
    Lie::CountedDuplicates,
    Lie::RepeatedDuplicates,
    Lie::OldEchoes,
    Lie::Optimistic,
    Lie::Renege,
    Lie::Divide,
    Lie::Window,
    Lie::SlowCount,
    Lie::SlowReports,
];

/// One segment of the host as the peer saw it.
#[derive(Clone, Copy)]
struct Seen {
    seq: SeqNumber,
    len: u32,
    stamp: u32,
    again: bool,
}

struct World {
    host: Host,
    id: ConnectionId,
    now: Instant,
    /// What was agreed: version 2, or kind 16.
    v2: bool,
    xhack: bool,
    /// On their way to the host.
    under_way: VecDeque<(Instant, Vec<u8>)>,
    /// Data on its way to the peer.
    arriving: VecDeque<(Instant, Seen)>,
    port: u16,
    /// The peer's stand: what it has without a gap, and islands beyond.
    iss: SeqNumber,
    nxt: SeqNumber,
    islands: Vec<(SeqNumber, SeqNumber)>,
    /// What a slow liar has acknowledged, when it did so last, and how often.
    admitted: SeqNumber,
    admitted_at: Instant,
    admissions: u32,
    highest: SeqNumber,
    /// The latest retransmission that arrived.
    duplicate: Option<(SeqNumber, SeqNumber)>,
    stamp: u32,
    count: u16,
    acks: u32,
    written: usize,
    total: usize,
    /// Bytes retransmitted in the current round trip, and the largest window in it.
    again: u64,
    window: u64,
    round_ends: Instant,
    largest_share: f64,
    /// Every n-th data segment is lost, if not zero.
    loses: u32,
    segments: u32,
    /// The bottleneck, if there is one, and what it dropped and let through.
    bottleneck: Option<Bottleneck>,
    dropped: u16,
    passed: u32,
}

/// A link that takes so long for each segment, and a queue that takes in what has to wait no longer
/// than this.
#[derive(Clone, Copy)]
struct Bottleneck {
    each: Duration,
    longest: Duration,
    free_at: Instant,
}

impl Bottleneck {
    /// When a segment that comes now is through, unless it is dropped.
    fn pass(&mut self, now: Instant) -> Option<Instant> {
        let start = self.free_at.max(now);
        if start.saturating_since(now) > self.longest {
            return None;
        }
        self.free_at = start + self.each;
        Some(self.free_at)
    }
}

impl World {
    fn new(variant: Variant, change: impl FnOnce(&mut Profile), loses: u32) -> Self {
        let mut profile = variant.apply(Profile::modern());
        change(&mut profile);
        let (v2, xhack) = (variant == Variant::Headway, variant == Variant::ModernHack);
        let now = START;
        let mut host = Host::new(HostConfig::new(OURS, *b"a secret of ours"));
        let id = host.connect(now, (OURS, 80).into(), (THEIRS, 7).into(), Arc::new(profile)).unwrap();
        let zero = SeqNumber(0);
        let mut world = Self {
            host,
            id,
            now,
            v2,
            xhack,
            under_way: VecDeque::new(),
            arriving: VecDeque::new(),
            port: 80,
            iss: zero,
            nxt: zero,
            islands: Vec::new(),
            admitted: zero,
            admitted_at: now,
            admissions: 0,
            highest: zero,
            duplicate: None,
            stamp: 0,
            count: 0,
            acks: 0,
            written: 0,
            total: TOTAL,
            again: 0,
            window: 0,
            round_ends: now + ROUND_TRIP,
            largest_share: 0.0,
            loses: 0,
            segments: 0,
            bottleneck: None,
            dropped: 0,
            passed: 0,
        };
        world.drain();
        world.now += ROUND_TRIP;
        let options = TcpOptions {
            mss: Some(1460),
            sack_permitted: true,
            window_scale: Some(8),
            v2: v2.then(|| V2::syn(false)),
            hack: xhack.then_some(0x5848),
            ..TcpOptions::default()
        };
        world.nxt = world.iss + 1;
        (world.highest, world.admitted) = (world.nxt, world.nxt);
        let syn_ack = world.build(TcpFlags::SYN | TcpFlags::ACK, world.nxt, options, 1);
        world.deliver(&syn_ack);
        world.loses = loses;
        world
    }

    fn build(&mut self, flags: TcpFlags, ack: SeqNumber, mut options: TcpOptions, window: u16) -> Vec<u8> {
        options
            .timestamps
            .get_or_insert(Timestamps { tsval: (self.now.as_nanos() / 1_000_000) as u32, tsecr: self.stamp });
        let syn = flags.contains(TcpFlags::SYN);
        let (ip, tcp) = packet::headers((THEIRS, 7).into(), (OURS, self.port).into(), flags);
        let tcp = TcpHeader { seq: SeqNumber(if syn { 500 } else { 501 }), ack, window, ..tcp };
        packet::segment(&ip, &tcp, &options, &[])
    }

    fn deliver(&mut self, packet: &[u8]) {
        hand_in(&mut self.host, self.now, packet);
        self.drain();
    }

    fn drain(&mut self) {
        for packet in drain(&mut self.host, self.now) {
            let segment = Segment::parse(&packet).expect("a segment that can be read");
            let tcp = &segment.tcp;
            self.stamp = segment.options.timestamps.map_or(0, |stamps| stamps.tsval);
            if tcp.flags.contains(TcpFlags::SYN) {
                self.iss = tcp.seq;
                continue;
            }
            let len = segment.payload.len() as u32;
            if len == 0 {
                continue;
            }
            let again = tcp.seq.lt(self.highest);
            self.highest = self.highest.max(tcp.seq + len);
            self.again += if again { u64::from(len) } else { 0 };
            self.segments += 1;
            if self.loses > 0 && self.segments.is_multiple_of(self.loses) {
                continue;
            }
            let seen = Seen { seq: tcp.seq, len, stamp: self.stamp, again };
            let now = self.now;
            let Some(through) = self.bottleneck.as_mut().map_or(Some(now), |link| link.pass(now)) else {
                self.dropped = self.dropped.wrapping_add(1);
                continue;
            };
            self.passed += 1;
            self.arriving.push_back((through + ROUND_TRIP / 2, seen));
        }
    }

    /// A segment arrives at the peer, which keeps it.
    fn keep(&mut self, seen: Seen) {
        let (mut start, mut end) = (seen.seq.max(self.nxt), seen.seq + seen.len);
        if end.le(self.nxt) {
            return;
        }
        self.islands.retain(|island| {
            let apart = island.1.lt(start) || end.lt(island.0);
            if !apart {
                (start, end) = (start.min(island.0), end.max(island.1));
            }
            apart
        });
        if start.le(self.nxt) {
            self.nxt = end;
        } else {
            self.islands.push((start, end));
        }
    }

    fn answer(&mut self, seen: Seen, lie: Lie) {
        if lie.is_slow() {
            self.admit(seen, lie);
            return;
        }
        self.acks += 1;
        let echo = if lie == Lie::OldEchoes { seen.stamp.wrapping_sub(1000) } else { seen.stamp };
        let value = (self.now.as_nanos() / 1_000_000) as u32;
        let mut options = TcpOptions {
            timestamps: Some(Timestamps { tsval: value, tsecr: echo }),
            ..TcpOptions::default()
        };
        let mut ack = self.nxt;
        let mut window = 4000;
        let mut named = Vec::new();
        match lie {
            Lie::Count => self.count = self.count.wrapping_add(50),
            Lie::CountDrops => self.count = self.dropped,
            Lie::NameAll | Lie::Foresee => {
                self.count = self.count.wrapping_add(1);
                named = self.everything(ack);
            }
            Lie::Duplicates if seen.again => {
                options.sack.push((seen.seq, seen.seq + seen.len));
            }
            Lie::CountedDuplicates => {
                self.count = self.count.wrapping_add(50);
                let (start, end) = (seen.seq, seen.seq + seen.len);
                if seen.again {
                    options.sack.push((start, end));
                    let holds = |island: &&(SeqNumber, SeqNumber)| island.0.le(start) && end.le(island.1);
                    if let Some(&around) = self.islands.iter().find(holds) {
                        options.sack.push(around);
                    }
                }
            }
            Lie::RepeatedDuplicates => {
                self.count = (self.acks / 64) as u16;
                self.duplicate =
                    if seen.again { Some((seen.seq, seen.seq + seen.len)) } else { self.duplicate };
                if let Some(duplicate) = self.duplicate.filter(|duplicate| duplicate.1.le(ack)) {
                    options.sack.push(duplicate);
                }
            }
            Lie::Optimistic => ack = ack.max(seen.seq + seen.len + 3 * seen.len).min(self.highest),
            Lie::Renege if self.acks % 100 < 50 => {
                let end = self.highest;
                if (ack + 3000).lt(end) {
                    options.sack.push((ack + 1500, end));
                }
            }
            Lie::Window => window = if self.acks.is_multiple_of(3) { 0 } else { 40 },
            _ => {}
        }
        let room = if self.v2 { 2 } else { 3 };
        for &island in self.islands.iter().rev() {
            if lie != Lie::Renege && options.sack.len() < room {
                options.sack.push(island);
            }
        }
        self.name(&mut options, &named);
        while options.encoded_len() > 40 {
            options.sack.clear();
        }
        if lie == Lie::Divide {
            let from = ack - seen.len;
            for part in 1..=10 {
                let packet = self.build(TcpFlags::ACK, from + seen.len / 10 * part, options, window);
                self.under_way.push_back((self.now + ROUND_TRIP / 2, packet));
            }
        }
        self.nxt = self.nxt.max(ack);
        let packet = self.build(TcpFlags::ACK, ack, options, window);
        self.under_way.push_back((self.now + ROUND_TRIP / 2, packet));
    }

    /// A slow liar's answer: one segment more, after a while.
    fn admit(&mut self, seen: Seen, lie: Lie) {
        if self.now < self.admitted_at + SLOWNESS || self.admitted == self.highest {
            return;
        }
        self.admitted_at = self.now;
        self.admissions += 1;
        self.acks += 1;
        self.admitted = (self.admitted + seen.len).min(self.highest);
        self.count = self.count.wrapping_add(1000);
        let ack = self.admitted;
        let tsval = (self.now.as_nanos() / 1_000_000) as u32;
        let mut options =
            TcpOptions { timestamps: Some(Timestamps { tsval, tsecr: seen.stamp }), ..TcpOptions::default() };
        let named = if lie == Lie::SlowReports { self.everything(ack) } else { Vec::new() };
        self.name(&mut options, &named);
        let packet = self.build(TcpFlags::ACK, ack, options, 4000);
        self.under_way.push_back((self.now + ROUND_TRIP / 2, packet));
    }

    /// Some of what is outstanding, others each time, as distances from `ack`.
    fn everything(&mut self, ack: SeqNumber) -> Vec<u32> {
        let segments = ((self.highest - ack).max(0) as u32 / 1436).max(1);
        (0..4).map(|i| (self.acks * 4 + i) % segments * 1436).collect()
    }

    fn name(&self, options: &mut TcpOptions, named: &[u32]) {
        if self.v2 {
            let mut offsets = V2Offsets::default();
            named.iter().for_each(|&offset| {
                offsets.push(offset);
            });
            options.v2 = Some(V2::ack(self.count, offsets));
        } else if self.xhack {
            named.iter().for_each(|&offset| {
                options.xhack_ack.push(self.nxt + offset);
            });
        }
    }

    fn step(&mut self, lie: Lie) {
        let until = self.now + MILLISECOND;
        loop {
            let next = [
                self.host.next_deadline(),
                self.under_way.front().map(|packet| packet.0),
                self.arriving.front().map(|seen| seen.0),
            ];
            let Some(at) = next.into_iter().flatten().min().filter(|&at| at <= until) else { break };
            self.now = self.now.max(at);
            if self.under_way.front().is_some_and(|packet| packet.0 <= self.now) {
                let (_, packet) = self.under_way.pop_front().unwrap();
                self.deliver(&packet);
            } else if self.arriving.front().is_some_and(|seen| seen.0 <= self.now) {
                let (_, seen) = self.arriving.pop_front().unwrap();
                self.keep(seen);
                self.answer(seen, lie);
            } else {
                self.host.handle_timeout(self.now);
                self.drain();
            }
        }
        self.now = until;
        if lie == Lie::Foresee {
            // It acts as if the copies that leave now had arrived.
            let ack = self.nxt;
            (self.acks, self.count) = (self.acks + 1, self.count.wrapping_add(1));
            let named = self.everything(ack);
            let mut options = TcpOptions::default();
            self.name(&mut options, &named);
            let packet = self.build(TcpFlags::ACK, ack, options, 4000);
            self.deliver(&packet);
        }
        self.write();
        self.measure();
    }

    fn write(&mut self) {
        while self.written < self.total {
            let chunk = vec![7; (self.total - self.written).min(64 << 10)];
            let taken = self.host.write(self.id, &chunk).unwrap_or(0);
            self.written += taken;
            if taken < chunk.len() {
                break;
            }
        }
        self.drain();
    }

    fn measure(&mut self) {
        let Some(statistics) = self.host.statistics(self.id) else { return };
        self.window = self.window.max(statistics.cwnd.into());
        assert!(statistics.memory < 64 << 20, "{} bytes of memory", statistics.memory);
        if self.now >= self.round_ends {
            let share = self.again as f64 / self.window.max(1) as f64;
            self.largest_share = self.largest_share.max(share);
            (self.again, self.window) = (0, 0);
            self.round_ends = self.now + ROUND_TRIP;
        }
    }

    fn run(&mut self, lie: Lie, steps: u32) {
        for _ in 0..steps {
            self.step(lie);
        }
    }

    fn is_done(&self) -> bool {
        self.nxt - (self.iss + 1) >= self.total as i32
    }
}

/// Lies for some seconds.
fn lie_to(variant: Variant, lie: Lie, loses: u32, change: impl FnOnce(&mut Profile)) -> World {
    let mut world = World::new(variant, change, loses);
    world.run(lie, 4_000);
    world
}

#[test]
fn no_lie_makes_it_send_again_faster_than_its_window() {
    for variant in Variant::OURS {
        for lie in LIES {
            for (loses, pacing) in [(0, true), (20, true), (0, false), (20, false)] {
                let mut world = lie_to(variant, lie, loses, |profile| profile.features.pacing = pacing);
                let share = world.largest_share;
                println!("{variant} {lie:?}, losing {loses}, pacing {pacing}: {share:.2}");
                // A window in a round trip; twice that, less what is sent anew, where a copy counts as reported after
                // half a round trip. Measured: at most 1.8, and 1.0 with version 2 and pacing.
                assert!(share < 2.0, "{variant}, {lie:?}, losing {loses}, pacing {pacing}: {share:.2}");
                for _ in 0..600_000 {
                    if world.is_done() {
                        break;
                    }
                    world.step(Lie::None);
                }
                assert!(world.is_done(), "{variant}, {lie:?}, {loses}: honest now, and nothing comes of it");
            }
        }
    }
}

/// A peer that acknowledges one segment per timeout, and says of all others that they arrived damaged: for each that it
/// acknowledges, no more than eight are sent in the mean, and 64 beside the first window at the beginning.
#[test]
fn a_slow_liar_gains_nothing() {
    for variant in [Variant::Headway] {
        for lie in [Lie::SlowCount, Lie::SlowReports] {
            for congestion in [Algorithm::Bbr, Algorithm::Cubic] {
                let mut world = World::new(variant, |profile| profile.congestion = congestion, 0);
                world.total = 1 << 30;
                world.run(Lie::None, 1_000);
                world.admitted = world.nxt;
                let before = world.segments;
                world.run(lie, 10_000);
                let first = world.segments - before;
                let (sent, admitted) = (world.segments, world.admissions);
                world.run(lie, 60_000);
                let (sent, admitted) = (world.segments - sent, world.admissions - admitted);
                let share = f64::from(sent) / f64::from(admitted);
                println!(
                    "{variant} {congestion:?}, {lie:?}: {first} at first, {share:.1} for each of {admitted}"
                );
                assert!(admitted > 0, "{variant} {congestion:?}, {lie:?}");
                // Those that are believed to be damaged, what takes their place, and a timer's own.
                assert!(share <= 9.0, "{variant} {congestion:?}, {lie:?}: {share:.1} for each of {admitted}");
            }
        }
    }
}

/// A peer that counted without end made the drops of a queue look like damage. Once it stops, they are answered again, once the
/// evidence is too old, which lasts 30 seconds.
#[test]
fn what_was_counted_without_reason_is_forgotten() {
    for congestion in [Algorithm::Cubic, Algorithm::Bbr] {
        let mut world = World::new(Variant::Headway, |profile| profile.congestion = congestion, 0);
        world.total = 1 << 30;
        let each = Duration::from_millis(10);
        world.bottleneck = Some(Bottleneck { each, longest: ROUND_TRIP, free_at: world.now });
        let mut share = |lie, time| {
            let (sent, passed) = (world.segments, world.passed);
            world.run(lie, time);
            f64::from(world.segments - sent) / f64::from(world.passed - passed)
        };
        let lied = share(Lie::Count, 10_000);
        share(Lie::None, 40_000);
        let honest = share(Lie::None, 20_000);
        println!("{congestion:?}: {lied:.2} segments sent for each that passed, then {honest:.2}");
        assert!(
            lied > 2.0 && honest < 1.1,
            "{congestion:?}: {lied:.2}, then {honest:.2} for each that passed"
        );
    }
}

/// A queue that overflows, behind which a peer says of what is missing that it arrived damaged. What it
/// hides of congestion is bounded: for each segment that arrives no more than seven are believed, and 64 in eight round
/// trips, which are 0.8 for each that passes here. What is lost beside these is answered as congestion: up to 0.6 for each. (Without that bound the first of these has 47 segments sent for each
/// that passes, in the first ten seconds.)
#[test]
fn hidden_congestion_is_bounded() {
    for (lie, limit) in [
        (Lie::None, 1.1),
        (Lie::CountDrops, 9.5),
        (Lie::Count, 9.5),
        (Lie::CountedDuplicates, 9.5),
        (Lie::RepeatedDuplicates, 1.1),
    ] {
        let mut world = World::new(Variant::Headway, |_| (), 0);
        world.total = 1 << 30;
        // 100 segments a second; the queue is a round trip long.
        let each = Duration::from_millis(10);
        world.bottleneck = Some(Bottleneck { each, longest: ROUND_TRIP, free_at: world.now });
        for seconds in (0..60).step_by(10) {
            let (sent, passed) = (world.segments, world.passed);
            world.run(lie, 10_000);
            let passed = world.passed - passed;
            let share = f64::from(world.segments - sent) / f64::from(passed);
            println!("{lie:?}, {seconds} s: {share:.2} segments sent for each of {passed} that passed");
            assert!(passed > 900, "{lie:?}, {seconds} s: the link is in use: {passed} segments");
            assert!(share < limit, "{lie:?}, {seconds} s: {share:.2} segments sent for each that passed");
        }
    }
}
