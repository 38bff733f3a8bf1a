//! Several connections in one congestion domain, over a link of a fixed rate and delay.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::congestion::{Algorithm, StartEstimate};
use headway_tcp::{
    ConnectionId, DomainId, Error, Host, HostConfig, ListenerId, Profile, Statistics, Transmit, Variant,
};
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Instant, Rate};
use headway_wire::{ChecksumTrust, Received, Segment};

/// 10 Mbit/s: bytes a millisecond.
const RATE: u64 = 1250;
/// One way, unless a test has another one.
const DELAY: Duration = Duration::from_millis(20);

fn address(host: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, host + 1).into()
}

fn server() -> SocketAddr {
    (address(1), 80).into()
}

fn profiles() -> [Profile; 2] {
    [Profile::standard(), Variant::Modern.apply(Profile::modern())]
        .map(|profile| Profile { congestion: Algorithm::Reno, ..profile.with_window(1 << 20) })
}

/// A client with connections in one domain, a server, and the link between them.
struct Network {
    now: Instant,
    hosts: [Host; 2],
    profile: Arc<Profile>,
    domain: DomainId,
    listener: ListenerId,
    members: Vec<ConnectionId>,
    opened: u16,
    accepted: Vec<ConnectionId>,
    /// Packets on their way to each host, with their times of arrival.
    under_way: [VecDeque<(Instant, Vec<u8>)>; 2],
    /// One way.
    delay: Duration,
    /// When the transmitter of the forward path is free.
    free_at: Instant,
    /// Data packets of these ports that the forward path still loses, one each.
    lose: Vec<u16>,
    /// Bursts of damage on the forward path, and how many packets the present one still hits.
    damage: Option<(Rng, u32)>,
    /// The most that all members had in the network beyond the window.
    excess: i64,
}

impl Network {
    fn new(profile: Profile, members: usize) -> Self {
        Self::over(DELAY, profile, members)
    }

    fn over(delay: Duration, profile: Profile, members: usize) -> Self {
        let profile = Arc::new(profile);
        let now = Instant::from_nanos(1_000_000_000_000);
        let mut hosts = [0, 1].map(|host| Host::new(HostConfig::new(address(host), [host; 16])));
        let listener = hosts[1].listen(server(), 64, profile.clone()).unwrap();
        let domain = hosts[0].open_domain(&profile).unwrap();
        let mut network = Self {
            now,
            hosts,
            profile,
            domain,
            listener,
            members: Vec::new(),
            opened: 0,
            accepted: Vec::new(),
            under_way: [VecDeque::new(), VecDeque::new()],
            delay,
            free_at: now,
            lose: Vec::new(),
            damage: None,
            excess: i64::MIN,
        };
        (0..members).for_each(|_| network.connect());
        network.run(delay * 2 + Duration::from_millis(60), |_| {});
        network
    }

    fn connect(&mut self) {
        self.connect_with(self.profile.clone());
    }

    fn connect_with(&mut self, profile: Arc<Profile>) {
        let local = SocketAddr::new(address(0), 5000 + self.opened);
        let member = self.hosts[0].connect_in(self.now, self.domain, local, server(), profile).unwrap();
        self.members.push(member);
        self.opened += 1;
    }

    fn statistics(&self, member: usize) -> Statistics {
        self.hosts[0].statistics(self.members[member]).unwrap()
    }

    fn window(&self) -> u32 {
        self.statistics(0).cwnd
    }

    /// Bytes that the peers of each member have received.
    fn received(&self) -> Vec<u64> {
        self.accepted.iter().map(|&id| self.hosts[1].statistics(id).unwrap().bytes_received).collect()
    }

    /// Lets `span` pass; `write` is called after everything that happens.
    fn run(&mut self, span: Duration, mut write: impl FnMut(&mut Self)) {
        let until = self.now + span;
        loop {
            write(self);
            self.transmit();
            let arrivals = self.under_way.iter().filter_map(|packets| Some(packets.front()?.0));
            let next = arrivals.min();
            let deadline = self.hosts.iter_mut().filter_map(Host::next_deadline).min();
            let Some(at) = next.into_iter().chain(deadline).min().filter(|&at| at <= until) else { break };
            self.now = self.now.max(at);
            for host in [0, 1] {
                while self.under_way[host].front().is_some_and(|&(at, _)| at <= self.now) {
                    let (at, packet) = self.under_way[host].pop_front().unwrap();
                    self.hosts[host].receive(at, &Received::parse(&packet, ChecksumTrust::None));
                }
                self.hosts[host].handle_timeout(self.now);
            }
            while let Some(id) = self.hosts[1].accept(self.listener) {
                self.accepted.push(id);
            }
            for &id in &self.accepted {
                let readable = self.hosts[1].readable(id);
                self.hosts[1].consume(id, readable);
            }
        }
        self.now = until;
    }

