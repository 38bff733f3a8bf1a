//! A carrier with an address of its own on an Ethernet, over IPv4.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Once;

use headway_net::{Arrival, Carrier, Clock, EthernetCarrier, EthernetConfig, Housekeeping as _};
use headway_tcp::Transmit;
use headway_units::{Duration, Instant};
use headway_wire::Received;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::cable::{
    ARP, BROADCAST, IPV4, IPV6, MACS, Mac, Station, connect, frame, in_namespace, ip, packet_in, segment,
    wait,
};

const OURS: &str = "10.78.0.2";
const THEIRS: &str = "10.78.0.1";
const OUR_MAC: Mac = MACS[0];
const THEIR_MAC: Mac = MACS[1];

pub(crate) fn config(address: &str) -> EthernetConfig {
    EthernetConfig {
        interface: "hw1".into(),
        address: address.parse().expect("a prefix"),
        gateway: None,
        mtu: None,
        rx_all: false,
        neighbours: Vec::new(),
        only_peer: None,
    }
}

/// A carrier, and the station at the other end of its cable.
pub(crate) struct Ends {
    pub(crate) carrier: EthernetCarrier,
    pub(crate) station: Station,
    clock: Clock,
}

impl Ends {
    /// Makes the cable.
    pub(crate) fn new(config: &EthernetConfig) -> Self {
        connect("hw1", "hw2");
        let carrier = EthernetCarrier::open(config).expect("an interface");
        Self { carrier, station: Station::at("hw2"), clock: Clock::new() }
    }

    /// The stack sends a packet.
    #[track_caller]
    pub(crate) fn send(&mut self, packet: &[u8]) {
        self.carrier.slot().expect("room")[..packet.len()].copy_from_slice(packet);
        self.carrier.queue(Transmit { len: packet.len(), compact: false });
        assert!(self.carrier.flush().expect("an interface"));
    }

    /// The station sends a frame: what the stack gets.
    #[track_caller]
    pub(crate) fn hear(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        self.station.send(frame);
        self.take_in(|arrivals| arrivals.iter().map(|arrival| arrival.packet.to_vec()).collect())
    }

    #[track_caller]
    pub(crate) fn take_in<T>(&mut self, look: impl FnOnce(&[Arrival<'_>]) -> T) -> T {
        wait(self.carrier.fd());
        assert_eq!(self.carrier.fill(&self.clock).expect("an interface"), 1);
        let mut arrivals = Vec::new();
        self.carrier.received(&mut arrivals);
        let seen = look(&arrivals);
        assert!(self.carrier.flush().expect("an interface"));
        seen
    }

    /// That the stack has sent nothing that the station did not get: the station asks, and gets the answer next.
    #[track_caller]
    pub(crate) fn sent_nothing(&mut self, question: &[u8], answer: &[u8]) {
        assert_eq!(self.hear(question), [[0_u8; 0]; 0]);
        assert_eq!(self.station.receive(), answer);
    }

    pub(crate) fn time_out(&mut self, now: Instant) {
        self.carrier.handle_timeout(now);
        assert!(self.carrier.flush().expect("an interface"));
    }
}

/// An ARP packet in a frame.
fn arp(to: Mac, operation: u8, sender: (Mac, &str), target: (Mac, &str)) -> Vec<u8> {
    let octets = |address: &str| address.parse::<Ipv4Addr>().expect("an address").octets();
    let body =
        [&[0, 1, 8, 0, 6, 4, 0, operation][..], &sender.0, &octets(sender.1), &target.0, &octets(target.1)];
    frame(to, sender.0, ARP, &body.concat())
}

/// The question that the station asks, and the answer.
fn question() -> Vec<u8> {
    arp(BROADCAST, 1, (THEIR_MAC, THEIRS), ([0; 6], OURS))
}

fn answer() -> Vec<u8> {
    arp(THEIR_MAC, 2, (OUR_MAC, OURS), (THEIR_MAC, THEIRS))
}

#[test]
fn packets_wait_for_the_answer_of_their_neighbour() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        let packets = [b"one  ", b"two  ", b"three"].map(|payload| segment(OURS, THEIRS, payload));
        ends.send(&packets[0]);
        ends.send(&packets[1]);
        assert_eq!(ends.station.receive(), arp(BROADCAST, 1, (OUR_MAC, OURS), ([0; 6], THEIRS)));
        assert_eq!(ends.hear(&arp(OUR_MAC, 2, (THEIR_MAC, THEIRS), (OUR_MAC, OURS))), [[0_u8; 0]; 0]);
        ends.send(&packets[2]);
        for packet in packets {
            assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV4, &packet));
        }
        assert_eq!(ends.carrier.next_deadline(), None);
        ends.sent_nothing(&question(), &answer());
    });
}

