//! Small messages beside a bulk transfer in one congestion domain, as a gateway carries them: how long they take, and
//! what the transfer has.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_link::{HitZone, LinkConfig, QueueLimit};
use headway_sim::{Application, LinkPorts, Network, derive_seed};
use headway_tcp::{ConnectionId, Host, HostConfig, ListenerId, Notification, Profile, Variant};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::streams;
use headway_units::{Duration, Instant, Rate};

const DELAY: Duration = Duration::from_millis(300);
/// 10 Mbit/s for a round trip, in packets of 1500 bytes.
const QUEUE: u32 = 500;
const MESSAGE: usize = 100;
const INTERVAL: Duration = Duration::from_millis(50);
/// When the transfer begins, and when it is measured no more.
const BEGIN: Instant = Instant::from_nanos(2_000_000_000);
const END: Instant = Instant::from_nanos(62_000_000_000);
/// The patterns of the two connections; their ports differ alike.
const MESSAGES: u16 = 0;
const TRANSFER: u16 = 1;
const FIRST_PORT: u16 = 4000;

fn address(host: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, host).into()
}

fn server() -> SocketAddr {
    (address(2), 80).into()
}

/// Writes a message when one is due, and as much of the transfer as it may.
struct Sender {
    profile: Arc<Profile>,
    connections: Option<[ConnectionId; 2]>,
    /// Bytes of messages that are due.
    due: usize,
    written: [usize; 2],
}

impl Sender {
    fn progress(&mut self, host: &mut Host, now: Instant) {
        let [messages, transfer] = *self.connections.get_or_insert_with(|| {
            let domain = host.open_domain(&self.profile).expect("a domain");
            [MESSAGES, TRANSFER].map(|number| {
                let local = (address(1), FIRST_PORT + number).into();
                host.connect_in(now, domain, local, server(), self.profile.clone()).expect("a connection")
            })
        });
        while host.poll_notification().is_some() {}
        let message = Pattern(MESSAGES.into());
        while self.written[0] < self.due {
            match host.write(messages, &message.bytes(self.written[0], self.due - self.written[0])) {
                Ok(count) if count > 0 => self.written[0] += count,
                _ => break,
            }
        }
        if now >= BEGIN {
            streams::write(host, transfer, Pattern(TRANSFER.into()), &mut self.written[1]);
        }
    }
}

/// Compares every byte, and notes when each message had arrived.
struct Receiver {
    profile: Arc<Profile>,
    listener: Option<ListenerId>,
    delivered: [usize; 2],
    arrivals: Vec<Instant>,
}

impl Receiver {
    fn progress(&mut self, host: &mut Host, now: Instant) {
        let listener = *self
            .listener
            .get_or_insert_with(|| host.listen(server(), 2, self.profile.clone()).expect("a listener"));
        while let Some(id) = host.accept(listener) {
            self.read(host, id);
        }
        while let Some((id, notification)) = host.poll_notification() {
            if notification == Notification::Readable {
                self.read(host, id);
            }
        }
        self.arrivals.resize(self.delivered[0] / MESSAGE, now);
    }

    fn read(&mut self, host: &mut Host, id: ConnectionId) {
        let number = host.endpoints(id).expect("a connection").remote.port() - FIRST_PORT;
        streams::read(host, id, Pattern(number.into()), &mut self.delivered[usize::from(number)]);
    }
}

enum Program {
    Sender(Sender),
    Receiver(Receiver),
}

impl Application for Program {
    type Observer = ();

    fn progress(&mut self, host: &mut Host, now: Instant) {
        match self {
            Self::Sender(sender) => sender.progress(host, now),
            Self::Receiver(receiver) => receiver.progress(host, now),
        }
    }
}

struct Outcome {
    /// How long each message took, in order of length.
    times: Vec<Duration>,
    /// Of the transfer, bits per second.
    goodput: u64,
    /// Packets that the queue dropped.
    drops: u64,
}

impl Outcome {
    fn percentile(&self, percent: usize) -> u64 {
        self.times[(self.times.len() - 1) * percent / 100].as_millis()
    }
}

