//! Two connected hosts whose fate a string of bytes decides: which senders they are, what they write
//! and read, in which order packets and timers come, what is lost, doubled, damaged or forged.
//!
//! Nothing may panic, run in circles or grow without bound. As long as nothing was forged, and no
//! damage passed every checksum, each byte that is read must be the one that was written, and once
//! the network behaves, all arrive or the connection reports its failure.

use std::collections::VecDeque;
use std::sync::Arc;

use headway_tcp::congestion::Algorithm;
use headway_tcp::{ConnectionId, Host, HostConfig, ListenerId, Profile, Variant};
use headway_test_fixture::two_hosts::{PATTERNS, START, address, drain, endpoint, hand_in};
use headway_units::{Duration, Instant};
use headway_wire::{Integrity, Segment, SeqNumber, TcpFlags, emit, judge};

/// Deeds of one string at most.
const MOST_DEEDS: usize = 500;
/// Packets and timers after which a network that behaves must have carried everything.
const PATIENCE: usize = 20_000;
/// More than two hosts with these buffers can have to say at once.
const LARGEST_BURST: usize = 5_000;

/// What the bytes say, one after the other; nothing but zeros behind their end.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.next()) % n
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

fn profile(script: &mut Script<'_>) -> Profile {
    let variant = script.pick(&Variant::ALL);
    let base = match script.next() % 2 {
        _ if variant.is_modern() => Profile::modern(),
        0 => Profile::standard(),
        _ => Profile::linux22(),
    };
    let mut profile = variant.apply(base);
    if variant.is_modern() {
        profile.congestion = script.pick(&[Algorithm::Cubic, Algorithm::Bbr, Algorithm::Reno]);
        let off = script.next();
        let features = &mut profile.features;
        for (bit, switch) in [
            &mut features.tlp,
            &mut features.prr,
            &mut features.frto,
            &mut features.undo,
            &mut features.pacing,
            &mut features.ecn,
            &mut features.autotune,
            &mut features.repair,
        ]
        .into_iter()
        .enumerate()
        {
            *switch &= off & (1 << bit) == 0;
        }
        profile.features.partial = profile.features.repair && off & 0x81 == 0x01;
    }
    profile.timestamps = !script.next().is_multiple_of(3);
    profile.mtu = script.pick(&[128, 576, 1500]);
    profile.send_buffer = script.pick(&[1, 500, 5_000, 60_000]);
    profile.receive_buffer = script.pick(&[1, 500, 5_000, 60_000]);
    profile.rto.retries = Some(15);
    profile
}

struct Side {
    host: Host,
    id: Option<ConnectionId>,
    written: usize,
    read: usize,
    closed: bool,
    /// Bytes that it writes at most: through a tiny window each takes a round trip.
    most: usize,
    /// What it has sent and the other has not got yet, with whether it was damaged.
    out: VecDeque<(Vec<u8>, bool)>,
}

struct Pair {
    sides: [Side; 2],
    listener: ListenerId,
    now: Instant,
    /// Something false was believed, or may be.
    poisoned: bool,
    failed: bool,
}

impl Pair {
    fn new(script: &mut Script<'_>) -> Self {
        let profiles = [(); 2].map(|()| Arc::new(profile(script)));
        let now = START;
        let mut hosts = [0, 1].map(|side| Host::new(HostConfig::new(address(side), [side as u8; 16])));
        let end = endpoint(1);
        let listener = hosts[1].listen(end, 4, profiles[1].clone()).expect("nothing listens");
        let id = hosts[0].connect(now, endpoint(0), end, profiles[0].clone());
        let side = |host, id, peer: &Profile| {
            let most = 40 * peer.receive_buffer;
            Side { host, id, written: 0, read: 0, closed: false, most, out: VecDeque::new() }
        };
        let [first, second] = hosts;
        let sides = [side(first, id.ok(), &profiles[1]), side(second, None, &profiles[0])];
        Self { sides, listener, now, poisoned: false, failed: false }
    }

