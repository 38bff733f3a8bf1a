//! A peer that knows every number and keeps no rule: whatever it sends, the host neither panics
//! nor runs in circles, its counts stay sound, and when the peer falls silent nothing stays behind.
//!
//! `HEADWAY_SEEDS=N` tries N peers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::congestion::Algorithm;
use headway_tcp::{
    ConnectionId, Features, HackMode, HackRules, Host, HostConfig, KeepAlive, ListenerId, LossRecovery,
    Profile, State, Transmit, Variant,
};
use headway_test_fixture::packet;
use headway_test_fixture::rng::Rng;
use headway_test_fixture::seeds;
use headway_test_fixture::two_hosts::START;
use headway_units::{Duration, Instant};
use headway_wire::{
    ChecksumTrust, Ecn, IpHeader, Received, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps,
    V2, V2Offsets,
    ip::Datagram,
    patch::{self, Choice},
};

const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const THEIRS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
const STEPS: u32 = 1_000;

/// Which senders the host uses.
#[derive(Clone, Copy)]
enum Senders {
    Papers,
    Ours,
}

/// One of ours, with some of its features off.
fn ours(rng: &mut Rng) -> Profile {
    let variant = Variant::OURS[rng.below(3_usize)];
    let mut profile = variant.apply(Profile::modern());
    profile.congestion = [Algorithm::Cubic, Algorithm::Bbr, Algorithm::Reno][rng.below(3_usize)];
    let features = &mut profile.features;
    let Features { tlp, prr, frto, undo, hystart, pacing, ecn, autotune, sharing, cookies, .. } = features;
    for switch in [tlp, prr, frto, undo, hystart, pacing, ecn, autotune, sharing, cookies] {
        *switch &= !rng.one_in(5);
    }
    features.partial = variant == Variant::Headway && rng.one_in(2);
    profile
}

fn papers(rng: &mut Rng) -> Profile {
    let mut profile = if rng.one_in(2) { Profile::standard() } else { Profile::linux22() };
    profile.recovery =
        [LossRecovery::Reno, LossRecovery::Standard, LossRecovery::Linux22][rng.below(3_usize)];
    profile.hack = [HackMode::Off, HackMode::Hack, HackMode::Xhack, HackMode::Xhack][rng.below(4_usize)];
    profile
}

fn profile(rng: &mut Rng, senders: Senders) -> Profile {
    let mut profile = match senders {
        Senders::Papers => papers(rng),
        Senders::Ours => ours(rng),
    };
    profile.hack_rules = if rng.one_in(4) { HackRules::Literal } else { HackRules::Default };
    profile.nagle = rng.one_in(2);
    profile.send_buffer = 1 << (6 + rng.below(14));
    let bits = 1 + rng.below(19);
    profile.receive_buffer = 1 + rng.below(1 << bits) as usize;
    profile.mtu = [128, 576, 1500, 9000][rng.below(4_usize)];
    profile.s_buffer = rng.below(20) as usize;
    if rng.one_in(3) {
        let second = Duration::from_secs(1);
        profile.keep_alive = Some(KeepAlive { idle: second, interval: second, probes: 3 });
    }
    profile.rto.retries = Some(15);
    if rng.one_in(3) {
        profile.user_timeout = Some(Duration::from_secs(30));
    }
    profile
}

struct World {
    rng: Rng,
    host: Host,
    now: Instant,
    listener: ListenerId,
    id: Option<ConnectionId>,
    remote: SocketAddr,
    /// What the host said last: its next number, and what it expects; its timestamp.
    seq: SeqNumber,
    ack: SeqNumber,
    stamp: u32,
    /// What the peer has acknowledged.
    acked: SeqNumber,
    /// Whether the peer speaks version 2, and how many damaged packets it claims.
    v2: bool,
    count: u16,
}

