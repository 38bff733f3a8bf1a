//! A path that silently drops packets longer than some length: the longest that passes is found (RFC 4821), and every byte arrives.
//! Where there is no such length, packets do not stay short, whatever is lost.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_link::{LinkConfig, QueueLimit};
use headway_sim::race::Racer;
use headway_sim::{
    Content, LinkPorts, Network, Next, Node, NodeContext, NodeId, Packet, Passing, Port, Receiver, Sender,
    Tap, derive_seed,
};
use headway_tcp::{Host, HostConfig, Profile, Variant};
use headway_units::{Duration, Instant, Rate};
use headway_wire::Segment;

const INTERFACE: usize = 1500;
/// Packets with less are ACKs, or the end of something.
const LONG: usize = 560;

/// Drops packets that are longer than the path carries at the time.
struct Narrow {
    /// From when on, how many bytes.
    carries: Vec<(Instant, usize)>,
    due: VecDeque<Packet>,
}

impl<T: Tap> Node<T> for Narrow {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        let now = self.carries.iter().rev().find(|(from, _)| *from <= cx.now).expect("one from the start");
        if packet.bytes().len() > now.1 { cx.discard(packet) } else { self.due.push_back(packet) }
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        self.due.pop_front().map_or(Next::Wait(None), |packet| Next::Transmit(Port(0), packet))
    }
}

/// The lengths of what the sender sends, without what is short at any rate.
#[derive(Default)]
struct Lengths(Vec<(Instant, usize)>);

impl Tap for Lengths {
    fn pass(&mut self, passing: &Passing<'_>) {
        let is_patch = || Segment::parse(passing.packet).is_ok_and(|segment| segment.is_patch());
        if passing.outbound && passing.packet.len() >= LONG && !is_patch() {
            self.0.push((passing.at, passing.packet.len()));
        }
    }
}

impl Lengths {
    /// The last that was sent, other than probes: the most frequent of the last 100.
    fn usual(&self) -> usize {
        let last = &self.0[self.0.len().saturating_sub(100)..];
        let count = |len: usize| last.iter().filter(|sent| sent.1 == len).count();
        last.iter().map(|sent| sent.1).max_by_key(|&len| count(len)).expect("something was sent")
    }
}

struct Run {
    carries: Vec<(u64, usize)>,
    link: LinkConfig,
    profile: Profile,
    v6: bool,
    bytes: usize,
    seed: u64,
}

impl Run {
    fn new(carries: usize) -> Self {
        let rate = Some(Rate::from_bits_per_second(10_000_000));
        let delay = Duration::from_millis(20);
        let link = LinkConfig { rate, delay, queue: QueueLimit::Packets(64), ..LinkConfig::default() };
        let profile = Profile::modern();
        Self { carries: vec![(0, carries)], link, profile, v6: false, bytes: 6_000_000, seed: 1 }
    }

    fn named(&self) -> String {
        let Self { carries, link, profile, v6, seed, .. } = self;
        format!("{carries:?} IPv6 {v6} {:?} {:?} seed {seed}", profile.hack, link.damage)
    }

    /// Sends the bytes, each of which is compared on arrival. Gives the seconds it took, and the lengths of packets.
    fn go(&self) -> (f64, Lengths) {
        let content = Content::generated(self.bytes as u64);
        let address = |n: u8| -> IpAddr {
            let text = if self.v6 { format!("2001:db8::{n}") } else { format!("192.0.2.{n}") };
            text.parse().expect("an address")
        };
        let ends = [SocketAddr::new(address(1), 4000), SocketAddr::new(address(2), 5000)];
        let profile = Arc::new(self.profile.clone());
        let mut network = Network::<Racer<()>, Lengths>::with_tap(INTERFACE as u16, Lengths::default());
        let host = |n: u8| Host::new(HostConfig::new(address(n), [n; 16]));
        let sender = Sender::new(ends[0], ends[1], profile.clone(), &content).expect("generated content");
        let receiver = Receiver::new(ends[1], profile, &content, true).expect("generated content");
        let sender: NodeId = network.add_host(host(1), Racer::Sender(Box::new(sender), PhantomData));
        let receiver = network.add_host(host(2), Racer::Receiver(Box::new(receiver)));
        let carries =
            self.carries.iter().map(|&(second, len)| (Instant::ZERO + Duration::from_secs(second), len));
        let narrow = network.add(Narrow { carries: carries.collect(), due: VecDeque::new() });
        network.connect(sender, narrow);
        let seed = |purpose| derive_seed(self.seed, purpose, 0);
        network.add_link(LinkPorts { from: narrow, to: receiver }, self.link.clone(), seed("forward"));
        let reverse = LinkConfig { damage: headway_link::Damage::None, ..self.link.clone() };
        network.add_link(LinkPorts { from: receiver, to: sender }, reverse, seed("reverse"));
        let complete = |network: &Network<Racer<()>, Lengths>| matches!(network.host(receiver).1, Racer::Receiver(receiver) if receiver.is_complete());
        let finished = network.run(Instant::ZERO + Duration::from_secs(3600), complete);
        assert!(finished, "{}: not complete after an hour", self.named());
        let seconds = network.now().saturating_since(Instant::ZERO).as_secs_f64();
        (seconds, network.into_tap())
    }
}