    fn deed(&mut self, script: &mut Script<'_>) {
        let kind = script.next();
        let side = usize::from(kind >> 7);
        match kind & 0x7f {
            0..30 => self.deliver(side),
            30..38 => drop(self.sides[side].out.pop_front()),
            38..42 => {
                if let Some(packet) = self.sides[side].out.front().cloned() {
                    self.sides[side].out.push_back(packet);
                }
            }
            42..48 => self.sides[side].out.rotate_left(usize::from(self.sides[side].out.len() > 1)),
            48..66 => self.damage(side, script),
            66..72 => self.forge(side, script),
            72..88 => self.write(side, usize::from(script.next()) * 20),
            88..100 => self.read(side, usize::from(script.next()) * 20),
            100..116 => self.wait(Duration::from_millis(1 << (script.next() % 13))),
            116..122 => self.wait_for_a_timer(),
            122 => {
                let mtu = u16::from(script.next()) * 6;
                self.sides[side].host.set_path_mtu(self.now, address(side), address(1 - side), mtu);
            }
            123 => self.close(side),
            124 if script.next().is_multiple_of(8) => {
                if let Some(id) = self.sides[side].id {
                    let _ = self.sides[side].host.abort(self.now, id);
                    self.failed = true;
                }
            }
            _ => self.read(side, usize::MAX),
        }
        self.collect(side);
        self.collect(1 - side);
        self.check();
    }

    /// Takes what a host has to send, and the connection that it accepts.
    fn collect(&mut self, side: usize) {
        let this = &mut self.sides[side];
        if side == 1 && this.id.is_none() {
            this.id = this.host.accept(self.listener);
        }
        this.out.extend(drain(&mut this.host, self.now).into_iter().map(|packet| (packet, false)));
        while this.host.poll_notification().is_some() {}
    }

    /// The oldest packet on its way from `side` arrives.
    fn deliver(&mut self, side: usize) {
        let Some((packet, damaged)) = self.sides[side].out.pop_front() else { return };
        self.poisoned |= damaged && judge(&packet) == Ok(Integrity::Intact);
        hand_in(&mut self.sides[1 - side].host, self.now, &packet);
        self.collect(1 - side);
    }

    fn damage(&mut self, side: usize, script: &mut Script<'_>) {
        let Some((packet, damaged)) = self.sides[side].out.front_mut() else { return };
        let before = packet.clone();
        for _ in 0..=script.below(4) {
            let place = usize::from(script.next()) * (1 + usize::from(script.next() % 6));
            if let Some(byte) = packet.get_mut(place) {
                *byte ^= script.next();
            }
        }
        if script.next().is_multiple_of(16) {
            packet.truncate(usize::from(script.next()));
        }
        *damaged |= *packet != before;
    }

    /// A peer that lies: fields and options are others, and every sum is right.
    fn forge(&mut self, side: usize, script: &mut Script<'_>) {
        let Some((packet, damaged)) = self.sides[side].out.front_mut() else { return };
        let Ok(segment) = Segment::parse(packet) else { return };
        let (mut tcp, mut options) = (segment.tcp, segment.options);
        let step = u32::from(script.next()) << (script.next() % 24);
        match script.next() % 9 {
            0 => tcp.ack += step,
            1 => tcp.ack = tcp.ack - step,
            2 => tcp.seq += step,
            3 => tcp.window = step as u16,
            4 => tcp.flags = TcpFlags::from_bits(step as u8),
            5 => {
                options.sack.push((tcp.ack + step, tcp.ack + step + u32::from(script.next()) * 100));
            }
            6 => {
                if let Some(stamps) = &mut options.timestamps {
                    (stamps.tsval, stamps.tsecr) = (stamps.tsval.wrapping_add(step), stamps.tsecr ^ step);
                }
            }
            7 => options.hack_ack = Some(tcp.ack + step),
            _ => forge_v2(&mut options, tcp.ack, step),
        }
        let mut forged = vec![0; 1600];
        if let Ok(len) = emit(&mut forged, &segment.ip, &tcp, &options, (segment.payload, &[])) {
            forged.truncate(len);
            *packet = forged;
            // It is as if it had been sent so.
            *damaged = false;
            self.poisoned = true;
        }
    }