#[test]
fn a_question_is_asked_again_until_it_is_answered() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        ends.send(&segment(OURS, THEIRS, b"one"));
        let asked = ends.station.receive();
        let due = ends.carrier.next_deadline().expect("a question that was not answered");
        ends.time_out(due - Duration::from_nanos(1));
        assert_eq!(ends.carrier.next_deadline(), Some(due), "not yet");
        ends.time_out(due);
        assert_eq!(ends.station.receive(), asked);
        assert_eq!(ends.carrier.next_deadline(), Some(due + Duration::from_secs(1)));
        ends.hear(&arp(OUR_MAC, 2, (THEIR_MAC, THEIRS), (OUR_MAC, OURS)));
        assert_eq!(ends.carrier.next_deadline(), None);
        ends.station.receive();
        ends.sent_nothing(&question(), &answer());
    });
}

#[test]
fn who_asks_for_our_address_gets_an_answer_and_is_known() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        ends.sent_nothing(&question(), &answer());
        let packet = segment(OURS, THEIRS, b"one");
        ends.send(&packet);
        ends.station.receive();
        // It asks instead of an answer.
        ends.hear(&question());
        assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV4, &packet));
        assert_eq!(ends.station.receive(), answer());
    });
}

#[test]
fn no_answer_to_what_is_not_for_us_or_cannot_be() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        let group = [3, 0, 0, 0, 0, 2];
        let others: [Vec<u8>; 6] = [
            arp(BROADCAST, 1, (THEIR_MAC, THEIRS), ([0; 6], "10.78.0.3")),
            arp(OUR_MAC, 2, (THEIR_MAC, THEIRS), (OUR_MAC, OURS)),
            // From a group, from ourselves, and of our own address.
            arp(BROADCAST, 1, (group, THEIRS), ([0; 6], OURS)),
            arp(BROADCAST, 1, (OUR_MAC, THEIRS), ([0; 6], OURS)),
            arp(BROADCAST, 1, (THEIR_MAC, OURS), ([0; 6], OURS)),
            question()[..41].to_vec(),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_eq!(ends.hear(other), [[0_u8; 0]; 0], "{index}");
            ends.sent_nothing(&question(), &answer());
        }
    });
}

/// Nor does a group, or a question of ours that comes back, change where packets go.
#[test]
fn a_neighbour_is_known_by_its_own_messages_only() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        ends.send(&segment(OURS, THEIRS, b"one"));
        ends.station.receive();
        for mac in [OUR_MAC, [3, 0, 0, 0, 0, 2]] {
            ends.hear(&arp(OUR_MAC, 2, (mac, THEIRS), (OUR_MAC, OURS)));
            assert!(ends.carrier.next_deadline().is_some(), "it is still asked");
        }
        // To another station.
        ends.hear(&arp(BROADCAST, 2, (THEIR_MAC, THEIRS), (THEIR_MAC, "10.78.0.3")));
        assert!(ends.carrier.next_deadline().is_some(), "it is still asked");
        ends.hear(&arp(OUR_MAC, 2, (THEIR_MAC, THEIRS), (OUR_MAC, OURS)));
        assert_eq!(ends.carrier.next_deadline(), None);
    });
}