impl World {
    fn new(seed: u64, senders: Senders) -> Self {
        let mut rng = Rng::new(seed);
        let mut host = Host::new(HostConfig::new(OURS, *b"a secret of ours"));
        let profile = Arc::new(profile(&mut rng, senders));
        let now = START;
        let listener = host.listen((OURS, 80).into(), 3, profile.clone()).unwrap();
        let mut remote = SocketAddr::new(THEIRS, 5000);
        let id = rng.one_in(2).then(|| {
            remote.set_port(7);
            host.connect(now, (OURS, 80).into(), remote, profile).unwrap()
        });
        let zero = SeqNumber(0);
        let v2 = matches!(senders, Senders::Ours) && !rng.one_in(4);
        let (seq, ack, acked) = (zero, zero, zero);
        Self { rng, host, now, listener, id, remote, seq, ack, stamp: 0, acked, v2, count: 0 }
    }

    /// A number near what would be right, or far from it.
    fn near(&mut self, seq: SeqNumber) -> SeqNumber {
        match self.rng.below(40) {
            0..6 => seq + self.rng.below(3),
            6 => seq - self.rng.below(3),
            7 => seq + self.rng.below(20_000),
            8 => seq - self.rng.below(20_000),
            9 => seq + (1 << 31) - 2 + self.rng.below(5),
            10 => SeqNumber(self.rng.next() as u32),
            _ => seq,
        }
    }

    fn flags(&mut self) -> TcpFlags {
        match self.rng.below(400) {
            0..8 => TcpFlags::SYN,
            8..16 => TcpFlags::SYN | TcpFlags::ACK,
            16 => TcpFlags::RST,
            17 => TcpFlags::FIN | TcpFlags::ACK,
            18 => TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST | TcpFlags::URG,
            19 => TcpFlags::FIN,
            _ => TcpFlags::ACK,
        }
    }

    fn options(&mut self, syn: bool) -> TcpOptions {
        let mut options = TcpOptions::default();
        if syn {
            options.mss = (!self.rng.one_in(4)).then(|| self.rng.next() as u16 >> self.rng.below(16));
            options.sack_permitted = self.rng.one_in(2);
            options.window_scale = self.rng.one_in(2).then(|| self.rng.below(20) as u8);
            options.hack = (!self.rng.one_in(3)).then_some(if self.rng.one_in(2) { 0x5848 } else { 0 });
        }
        if syn || !self.rng.one_in(30) {
            let echo = self.stamp.wrapping_sub(self.rng.below(3));
            let echo = if self.rng.one_in(30) { self.rng.next() as u32 } else { echo };
            let value = (self.now.as_nanos() / 1_000_000) as u32;
            let value = if self.rng.one_in(30) { self.rng.next() as u32 } else { value };
            options.timestamps = Some(Timestamps { tsval: value, tsecr: echo });
        }
        match self.rng.below(5) {
            0 if !syn => {
                for _ in 0..=self.rng.below(2) {
                    let (start, len) = (self.named(), self.rng.below(5_000));
                    options.sack.push((start, start + len));
                }
            }
            1 if !syn => options.hack_ack = Some(self.named()),
            2 if !syn => {
                for _ in 0..=self.rng.below(4) {
                    let seq = self.named();
                    options.xhack_ack.push(seq);
                }
            }
            _ => {}
        }
        options
    }

    /// The option of version 2: with numbers that make sense, and a count that runs away.
    fn v2(&mut self, syn: bool, data: bool) -> V2 {
        if syn {
            return V2::syn(self.rng.one_in(2));
        }
        if data {
            return V2::data();
        }
        self.count = match self.rng.below(10) {
            0 => self.rng.next() as u16,
            1..4 => self.count.wrapping_add(self.rng.below(50) as u16),
            _ => self.count,
        };
        let offset = |world: &mut Self| (world.named() - world.acked) as u32;
        let mut reported = V2Offsets::default();
        if self.rng.coin() {
            for _ in 0..=self.rng.below(4) {
                let offset = offset(self);
                reported.push(offset);
            }
        }
        V2::ack(self.count, reported)
    }

