//! A carrier with an address of its own on an Ethernet, over IPv6.

use headway_net::{EthernetCarrier, EthernetConfig, Housekeeping as _};
use headway_test_fixture::packet::icmp;
use headway_test_fixture::process::wait_until;
use headway_wire::IpHeader;

use super::cable::{IPV6, MACS, Mac, frame, in_namespace, ip, segment};
use super::ethernet::{Ends, config, warnings};

const OURS: &str = "fd78::1234:5678";
const THEIRS: &str = "fd78::1";
const ANYONE: &str = "::";
const OUR_MAC: Mac = MACS[0];
const THEIR_MAC: Mac = MACS[1];

/// The groups of both addresses, and of all nodes.
const OUR_GROUP: (Mac, &str) = ([0x33, 0x33, 0xff, 0x34, 0x56, 0x78], "ff02::1:ff34:5678");
const THEIR_GROUP: (Mac, &str) = ([0x33, 0x33, 0xff, 0, 0, 1], "ff02::1:ff00:1");
const ALL_NODES: (Mac, &str) = ([0x33, 0x33, 0, 0, 0, 1], "ff02::1");

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// A message of neighbour discovery in a frame; `mac` is that of its option.
fn message(
    to: (Mac, &str),
    from: (Mac, &str),
    (kind, flags): (u8, u8),
    target: &str,
    mac: Option<Mac>,
) -> Vec<u8> {
    let [src, dst] = [from.1, to.1].map(|address| address.parse().expect("an address"));
    let ip = IpHeader { hop_limit: 255, ..IpHeader::new(src, dst) };
    let mut rest = target.parse::<std::net::Ipv6Addr>().expect("an address").octets().to_vec();
    if let Some(mac) = mac {
        rest.extend([if kind == SOLICITATION { 1 } else { 2 }, 1]);
        rest.extend(mac);
    }
    frame(to.0, from.0, IPV6, &icmp(&ip, [kind, 0], [flags, 0, 0, 0], &rest))
}

/// The station asks, and is answered.
fn question() -> Vec<u8> {
    message(OUR_GROUP, (THEIR_MAC, THEIRS), (SOLICITATION, 0), OURS, Some(THEIR_MAC))
}

fn answer() -> Vec<u8> {
    let kind = (ADVERTISEMENT, SOLICITED | OVERRIDE);
    message((THEIR_MAC, THEIRS), (OUR_MAC, OURS), kind, OURS, Some(OUR_MAC))
}

/// What the station says of itself.
fn advertisement(flags: u8, mac: Option<Mac>) -> Vec<u8> {
    message((OUR_MAC, OURS), (THEIR_MAC, THEIRS), (ADVERTISEMENT, flags), THEIRS, mac)
}

#[test]
fn packets_wait_for_the_answer_of_their_neighbour() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        let packets = [b"one  ", b"two  ", b"three"].map(|payload| segment(OURS, THEIRS, payload));
        ends.send(&packets[0]);
        let asked = message(THEIR_GROUP, (OUR_MAC, OURS), (SOLICITATION, 0), THEIRS, Some(OUR_MAC));
        assert_eq!(ends.station.receive(), asked);
        let due = ends.carrier.next_deadline().expect("a question that was not answered");
        ends.time_out(due);
        assert_eq!(ends.station.receive(), asked);
        ends.send(&packets[1]);
        ends.hear(&advertisement(SOLICITED | OVERRIDE, Some(THEIR_MAC)));
        ends.send(&packets[2]);
        for packet in packets {
            assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV6, &packet));
        }
        ends.sent_nothing(&question(), &answer());
    });
}

/// What was not asked for is used, and confirmed with a question to that station alone.
#[test]
fn a_neighbour_that_was_not_asked_is_confirmed() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        let packets = [b"one", b"two"].map(|payload| segment(OURS, THEIRS, payload));
        ends.send(&packets[0]);
        ends.station.receive();
        ends.hear(&question());
        assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV6, &packets[0]));
        assert_eq!(ends.station.receive(), answer());
        ends.send(&packets[1]);
        assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV6, &packets[1]));
        let asked = message((THEIR_MAC, THEIRS), (OUR_MAC, OURS), (SOLICITATION, 0), THEIRS, Some(OUR_MAC));
        assert_eq!(ends.station.receive(), asked);
        ends.hear(&advertisement(SOLICITED, None));
        assert_eq!(ends.carrier.next_deadline(), None, "it is confirmed");
    });
}

#[test]
fn a_question_without_an_ethernet_address_is_answered_to_its_sender() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        let kind = (SOLICITATION, 0);
        ends.hear(&message((OUR_MAC, OURS), (THEIR_MAC, THEIRS), kind, OURS, None));
        assert_eq!(ends.station.receive(), answer());
        // Otherwise to the address that it names.
        let named = [2, 0, 0, 0, 0, 9];
        ends.hear(&message((OUR_MAC, OURS), (THEIR_MAC, THEIRS), kind, OURS, Some(named)));
        assert_eq!(ends.station.receive()[..6], named);
    });
}