    fn transmit(&mut self) {
        let mut buffer = [0; 1500];
        while let Some(Transmit { len, .. }) = self.hosts[1].poll_transmit(self.now, &mut buffer) {
            self.under_way[0].push_back((self.now + self.delay, buffer[..len].to_vec()));
        }
        while let Some(Transmit { len, .. }) = self.hosts[0].poll_transmit(self.now, &mut buffer) {
            let pipes: u32 = (0..self.members.len()).map(|member| self.statistics(member).pipe).sum();
            self.excess = self.excess.max(i64::from(pipes) - i64::from(self.window()));
            let segment = Segment::parse(&buffer[..len]).unwrap();
            let port = segment.tcp.src_port;
            if let (false, Some(place)) =
                (segment.payload.is_empty(), self.lose.iter().position(|&lost| lost == port))
            {
                self.lose.swap_remove(place);
                continue;
            }
            let is_pure_ack = segment.payload.is_empty();
            self.free_at = self.free_at.max(self.now) + Duration::from_nanos(len as u64 * 1_000_000 / RATE);
            if self.damage(&mut buffer[..len], is_pure_ack) {
                self.under_way[1].push_back((self.free_at + self.delay, buffer[..len].to_vec()));
            }
        }
    }

    /// Damages a packet that a burst hits: its payload, or its IP header, with which it is lost. Says whether it
    /// arrives.
    fn damage(&mut self, packet: &mut [u8], is_pure_ack: bool) -> bool {
        let Some((rng, left)) = &mut self.damage else { return true };
        if *left == 0 && rng.one_in(8) {
            *left = 6;
        }
        if *left == 0 {
            return true;
        }
        *left -= 1;
        if is_pure_ack || rng.coin() {
            return false;
        }
        *packet.last_mut().expect("payload") ^= 1;
        true
    }
}

/// Each of these members has always something to send.
fn keep_writing(members: impl Iterator<Item = usize> + Clone) -> impl FnMut(&mut Network) {
    move |network| {
        for member in members.clone() {
            let id = network.members[member];
            let writable = network.hosts[0].writable(id);
            if writable > 0 {
                network.hosts[0].write(id, &vec![7; writable]).unwrap();
            }
        }
    }
}

#[test]
fn members_share_one_window_and_take_turns() {
    for profile in profiles() {
        let mut network = Network::new(profile, 4);
        assert_eq!(network.hosts[0].domain_members(network.domain), Ok(4));
        network.run(Duration::from_millis(1500), keep_writing(0..4));
        assert!(network.excess <= 0, "{} bytes beyond the window", network.excess);
        assert!(network.window() > 50_000, "the window grew: {}", network.window());
        let windows: Vec<u32> = (0..4).map(|member| network.statistics(member).cwnd).collect();
        assert_eq!(windows, [network.window(); 4]);
        let received = network.received();
        let (least, most) = (*received.iter().min().unwrap(), *received.iter().max().unwrap());
        assert!(received.iter().sum::<u64>() > 1_000_000, "the link was used: {received:?}");
        assert!(most - least <= most / 10, "to each the same: {received:?}");
    }
}

#[test]
fn a_turn_has_as_many_bytes_whatever_the_length_of_segments() {
    for profile in profiles() {
        let mut network = Network::new(profile.clone(), 0);
        for mtu in [1500, 1500, 600, 300] {
            network.connect_with(Arc::new(Profile { mtu, ..profile.clone() }));
        }
        network.run(Duration::from_millis(100), |_| {});
        network.run(Duration::from_secs(3), keep_writing(0..4));
        // On the wire: data, and the 40 bytes of headers and 12 of timestamps of each segment.
        let sent: Vec<u64> = (0..4)
            .map(|member| {
                let statistics = network.statistics(member);
                statistics.bytes_sent + statistics.segments_sent * 52
            })
            .collect();
        let (least, most) = (*sent.iter().min().unwrap(), *sent.iter().max().unwrap());
        assert!(sent.iter().sum::<u64>() > 3_000_000, "the link was used: {sent:?}");
        assert!(most - least <= most / 20, "to each the same: {sent:?}");
    }
}