    fn named(&mut self) -> SeqNumber {
        let outstanding = (self.seq - self.acked).max(0) as u32;
        let seq = self.acked + self.rng.below(outstanding + 1);
        self.near(seq)
    }

    fn send(&mut self) {
        let flags = self.flags();
        let syn = flags.contains(TcpFlags::SYN);
        let longest = [1, 100, 1400, 8000][self.rng.below(4_usize)];
        let len = if self.rng.one_in(2) { 0 } else { self.rng.below(longest) as usize };
        let mut options = self.options(syn);
        if self.v2 && !self.rng.one_in(40) {
            let v2 = self.v2(syn, len > 0);
            (options.hack_ack, options.v2) = (None, Some(v2));
            options.xhack_ack.clear();
        }
        while options.encoded_len() > 40 {
            if options.sack.is_empty() {
                options.timestamps = None;
            }
            options.sack.clear();
        }
        let outstanding = (self.seq - self.acked).max(0) as u32;
        if self.rng.one_in(3) {
            self.acked = self.seq - if self.rng.one_in(4) { 0 } else { self.rng.below(outstanding + 1) };
        }
        let (seq, ack) = (self.near(self.ack), self.near(self.acked));
        let window = match self.rng.below(6) {
            0 if self.rng.one_in(3) => 0,
            1 => self.rng.below(10) as u16,
            _ => self.rng.next() as u16,
        };
        let (ip, tcp) = packet::headers(self.remote, (OURS, 80).into(), flags);
        let tcp = TcpHeader { seq, ack, window, urgent: u16::from(self.rng.one_in(20)), ..tcp };
        let ip = IpHeader { ecn: Ecn::from_bits(self.rng.below(4)), ..ip };
        // In the place of data, an ACK may have a report.
        let report = if len == 0 && self.rng.one_in(3) { self.rng.below(140) } else { 0 };
        let mut payload = vec![7; len];
        payload.extend((0..report).map(|_| self.rng.next() as u8));
        if !syn && self.rng.one_in(10) && options.v2.is_some() {
            options.sack.clear();
            options.v2 = Some(V2::patch());
            payload = self.patch();
        }
        let packet = packet::segment(&ip, &tcp, &options, &payload);
        let received = match (self.rng.below(8), Received::parse(&packet, ChecksumTrust::Tcp)) {
            (0 | 1, Received::Intact(segment)) => Received::Corrupted(segment),
            (2, _) if self.rng.one_in(4) => Received::Unreadable(Datagram::parse(&packet).ok()),
            (_, received) => received,
        };
        self.host.receive(self.now, &received);
    }

    /// Some blocks of a segment, or anything.
    fn patch(&mut self) -> Vec<u8> {
        let chosen = if self.rng.one_in(2) { self.rng.next() } else { 1 << self.rng.below(44_u32) };
        let choice = Choice::new(chosen, if self.rng.one_in(2) { self.rng.next() } else { 0 });
        let len = [65, 1400, 8000][self.rng.below(3_usize)];
        let mut patch = Vec::new();
        patch::write((&vec![7; len], &[]), choice, |piece| patch.extend_from_slice(piece));
        for _ in 0..self.rng.below(4) {
            let place = self.rng.below(patch.len() as u32) as usize;
            patch[place] ^= 1 << self.rng.below(8_u32);
        }
        if self.rng.one_in(4) {
            patch.truncate(self.rng.below(patch.len() as u32) as usize);
        }
        patch
    }

    /// Everything that the host wants to send now.
    fn drain(&mut self) {
        let mut buffer = vec![0; 9000];
        let mut packets = 0;
        while let Some(Transmit { len, .. }) = self.host.poll_transmit(self.now, &mut buffer) {
            packets += 1;
            assert!(packets < 60_000, "the host never stops sending");
            let segment = Segment::parse(&buffer[..len]).expect("a segment that can be read");
            if segment.tcp.flags.contains(TcpFlags::RST) {
                continue;
            }
            let end = segment.tcp.seq + segment.sequence_len();
            if segment.tcp.flags.contains(TcpFlags::SYN) {
                (self.seq, self.acked) = (end, end);
            }
            self.seq = self.seq.max(end);
            self.ack = segment.tcp.ack;
            self.stamp = segment.options.timestamps.map_or(0, |stamps| stamps.tsval);
        }
    }