fn headway() -> Profile {
    Variant::Headway.apply(Profile::modern())
}

#[test]
fn every_length_is_found() {
    for (v6, shortest) in [(false, 576), (true, 1280)] {
        for carries in (shortest..INTERFACE).step_by(37).chain([INTERFACE - 1]) {
            for profile in [Profile::modern(), headway()] {
                let run = Run { v6, profile, ..Run::new(carries) };
                let (seconds, lengths) = run.go();
                let usual = lengths.usual();
                assert!(seconds < 20.0, "{}: {seconds:.1} s", run.named());
                assert!((carries - 16..=carries).contains(&usual), "{}: {usual} bytes", run.named());
            }
        }
    }
}

#[test]
fn every_length_is_found_beside_bursts_of_damage() {
    for (v6, shortest) in [(false, 576), (true, 1280)] {
        for (seed, carries) in (1..).zip((shortest..INTERFACE).step_by(67)) {
            for profile in [Profile::modern(), headway()] {
                let mut run = Run { v6, profile, seed, ..Run::new(carries) };
                run.link.damage = "burst-hit:5%:5".parse().expect("a damage model");
                let (seconds, lengths) = run.go();
                let usual = lengths.usual();
                assert!(seconds < 60.0, "{}: {seconds:.1} s", run.named());
                assert!((carries - 100..=carries).contains(&usual), "{}: {usual} bytes", run.named());
            }
        }
    }
}

/// The path becomes narrower and, later, as wide as it was: RFC 8899's PMTU_RAISE_TIMER expires after ten minutes.
#[test]
fn a_path_becomes_narrower_and_wider() {
    for profile in [Profile::modern(), headway()] {
        let carries = vec![(0, INTERFACE), (20, 1300), (300, INTERFACE)];
        let mut run = Run { carries, profile, bytes: 45_000_000, ..Run::new(0) };
        run.link.rate = Some(Rate::from_bits_per_second(400_000));
        run.link.queue = QueueLimit::Packets(24);
        let (seconds, Lengths(sent)) = run.go();
        let (first, second) =
            (Instant::ZERO + Duration::from_secs(200), Instant::ZERO + Duration::from_secs(300));
        let narrow: Vec<usize> =
            sent.iter().filter(|sent| (first..second).contains(&sent.0)).map(|sent| sent.1).collect();
        let fit = narrow.iter().filter(|&&len| (1284..=1300).contains(&len)).count();
        assert!(fit * 20 > narrow.len() * 19, "{}: {fit} of {}", run.named(), narrow.len());
        assert_eq!(Lengths(sent).usual(), INTERFACE, "{}: {seconds:.0} s", run.named());
    }
}

/// What is lost, damaged or interrupted does not make packets short, or not for long.
#[test]
fn loss_and_damage_do_not_make_packets_short() {
    for profile in [Profile::modern(), headway()] {
        for (loss, damage) in
            [("0%", "burst-hit:20%:5"), ("5%", "burst-hit:5%:5"), ("10%", "none"), ("10%", "random:5%")]
        {
            for seed in 1..=5 {
                let mut run = Run { profile: profile.clone(), seed, bytes: 500_000, ..Run::new(INTERFACE) };
                run.link.loss = loss.parse().expect("a loss rate");
                run.link.damage = damage.parse().expect("a damage model");
                let (seconds, Lengths(sent)) = run.go();
                let full = sent.iter().filter(|sent| sent.1 == INTERFACE).count();
                println!("{} loss {loss}: {seconds:.0} s, {full} of {} are full", run.named(), sent.len());
                assert!(full * 4 >= sent.len() * 3, "{} loss {loss}: {full} of {}", run.named(), sent.len());
            }
        }
    }
}

/// An interruption looks like a black hole while it lasts. What was in the network then goes in short packets, and all that follows
/// in packets as long as before: it takes no longer.
#[test]
fn an_interruption_does_not_make_packets_short() {
    for profile in [Profile::modern(), headway()] {
        for mute in ["1s@3s", "10s@3s", "40s@3s"] {
            let mut run = Run { profile: profile.clone(), bytes: 20_000_000, ..Run::new(INTERFACE) };
            run.link.mute = mute.parse().expect("times of silence");
            let (seconds, lengths) = run.go();
            run.profile.mtu_search = false;
            let (without, _) = run.go();
            println!("{} {mute}: {seconds:.2} s instead of {without:.2}", run.named());
            assert_eq!(lengths.usual(), INTERFACE);
            assert!(
                seconds < without + 0.5,
                "{} {mute}: {seconds:.2} s instead of {without:.2}",
                run.named()
            );
        }
    }
}