    fn write(&mut self, side: usize, len: usize) {
        let this = &mut self.sides[side];
        let Some(id) = this.id.filter(|_| !this.closed) else { return };
        let len = len.min(this.most - this.written);
        let data = PATTERNS[side].bytes(this.written, len);
        this.written += this.host.write(id, &data).unwrap_or(0);
    }

    fn read(&mut self, side: usize, most: usize) {
        let this = &mut self.sides[side];
        let Some(id) = this.id else { return };
        let mut data = vec![0; most.min(this.host.readable(id))];
        let got = this.host.read(id, &mut data).unwrap_or(0);
        if !self.poisoned {
            PATTERNS[1 - side].check(this.read, &data[..got]);
        }
        this.read += got;
    }

    fn close(&mut self, side: usize) {
        let this = &mut self.sides[side];
        if let Some(id) = this.id {
            this.closed |= this.host.close(self.now, id).is_ok();
        }
    }

    fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        for side in [0, 1] {
            self.collect(side);
        }
        while let Some(at) = self.next_timer().filter(|&at| at <= until) {
            self.expire(at);
        }
        self.now = until;
    }

    fn wait_for_a_timer(&mut self) {
        if let Some(at) = self.next_timer() {
            self.expire(at);
        }
    }

    fn next_timer(&mut self) -> Option<Instant> {
        self.sides.iter_mut().filter_map(|side| side.host.next_deadline()).min()
    }

    fn expire(&mut self, at: Instant) {
        self.now = self.now.max(at);
        for side in [0, 1] {
            self.sides[side].host.handle_timeout(self.now);
            self.collect(side);
            let next = self.sides[side].host.next_deadline();
            assert!(next.is_none_or(|next| next > self.now), "a timer that is due again at once");
        }
    }

    fn check(&mut self) {
        for side in &mut self.sides {
            side.host.check().expect("a sound host");
            let Some(statistics) = side.id.and_then(|id| side.host.statistics(id)) else { continue };
            let (pipe, outstanding) = (statistics.pipe, statistics.unacknowledged);
            assert!(pipe <= 2 * outstanding, "a pipe of {pipe} bytes with {outstanding} outstanding");
            assert!(statistics.cwnd >= statistics.mss, "a window of less than a segment");
            assert!(statistics.memory < 1 << 20, "{} bytes of memory", statistics.memory);
            self.failed |= side.id.and_then(|id| side.host.error(id)).is_some();
            // What is under way is bounded by windows; forged ones may be large.
            side.out.truncate(LARGEST_BURST);
        }
    }

    /// From now on everything arrives, and programs read.
    fn heal(&mut self) {
        for turn in 0..PATIENCE {
            for side in [0, 1] {
                self.collect(side);
                self.read(side, usize::MAX);
            }
            self.check();
            if self.failed || self.is_complete() {
                return;
            }
            let side = turn % 2;
            if !self.sides[side].out.is_empty() {
                self.deliver(side);
            } else if self.sides[1 - side].out.is_empty() {
                self.wait_for_a_timer();
            }
        }
        let stand = |n: usize| (self.sides[n].written, self.sides[1 - n].read);
        assert!(self.poisoned, "nothing comes of it: written and read {:?} and {:?}", stand(0), stand(1));
    }

    fn is_complete(&self) -> bool {
        let [first, second] = &self.sides;
        first.written == second.read
            && second.written == first.read
            && self.sides.iter().all(|side| {
                let Some(statistics) = side.id.and_then(|id| side.host.statistics(id)) else { return true };
                statistics.unsent == 0 && statistics.unacknowledged == 0
            })
    }
}

fn forge_v2(options: &mut headway_wire::TcpOptions, ack: SeqNumber, step: u32) {
    use headway_wire::{V2, V2Ack};
    let Some(V2::Ack(said)) = &mut options.v2 else { return };
    match step % 2 {
        0 => said.damaged = said.damaged.wrapping_add(step as u16),
        _ => said.reported = V2Ack::offsets_from(ack, [ack + step, ack, ack + 1000]),
    }
}

/// Does what the bytes say.
pub(crate) fn check_two_hosts(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut pair = Pair::new(&mut script);
    pair.collect(0);
    for _ in 0..MOST_DEEDS {
        if script.0.is_empty() {
            break;
        }
        pair.deed(&mut script);
    }
    pair.heal();
}