#[test]
fn a_domain_says_what_it_knows() {
    let [loss_based, modern] = profiles();
    let mut bbr = Profile { congestion: Algorithm::Bbr, ..modern };
    bbr.features.ledger = true;
    for profile in [loss_based, bbr] {
        let has_model = profile.congestion == Algorithm::Bbr;
        let mut network = Network::new(profile, 3);
        let known = |network: &Network| network.hosts[0].domain_status(network.domain).unwrap();
        assert_eq!((known(&network).members, known(&network).bandwidth), (3, None), "nothing was sent");
        network.run(Duration::from_millis(2000), keep_writing(0..3));
        let status = known(&network);
        let pipe: u32 = (0..3).map(|member| network.statistics(member).pipe).sum();
        assert_eq!((status.window, status.pipe), (network.window(), pipe));
        assert_eq!(status.bandwidth.is_some(), has_model);
        let mbit = status.bandwidth.map_or(10, |rate| rate.bits_per_second() / 1_000_000);
        assert!((9..=11).contains(&mbit), "a link of 10 Mbit/s: {status:?}");
        let path = network.hosts[0].path(address(0), address(1)).unwrap();
        assert!(path.transmissions() > 1000);
        if has_model {
            assert!(
                path.ledger.min_rtt() >= Some(DELAY * 2)
                    && path.ledger.smoothed_rtt() >= path.ledger.min_rtt()
            );
        }
    }
}

#[test]
fn what_a_member_leaves_the_others_have() {
    for profile in profiles() {
        let mut network = Network::new(profile, 3);
        network.run(Duration::from_millis(1000), keep_writing(0..3));
        for gone in [1, 2] {
            let id = network.members[gone];
            network.hosts[0].abort(network.now, id).unwrap();
            network.hosts[0].release(network.now, id);
        }
        network.members.truncate(1);
        assert!(network.statistics(0).pipe < network.window() / 2);
        // What the others had in the queue leaves it.
        network.run(Duration::from_millis(1000), keep_writing(0..1));
        let before = network.received();
        network.run(Duration::from_millis(1000), keep_writing(0..1));
        assert_eq!(network.hosts[0].domain_members(network.domain), Ok(1));
        assert!(network.excess <= 0, "{} bytes beyond the window", network.excess);
        let received = network.received()[0] - before[0];
        assert!(received > RATE * 1000 * 9 / 10, "the whole link: {received}");
        // The last one goes, and another begins where it was.
        let window = network.window();
        let last = network.members.pop().unwrap();
        network.hosts[0].abort(network.now, last).unwrap();
        network.hosts[0].release(network.now, last);
        network.connect();
        network.run(Duration::from_millis(100), |_| {});
        assert_eq!(network.window(), window);
    }
}

#[test]
fn one_loss_reduces_the_window_once() {
    for profile in profiles() {
        // One member loses a segment, then every member does in the same round trip.
        for losers in [1, 4] {
            let mut network = Network::new(profile.clone(), 4);
            network.run(Duration::from_millis(400), keep_writing(0..4));
            let before = network.window();
            network.lose = (0..losers).map(|member| 5000 + member).collect();
            network.run(Duration::from_millis(600), keep_writing(0..4));
            assert!(network.lose.is_empty());
            let recoveries: u64 = (0..4).map(|member| network.statistics(member).fast_recoveries).sum();
            assert_eq!(recoveries, u64::from(losers));
            assert_eq!((0..4).map(|member| network.statistics(member).timeouts).sum::<u64>(), 0);
            let threshold = network.statistics(0).ssthresh;
            assert!(threshold >= before * 2 / 5, "{losers} losses: from {before} to {threshold}");
            assert!(threshold < u32::MAX, "the window was reduced");
            let received = network.received();
            let (least, most) = (*received.iter().min().unwrap(), *received.iter().max().unwrap());
            assert!(least >= most / 2, "no connection is left behind: {received:?}");
        }
    }
}