    fn ask(&mut self) {
        if self.id.is_none_or(|id| self.host.state(id) == State::Closed) {
            if let Some(id) = self.id.take() {
                self.host.release(self.now, id);
            }
            self.id = self.host.accept(self.listener);
        }
        let Some(id) = self.id else { return };
        let n = self.rng.below(30_000) as usize;
        match self.rng.below(40) {
            0..15 => drop(self.host.write(id, &vec![3; n])),
            15..30 => self.host.consume(id, n),
            30 if self.rng.one_in(20) => drop(self.host.close(self.now, id)),
            31 if self.rng.one_in(100) => drop(self.host.abort(self.now, id)),
            32 if self.rng.one_in(10) => self.host.set_path_mtu(self.now, OURS, THEIRS, n as u16),
            33 if self.rng.one_in(100) => {
                self.host.release(self.now, id);
                self.id = None;
            }
            34 => while self.host.poll_notification().is_some() {},
            _ => {}
        }
    }

    fn wait(&mut self) {
        let span = [1, 5, 50, 300, 2_000][self.rng.below(5_usize)];
        self.now += Duration::from_millis(self.rng.below(span));
        self.host.handle_timeout(self.now);
        self.drain();
        let next = self.host.next_deadline();
        assert!(next.is_none_or(|at| at > self.now), "a timer that is due again at once");
    }

    fn check(&self) {
        let Some(statistics) = self.id.and_then(|id| self.host.statistics(id)) else { return };
        let (pipe, outstanding) = (statistics.pipe, statistics.unacknowledged);
        assert!(pipe <= 2 * outstanding, "a pipe of {pipe} bytes with {outstanding} outstanding");
        assert!(statistics.cwnd >= statistics.mss, "a window of less than a segment");
        // Buffers have at most 1 MiB here; what is written down of segments is bounded as well.
        assert!(statistics.memory < 8 << 20, "{} bytes of memory", statistics.memory);
        if statistics.state == State::Closed {
            assert_eq!((pipe, outstanding, statistics.unsent), (0, 0, 0));
        }
    }

    fn run(&mut self) {
        self.drain();
        for _ in 0..STEPS {
            match self.rng.below(10) {
                0..6 => self.send(),
                6..9 => self.ask(),
                _ => self.wait(),
            }
            if !self.rng.one_in(4) {
                self.drain();
            }
            self.check();
        }
        self.fall_silent();
    }

    /// No peer answers any more, and no program waits for an answer: every connection ends by itself.
    fn fall_silent(&mut self) {
        if let Some(id) = self.id {
            self.host.release(self.now, id);
        }
        self.host.close_listener(self.now, self.listener).unwrap();
        self.drain();
        let end = self.now + Duration::from_secs(24 * 3600);
        while let Some(at) = self.host.next_deadline().filter(|&at| at < end) {
            assert!(at > self.now, "a timer that is due again at once");
            self.now = at;
            self.host.handle_timeout(at);
            self.drain();
        }
        assert_eq!(self.host.connections(), 0, "connections that nothing ends");
    }
}

#[test]
fn no_peer_can_break_the_host() {
    try_peers(Senders::Papers, "no_peer_can_break_the_host");
}

#[test]
fn none_can_break_it_with_our_senders() {
    try_peers(Senders::Ours, "none_can_break_it_with_our_senders");
}

fn try_peers(senders: Senders, test: &str) {
    let command = format!("cargo test -p headway-tcp --test all {test}");
    seeds::each(300, &command, |seed| World::new(seed, senders).run());
}