/// How many warnings this thread has got.
pub(crate) fn warnings() -> u32 {
    static IS_SET: Once = Once::new();
    // For all threads: one without a subscriber could have the message forgotten for the others.
    IS_SET.call_once(|| tracing::subscriber::set_global_default(Warnings).expect("the first"));
    WARNINGS.get()
}

thread_local! {
    static WARNINGS: Cell<u32> = const { Cell::new(0) };
}

/// Counts the warnings of each thread.
struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        WARNINGS.set(WARNINGS.get() + 1);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn another_station_with_our_address_is_reported_once() {
    in_namespace(|| {
        warnings();
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        ends.hear(&question());
        // Our own, and one whose sender has a multicast address.
        ends.hear(&arp(BROADCAST, 1, (OUR_MAC, OURS), ([0; 6], OURS)));
        ends.hear(&arp(BROADCAST, 1, ([3, 0, 0, 0, 0, 1], OURS), ([0; 6], OURS)));
        assert_eq!(warnings(), 0);
        for _ in 0..2 {
            ends.hear(&arp(BROADCAST, 1, (THEIR_MAC, OURS), ([0; 6], OURS)));
            assert_eq!(warnings(), 1);
        }
    });
}

#[test]
fn packets_to_other_networks_go_through_the_gateway() {
    in_namespace(|| {
        let gateway = THEIRS.parse().ok();
        let neighbours = vec![("10.78.0.1".parse().expect("an address"), THEIR_MAC)];
        let with = EthernetConfig { gateway, neighbours: neighbours.clone(), ..config("10.78.0.2/24") };
        let mut ends = Ends::new(&with);
        let far = segment(OURS, "192.0.2.1", b"far");
        ends.send(&far);
        assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV4, &far));
        // Without one they are not sent.
        ends.carrier = EthernetCarrier::open(&EthernetConfig { neighbours, ..config("10.78.0.2/24") })
            .expect("an interface");
        let near = segment(OURS, THEIRS, b"near");
        ends.send(&far);
        ends.send(&near);
        assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV4, &near));
    });
}

#[test]
fn the_stack_gets_what_is_for_its_addresses() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        let packet = segment(THEIRS, OURS, b"data");
        let intact = frame(OUR_MAC, THEIR_MAC, IPV4, &packet);
        assert_eq!(ends.hear(&intact), [packet_in(&intact)]);
        let mut udp = packet.clone();
        udp[9] = 17;
        let mut other_kind = intact.clone();
        other_kind[12..14].copy_from_slice(&IPV6);
        for other in [
            frame([2, 0, 0, 0, 0, 3], THEIR_MAC, IPV4, &packet),
            frame(BROADCAST, THEIR_MAC, IPV4, &packet),
            frame(OUR_MAC, THEIR_MAC, IPV4, &segment(THEIRS, "10.78.0.3", b"data")),
            frame(OUR_MAC, THEIR_MAC, IPV4, &udp),
            other_kind,
        ] {
            assert_eq!(ends.hear(&other), [[0_u8; 0]; 0]);
        }
        let mut corrupted = intact.clone();
        corrupted[14 + 8] ^= 1;
        assert_eq!(ends.hear(&corrupted), [packet_in(&corrupted)], "to our address: it is counted");
        corrupted[14 + 19] ^= 1;
        assert_eq!(ends.hear(&corrupted), [[0_u8; 0]; 0], "with many hosts it may be another's");
        let only_peer = THEIRS.parse().ok();
        ends.carrier = EthernetCarrier::open(&EthernetConfig { only_peer, ..config("10.78.0.2/24") })
            .expect("an interface");
        assert!(ends.carrier.properties().only_peer.is_some());
        assert_eq!(ends.hear(&corrupted), [packet_in(&corrupted)], "with one peer it is that one's");
        corrupted[0] ^= 1;
        assert_eq!(ends.hear(&corrupted), [[0_u8; 0]; 0], "another station's");
    });
}