#[test]
fn a_listener_opens_connections_in_a_domain() {
    let profile = Arc::new(Profile::modern());
    let mut hosts = [0, 1].map(|host| Host::new(HostConfig::new(address(host), [host; 16])));
    let listener = hosts[1].listen(server(), 4, profile.clone()).unwrap();
    let domain = hosts[1].open_domain(&profile).unwrap();
    hosts[1].set_listener_domain(listener, Some(domain)).unwrap();
    let now = Instant::from_nanos(1_000_000_000);
    let mut buffer = [0; 1500];
    for port in [0, 0] {
        hosts[0].connect(now, (address(0), port).into(), server(), profile.clone()).unwrap();
        for (from, to) in [(0, 1), (1, 0), (0, 1)] {
            while let Some(Transmit { len, .. }) = hosts[from].poll_transmit(now, &mut buffer) {
                hosts[to].receive(now, &Received::parse(&buffer[..len], ChecksumTrust::None));
            }
        }
    }
    assert_eq!(hosts[1].domain_members(domain), Ok(2));
    hosts[1].close_domain(domain).unwrap();
    assert_eq!(hosts[1].set_listener_domain(listener, Some(domain)), Err(Error::UnknownDomain));
    for _ in 0..2 {
        let id = hosts[1].accept(listener).unwrap();
        assert!(hosts[1].domain_members(domain).is_ok());
        hosts[1].abort(now, id).unwrap();
        hosts[1].release(now, id);
        while hosts[1].poll_transmit(now, &mut buffer).is_some() {}
    }
    assert_eq!(hosts[1].domain_members(domain), Err(Error::UnknownDomain), "no connection needs it any more");
}

/// Where nothing follows a message, only the timers can tell that its retransmission was lost too: no member waits
/// for ever, with anything or nothing of it in the network.
#[test]
fn single_messages_arrive_whatever_is_damaged() {
    const MESSAGE: usize = 1000;
    for seed in 0..40 {
        let profile = Variant::Headway.apply(Profile::modern().with_window(1 << 20));
        let mut network = Network::new(profile, 3);
        network.damage = Some((Rng::new(seed), 0));
        for message in 0..60 {
            let id = network.members[message % 2];
            assert_eq!(
                network.hosts[0].write(id, &[7; MESSAGE]),
                Ok(MESSAGE),
                "message {message}, seed {seed}"
            );
            network.run(Duration::from_millis(300), |_| {});
        }
        // The longest timeout after six losses in a row.
        network.run(Duration::from_secs(30), |_| {});
        let received = network.received();
        assert_eq!(received, [30 * MESSAGE as u64, 30 * MESSAGE as u64, 0], "seed {seed}");
    }
}

/// Before anything is known of damage: copies, and a timer that does not back off.
#[test]
fn a_message_is_repeated_often_where_all_of_it_is_lost() {
    let profile = Variant::Headway.apply(Profile::modern().with_window(1 << 20));
    let mut network = Network::new(profile, 2);
    network.lose = vec![5000; 8];
    assert_eq!(network.hosts[0].write(network.members[0], &[7; 500]), Ok(500));
    let mut waited = Duration::ZERO;
    while network.received()[0] == 0 {
        network.run(Duration::from_millis(10), |_| {});
        waited += Duration::from_millis(10);
        // It takes 990 ms, and 1950 with a timer that backs off, or without copies.
        assert!(waited < Duration::from_millis(1200), "{} are still to be lost", network.lose.len());
    }
    assert!(network.lose.is_empty());
    // On a path that is dead the timer backs off after six: with a copy of each, the seventh after 480 ms.
    network.lose = vec![5000; 100];
    assert_eq!(network.hosts[0].write(network.members[0], &[7; 500]), Ok(500));
    network.run(Duration::from_secs(60), |_| {});
    let sent = 100 - network.lose.len();
    assert!((18..=30).contains(&sent), "{sent} transmissions");
}

/// The same where damage is known, while other members are answered: what is taken for damage does not back off either.
#[test]
fn a_message_is_repeated_as_often_where_damage_is_known() {
    let profile = Variant::Headway.apply(Profile::modern().with_window(1 << 20));
    let mut network = Network::new(profile, 2);
    network.damage = Some((Rng::new(1), 0));
    network.run(Duration::from_millis(1000), keep_writing(1..2));
    network.damage = None;
    network.lose = vec![5000; 8];
    assert_eq!(network.hosts[0].write(network.members[0], &[7; 500]), Ok(500));
    let mut waited = Duration::ZERO;
    while network.received()[0] == 0 {
        network.run(Duration::from_millis(10), keep_writing(1..2));
        waited += Duration::from_millis(10);
        // It takes 1.8 s, and more than five with a timer that backs off.
        assert!(waited < Duration::from_millis(2500), "{} are still to be lost", network.lose.len());
    }
}