#[test]
fn who_wants_our_address_is_told_that_it_is_taken() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        ends.hear(&message(OUR_GROUP, (THEIR_MAC, ANYONE), (SOLICITATION, 0), OURS, None));
        let kind = (ADVERTISEMENT, OVERRIDE);
        assert_eq!(ends.station.receive(), message(ALL_NODES, (OUR_MAC, OURS), kind, OURS, Some(OUR_MAC)));
        // Any other address it may have.
        ends.hear(&message(THEIR_GROUP, (THEIR_MAC, ANYONE), (SOLICITATION, 0), THEIRS, None));
        ends.sent_nothing(&question(), &answer());
    });
}

#[test]
fn no_answer_to_what_is_not_for_us_or_cannot_be() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        let kind = (SOLICITATION, 0);
        let mut forwarded = question();
        forwarded[14 + 7] = 254;
        for (index, other) in [
            message(THEIR_GROUP, (THEIR_MAC, "fd78::9"), kind, THEIRS, Some(THEIR_MAC)),
            message(OUR_GROUP, (OUR_MAC, THEIRS), kind, OURS, Some(OUR_MAC)),
            message(OUR_GROUP, (THEIR_MAC, OURS), kind, OURS, Some(THEIR_MAC)),
            advertisement(OVERRIDE, Some(THEIR_MAC)),
            forwarded,
        ]
        .iter()
        .enumerate()
        {
            assert_eq!(ends.hear(other), [[0_u8; 0]; 0], "{index}");
            ends.sent_nothing(&question(), &answer());
        }
    });
}

#[test]
fn another_station_with_our_address_is_reported_and_not_sent_to() {
    in_namespace(|| {
        warnings();
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        ends.hear(&question());
        let of_ours = |mac| message(ALL_NODES, (mac, OURS), (ADVERTISEMENT, OVERRIDE), OURS, Some(mac));
        ends.hear(&of_ours(OUR_MAC));
        ends.hear(&advertisement(OVERRIDE, Some(THEIR_MAC)));
        assert_eq!(warnings(), 0);
        for _ in 0..2 {
            ends.hear(&of_ours(THEIR_MAC));
            assert_eq!(warnings(), 1);
        }
    });
}

#[test]
fn the_stack_gets_what_is_for_its_address_and_no_neighbour_discovery() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        let packet = segment(THEIRS, OURS, b"data");
        assert_eq!(ends.hear(&frame(OUR_MAC, THEIR_MAC, IPV6, &packet)), [&packet[..]]);
        let to_other = segment(THEIRS, "fd78::9", b"data");
        assert_eq!(ends.hear(&frame(OUR_MAC, THEIR_MAC, IPV6, &to_other)), [[0_u8; 0]; 0]);
        let unicast = message((OUR_MAC, OURS), (THEIR_MAC, THEIRS), (SOLICITATION, 0), OURS, Some(THEIR_MAC));
        assert_eq!(ends.hear(&unicast), [[0_u8; 0]; 0]);
    });
}

#[test]
fn questions_for_our_address_reach_the_interface() {
    in_namespace(|| {
        let ends = Ends::new(&config("fd78::1234:5678/64"));
        assert!(ip("maddr show dev hw1").contains("33:33:ff:34:56:78"), "the group of our address");
        drop(ends);
        // A process that another test starts at this moment has the socket too, until it becomes its program.
        wait_until("the end of it", || !ip("maddr show dev hw1").contains("33:33:ff:34:56:78"));
    });
}

#[test]
fn a_gateway_is_of_the_own_network_or_link_local() {
    in_namespace(|| {
        let mut ends = Ends::new(&config("fd78::1234:5678/64"));
        let neighbours = vec![("fe80::1".parse().expect("an address"), THEIR_MAC)];
        let with = |gateway: &str| EthernetConfig {
            gateway: gateway.parse().ok(),
            neighbours: neighbours.clone(),
            ..config("fd78::1234:5678/64")
        };
        for refused in ["fd79::1", OURS, "10.78.0.1"] {
            assert!(EthernetCarrier::open(&with(refused)).is_err(), "{refused}");
        }
        assert!(EthernetCarrier::open(&with(THEIRS)).is_ok());
        ends.carrier = EthernetCarrier::open(&with("fe80::1")).expect("an interface");
        let far = segment(OURS, "fd99::1", b"far");
        ends.send(&far);
        assert_eq!(ends.station.receive(), frame(THEIR_MAC, OUR_MAC, IPV6, &far));
    });
}