/// A segment of this machine's kernel has no checksum yet, and was not on a wire; what a sender has computed is verified.
#[test]
fn a_checksum_that_is_not_computed_yet_is_not_verified() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("10.78.0.2/24"));
        let mut packet = segment(THEIRS, OURS, b"data");
        packet[20 + 16] ^= 1;
        let bytes = frame(OUR_MAC, THEIR_MAC, IPV4, &packet);
        let is_intact = |arrivals: &[Arrival<'_>]| matches!(arrivals[0].received, Received::Intact(_));
        ends.station.send(&bytes);
        assert!(!ends.take_in(is_intact));
        let ([a, b], [c, d]) = (34_u16.to_ne_bytes(), 16_u16.to_ne_bytes());
        ends.station.send_with(&[1, 0, 0, 0, 0, 0, a, b, c, d], &bytes);
        assert!(ends.take_in(is_intact));
    });
}

#[test]
fn the_longest_packet_is_the_interfaces_or_the_configured_one() {
    in_namespace(|| {
        connect("hw1", "hw2");
        ip("link set hw1 mtu 1400");
        let open = |mtu| EthernetCarrier::open(&EthernetConfig { mtu, ..config("10.78.0.2/24") });
        for (configured, expected) in [(None, 1400), (Some(1300), 1300)] {
            let mut carrier = open(configured).expect("an interface");
            assert_eq!(carrier.mtu(), expected);
            assert_eq!(carrier.slot().expect("room").len(), usize::from(expected));
            assert_eq!(carrier.name(), "interface hw1");
            assert!(carrier.properties().keeps_segments && carrier.properties().only_peer.is_none());
        }
    });
}

#[test]
fn what_cannot_work_is_refused() {
    in_namespace(|| {
        connect("hw1", "hw2");
        ip("link set lo up");
        ip("addr add 10.78.0.9/24 dev hw2");
        ip("link add down0 type veth peer name down1");
        ip("tuntap add tun0 mode tun");
        let ok = config("10.78.0.2/24");
        let gateway = |address: &str| address.parse::<IpAddr>().ok();
        let other = |name: &str| EthernetConfig { interface: name.into(), ..ok.clone() };
        for (refused, why) in [
            (config("10.78.0.9/24"), "10.78.0.9"),
            (EthernetConfig { gateway: gateway("10.79.0.1"), ..ok.clone() }, "gateway 10.79.0.1"),
            (EthernetConfig { gateway: gateway(OURS), ..ok.clone() }, "gateway 10.78.0.2"),
            (EthernetConfig { gateway: gateway("fe80::1"), ..ok.clone() }, "gateway fe80::1"),
            (
                EthernetConfig { gateway: gateway(THEIRS), only_peer: gateway(THEIRS), ..ok.clone() },
                "only peer 10.78.0.1 beside gateway 10.78.0.1",
            ),
            (EthernetConfig { only_peer: gateway(OURS), ..ok.clone() }, "only peer 10.78.0.2"),
            (EthernetConfig { only_peer: gateway("fd00::1"), ..ok.clone() }, "only peer fd00::1"),
            (EthernetConfig { only_peer: gateway("0.0.0.0"), ..ok.clone() }, "only peer 0.0.0.0"),
            (EthernetConfig { only_peer: gateway("224.0.0.1"), ..ok.clone() }, "only peer 224.0.0.1"),
            (EthernetConfig { rx_all: true, ..ok.clone() }, "rx-all"),
            (other("lo"), "loopback"),
            (other("down0"), "that is up"),
            (other("tun0"), "no Ethernet address"),
            (other("none0"), "cannot be found"),
        ] {
            let error = EthernetCarrier::open(&refused).err().expect(why).to_string();
            assert!(error.contains(why), "{error}: {why}");
        }
        assert!(EthernetCarrier::open(&EthernetConfig { gateway: gateway(THEIRS), ..ok }).is_ok());
    });
}