/// A member that was opened before anything was known answers a request at the rate that another had before a pause, also if it
/// `speaks` before, while the handshake of a third is under way. Otherwise the request acknowledges nothing.
#[test]
fn after_a_pause_any_member_goes_on_at_the_rate_of_the_domain() {
    for speaks in [true, false] {
        let profile = Variant::Headway.apply(Profile::modern().with_window(16 << 20));
        let mut network = Network::over(Duration::from_millis(300), profile, 2);
        network.run(Duration::from_secs(8), keep_writing(0..1));
        network.run(Duration::from_secs(12), |_| {});
        assert_eq!((network.received()[1], network.statistics(0).pipe), (0, 0));
        let (answering, requesting) = (network.members[1], network.accepted[1]);
        if speaks {
            network.connect();
            assert_eq!(network.hosts[0].write(answering, b"!"), Ok(1));
        }
        network.run(Duration::from_millis(301), |_| {});
        assert_eq!(network.hosts[1].write(requesting, b"?"), Ok(1));
        network.run(Duration::from_millis(301), |_| {});
        network.run(Duration::from_millis(900), keep_writing(1..2));
        // In 600 ms, of what the link carries in them.
        let share = network.received()[1] as f64 / (600 * RATE * 1448 / 1500) as f64;
        assert!(share > 0.95, "speaks: {speaks}: {share}");
    }
}

/// Members that are opened, or say something short, before one has much to send do not hold that up. What is short is no sample of the path,
/// and its ACKs are not those of the train that finds the rate.
#[test]
fn what_is_said_before_a_transfer_does_not_slow_it() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let profile = Variant::Headway.apply(Profile::modern().with_window(16 << 20));
        let mut network = Network::over(Duration::from_millis(150), profile, 3);
        network.run(Duration::from_secs(1), |_| {});
        for pause in [12, 0] {
            for _ in 0..6 {
                if rng.one_in(3) {
                    network.connect();
                }
                let member = network.members[rng.below(network.accepted.len())];
                let said = rng.between(1, 40);
                assert_eq!(network.hosts[0].write(member, &vec![1; said]), Ok(said));
                network.run(rng.millis(0, 400), |_| {});
            }
            network.run(Duration::from_secs(pause), |_| {});
        }
        let last = network.accepted.len() - 1;
        let before = network.received()[last];
        network.run(Duration::from_secs(1), keep_writing(last..last + 1));
        // The first 450 ms are a round trip of the train, and one way.
        let share = (network.received()[last] - before) as f64 / (1000 * RATE) as f64;
        assert!(share > 0.25, "seed {seed}: {share}");
    }
}

/// What arrives in the first round trip of a transfer that follows packet trains, as a share of what the link carries in it.
#[test]
fn a_transfer_after_packet_trains_starts_at_what_they_showed() {
    let share = |rate: Option<u64>, trains: &[usize]| {
        let start = rate.map(|rate| StartEstimate::told(Rate::from_bits_per_second(rate)));
        let profile = Profile { start, ..Variant::Headway.apply(Profile::modern().with_window(16 << 20)) };
        let mut network = Network::over(Duration::from_millis(300), profile, 2);
        for &train in trains {
            let member = network.members[0];
            assert_eq!(network.hosts[0].write(member, &vec![1; train]), Ok(train));
            network.run(Duration::from_secs(2), |_| {});
        }
        network.run(Duration::from_secs(20), |_| {});
        // What asks for the transfer offers a window for it.
        let asks = network.accepted[1];
        assert_eq!(network.hosts[1].write(asks, b"?"), Ok(1));
        network.run(Duration::from_millis(300), |_| {});
        network.run(Duration::from_millis(900), keep_writing(1..2));
        network.received()[1] as f64 / (600 * RATE) as f64
    };
    let rate = 8000 * RATE;
    let trains = [14_000, 112_000];
    assert!(share(None, &trains) > 0.85, "{}", share(None, &trains));
    assert!(share(None, &[]) < 0.1);
    assert!(share(Some(rate), &trains[..1]) > 0.85, "{}", share(Some(rate), &trains[..1]));
    assert!(share(Some(10 * rate), &trains) > 0.5, "a wrong rate is as none");
}