fn run(damage: &str, seed: u64) -> Outcome {
    // As a gateway's.
    let profile = Profile { nagle: false, ..Profile::modern().with_window(16 << 20) };
    let mut profile = Variant::Headway.apply(profile);
    profile.features.partial = true;
    let profile = Arc::new(profile);
    let mut network = Network::<Program>::new(1500);
    let host = |n: u8| {
        let secret = [0, 1].map(|half| derive_seed(seed, "secret", u64::from(2 * n + half)).to_le_bytes());
        Host::new(HostConfig::new(address(n), secret.concat().try_into().expect("16 bytes")))
    };
    let receiver =
        Receiver { profile: profile.clone(), listener: None, delivered: [0; 2], arrivals: Vec::new() };
    let to = network.add_host(host(2), Program::Receiver(receiver));
    let sender = Sender { profile, connections: None, due: 0, written: [0; 2] };
    let from = network.add_host(host(1), Program::Sender(sender));
    let link = LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: DELAY,
        queue: QueueLimit::Packets(QUEUE),
        damage: damage.parse().expect("a damage model"),
        hit_zone: HitZone::IpAndTcpHeader,
        ..LinkConfig::default()
    };
    let reverse = LinkConfig { rate: link.rate, delay: DELAY, ..LinkConfig::default() };
    let forward = network.add_link(LinkPorts { from, to }, link, derive_seed(seed, "forward", 0));
    network.add_link(LinkPorts { from: to, to: from }, reverse, derive_seed(seed, "reverse", 0));

    let mut sent = Vec::new();
    let mut at = BEGIN;
    while at < END {
        network.run(at, |_| false);
        let Program::Sender(sender) = network.host_mut(from).1 else { unreachable!("as added") };
        sender.due += MESSAGE;
        sent.push(at);
        network.wake(from);
        at += INTERVAL;
    }
    network.run(END, |_| false);
    let delivered = |network: &Network<Program>| match network.host(to).1 {
        Program::Receiver(receiver) => receiver.delivered,
        Program::Sender(_) => unreachable!("as added"),
    };
    let goodput = delivered(&network)[1] as u64 * 8 / (END.saturating_since(BEGIN).as_millis() / 1000);
    network.run(END + Duration::from_secs(20), |_| false);
    assert_eq!(delivered(&network)[0], sent.len() * MESSAGE, "{damage}, seed {seed}: all messages arrive");
    let drops = network.link_counters(forward).queue_drops;
    let Program::Receiver(receiver) = network.host(to).1 else { unreachable!("as added") };
    let mut times: Vec<Duration> =
        sent.iter().zip(&receiver.arrivals).map(|(&sent, at)| at.saturating_since(sent)).collect();
    times.sort_unstable();
    Outcome { times, goodput, drops }
}

/// The transfer ends its search for bandwidth, and each probe, when it sees the queue that it made: with the rules of the
/// draft alone the queue drops three times as many. What it drops of the messages comes with the next ones: without redundant
/// bundling the 99th percentile is 1595 ms, with it 893 ms.
#[test]
fn a_transfer_leaves_the_queue_short() {
    let outcome = run("none", 1);
    let (percentile, Outcome { goodput, drops, .. }) = (outcome.percentile(99), outcome);
    assert!(percentile <= 1000, "{percentile} ms");
    assert!(drops <= 40, "{drops} drops");
    assert!(goodput >= 8_800_000, "{goodput} bit/s");
}

/// A message that was lost comes with one of the next five. The 99th percentile is 881 ms in the mean of the seeds with random
/// damage, and 1009 ms with bursts, which hit a fifth of the packets; with a single seed 0.95 and 1.7 s.
#[test]
fn a_lost_message_comes_with_the_next() {
    const SEEDS: u64 = 12;
    for (damage, most, least) in [("random:5%", 1000, 8_700_000), ("burst:5%:5", 1400, 6_200_000)] {
        let mut percentiles = 0;
        for seed in 1..=SEEDS {
            let outcome = run(damage, seed);
            percentiles += outcome.percentile(99);
            assert!(outcome.drops <= 80, "{damage}, seed {seed}: {} drops", outcome.drops);
            assert!(outcome.goodput >= least, "{damage}, seed {seed}: {} bit/s", outcome.goodput);
        }
        assert!(percentiles / SEEDS <= most, "{damage}: {} ms", percentiles / SEEDS);
    }
}

/// In the first seconds some segments are repeated although they have arrived. Their ACKs, taken for those of the repetition,
/// would begin rounds too early, whose low rates end Startup: then the goodput is below 6.1 Mbit/s with this seed, and 7.4 without
/// that.
#[test]
fn what_was_repeated_for_nothing_begins_no_round() {
    let goodput = run("random:15%", 2).goodput;
    assert!(goodput >= 7_000_000, "{goodput} bit/s");
}
