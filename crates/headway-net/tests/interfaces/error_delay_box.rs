//! The error/delay box between two interfaces of this machine.

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use headway_link::LinkConfig;
use headway_net::error_delay_box::{BoxConfig, BoxControl, BoxEnd, LaneConfig, LiveBox, Priority};
use headway_net::packet_socket::FrameChecksum;
use headway_net::{CaptureFile, Carrier as _, Clock, TunCarrier, TunConfig};
use headway_tcp::Transmit;
use headway_units::Duration;
use parking_lot::Mutex;

use super::cable::{
    ARP, BROADCAST, IPV4, MACS, Mac, Station, connect, frame, in_namespace, ip, segment, wait,
};

const NEAR: &str = "10.78.0.1";
const FAR: &str = "10.78.0.2";

fn lanes(link: &LinkConfig) -> [LaneConfig; 2] {
    [1, 2].map(|seed| LaneConfig { link: link.clone(), seed })
}

fn config(interfaces: [&str; 2], link: &LinkConfig) -> BoxConfig {
    BoxConfig { interfaces: interfaces.map(Into::into), lanes: lanes(link), real_time: false, capture: None }
}

/// A station, the box between two cables, and a station. `test` gets both stations while the box runs; how it ended.
fn between_cables(config: BoxConfig, test: impl FnOnce(&mut [Station; 2], &BoxControl)) -> BoxEnd {
    connect("near", "first");
    connect("far", "second");
    let mut stations = ["near", "far"].map(Station::at);
    let (edbox, control) = LiveBox::open(config).expect("two interfaces");
    thread::scope(|scope| {
        let running = scope.spawn(|| edbox.run());
        let stop = Stop(&control, Some(running));
        test(&mut stations, &control);
        stop.end()
    })
}

/// Stops the box also where a test fails.
struct Stop<'a, 'scope>(&'a BoxControl, Option<ScopedJoinHandle<'scope, BoxEnd>>);

impl Stop<'_, '_> {
    fn end(mut self) -> BoxEnd {
        self.0.stop();
        self.1.take().expect("it runs").join().expect("no panic")
    }
}

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A packet in a frame from the first station to the second.
fn data(payload: &[u8]) -> Vec<u8> {
    frame(MACS[1], MACS[0], IPV4, &segment(NEAR, FAR, payload))
}

fn no_packet() -> Vec<u8> {
    frame(BROADCAST, MACS[0], ARP, b"whatever it is")
}

#[test]
fn frames_pass_in_both_directions_and_are_counted() {
    in_namespace(|| {
        let end = between_cables(config(["first", "second"], &LinkConfig::default()), |stations, control| {
            let [near, far] = stations;
            for number in 0..3 {
                near.send(&data(&[number; 100]));
                assert_eq!(far.receive(), data(&[number; 100]));
            }
            far.send(&data(b"back"));
            assert_eq!(near.receive(), data(b"back"));
            far.send(&no_packet());
            assert_eq!(near.receive(), no_packet());
            let report = control.report().expect("it runs");
            assert_eq!(report.priority, Priority::Ordinary);
            assert!(report.elapsed > Duration::ZERO && report.elapsed < Duration::from_secs(3600));
            let [there, back] = report.lanes;
            assert_eq!((&there.from[..], &there.to[..]), ("first", "second"));
            assert_eq!((&back.from[..], &back.to[..]), ("second", "first"));
            assert_eq!((there.link.delivered, back.link.delivered), (3, 1));
            assert_eq!((there.port.passed, back.port.passed), (0, 1));
            assert_eq!((there.port.refused, there.port.kernel_drops, there.port.uncut), (0, 0, 0));
            assert_eq!((there.in_link, there.queue_packets, there.queue_bytes), (0, 0, 0));
            assert_eq!((there.lateness.count, there.lateness_overall.count), (3, 3));
            assert_eq!((back.reading.count, back.reading_overall.count), (1, 1));
            // Only what is new, and all.
            near.send(&data(b"more"));
            far.receive();
            let [there, back] = control.report().expect("it runs").lanes;
            assert_eq!((there.lateness.count, there.lateness_overall.count), (1, 4));
            assert_eq!((back.reading.count, back.reading_overall.count), (0, 1));
        });
        end.outcome.expect("it was stopped");
        end.capture.expect("none");
        assert_eq!(end.report.lanes[0].link.delivered, 4);
    });
}

#[test]
fn a_packet_is_delayed_and_what_is_no_packet_is_not() {
    in_namespace(|| {
        let delay = Duration::from_millis(50);
        let slow = LinkConfig { delay, ..LinkConfig::default() };
        let end = between_cables(config(["first", "second"], &slow), |[near, far], control| {
            let clock = Clock::new();
            let sent_at = clock.now();
            near.send(&data(b"slow"));
            near.send(&no_packet());
            assert_eq!(far.receive(), no_packet(), "it overtakes the packet");
            let slow = far.next();
            assert_eq!(slow.bytes, data(b"slow"));
            assert!(clock.now() >= sent_at + delay, "it is delayed");
            // From now on there is no delay.
            assert!(control.change(lanes(&LinkConfig::default())));
            near.send(&data(b"fast"));
            far.receive();
            let [there, back] = control.report().expect("it runs").lanes;
            assert_eq!((there.link.offered, there.link.delivered, back.link.offered), (2, 2, 0));
        });
        end.outcome.expect("it was stopped");
    });
}

/// What the kernel leaves to an interface is done in the box: the receiver gets one sound packet.
#[test]
fn what_is_left_to_the_interface_is_completed() {
    in_namespace(|| {
        let end = between_cables(config(["first", "second"], &LinkConfig::default()), |[near, far], _| {
            let sound = data(b"data");
            let mut incomplete = sound.clone();
            let at = 14 + 20 + 16;
            // The sum of the pseudo-header: both addresses, the protocol, and the length.
            let pseudo = headway_wire::IpHeader::new(
                NEAR.parse().expect("an address"),
                FAR.parse().expect("an address"),
            )
            .pseudo_header_sum(6, sound.len() - 34);
            incomplete[at..at + 2].copy_from_slice(&pseudo.fold().to_be_bytes());
            let ([a, b], [c, d]) = (34_u16.to_ne_bytes(), 16_u16.to_ne_bytes());
            near.send_with(&[1, 0, 0, 0, 0, 0, a, b, c, d], &incomplete);
            let seen = far.next();
            assert_eq!((seen.bytes, seen.checksum), (sound, FrameChecksum::Final));
        });
        assert_eq!(end.report.lanes[0].port.completed, 1);
    });
}

/// The receiver is handed the first of both, and of the second what the interface has room for.
#[test]
fn of_two_frames_in_one_as_much_is_sent_as_there_is_room_for() {
    in_namespace(|| {
        let trace = "bits &\nok".parse::<headway_link::Trace>().expect("a trace");
        let rate = Some("40kbit".parse().expect("a rate"));
        let link = LinkConfig { rate, damage: headway_link::Damage::Trace(trace), ..LinkConfig::default() };
        let end = between_cables(config(["first", "second"], &link), |[near, far], _| {
            let [first, second] = [1, 2].map(|number| data(&[number; 1000]));
            near.send(&first);
            near.send(&second);
            let joined = [&first, &second[14..]].concat();
            assert_eq!(far.receive(), joined[..14 + 1500]);
        });
        let there = &end.report.lanes[0];
        assert_eq!((there.link.joined, there.link.delivered, there.port.refused), (1, 1, 0));
    });
}

#[test]
fn a_frame_that_an_interface_refuses_is_counted() {
    in_namespace(|| {
        let end = between_cables(config(["first", "second"], &LinkConfig::default()), |[near, far], _| {
            ip("link set second mtu 500");
            near.send(&data(&[7; 1000]));
            near.send(&data(b"short"));
            assert_eq!(far.receive(), data(b"short"));
        });
        end.outcome.expect("it was stopped");
        assert_eq!([0, 1].map(|lane| end.report.lanes[lane].port.refused), [1, 0]);
    });
}

#[test]
fn a_box_ends_with_its_interface() {
    in_namespace(|| {
        connect("near", "first");
        connect("far", "second");
        let (edbox, control) =
            LiveBox::open(config(["first", "second"], &LinkConfig::default())).expect("two interfaces");
        thread::scope(|scope| {
            let running = scope.spawn(|| edbox.run());
            ip("link del second");
            let end = running.join().expect("no panic");
            let error = end.outcome.expect_err("it is gone").to_string();
            assert!(error.contains("interface second") && error.contains("is gone"), "{error}");
        });
        assert!(control.report().is_none(), "it has ended");
        assert!(!control.change(lanes(&LinkConfig::default())), "it has ended");
    });
}

/// One that is removed while it is down gives no error when it is read.
#[test]
fn a_box_ends_with_its_interface_that_was_down() {
    in_namespace(|| {
        connect("near", "first");
        connect("far", "second");
        let (edbox, control) =
            LiveBox::open(config(["first", "second"], &LinkConfig::default())).expect("two interfaces");
        thread::scope(|scope| {
            let running = scope.spawn(|| edbox.run());
            let stop = Stop(&control, None);
            ip("link set second down");
            control.report().expect("it runs on");
            ip("link del second");
            let end = running.join().expect("no panic");
            drop(stop);
            let error = end.outcome.expect_err("it is gone").to_string();
            assert!(error.contains("interface second") && error.contains("is gone"), "{error}");
        });
    });
}

#[test]
fn a_capture_has_what_arrived_and_what_was_sent() {
    in_namespace(|| {
        let file = Written::default();
        let interfaces = ["first", "second"];
        let capture = CaptureFile::new(Box::new(file.clone()), &interfaces).expect("a capture");
        let damage = "random:100%".parse().expect("a model");
        let link = LinkConfig { damage, ..LinkConfig::default() };
        let config = BoxConfig { capture: Some(capture), ..config(interfaces, &link) };
        let mut damaged = Vec::new();
        let end = between_cables(config, |[near, far], _| {
            near.send(&data(&[7; 100]));
            damaged = far.receive()[14..].to_vec();
            far.send(&no_packet());
            near.receive();
        });
        end.capture.expect("a complete file");
        let [arrived, sent] = &file.packets()[..] else { panic!("not two packets") };
        assert_eq!((arrived.0, &arrived.1[..]), (0, &data(&[7; 100])[14..]));
        assert_eq!((sent.0, &sent.1), (1, &damaged));
        assert_eq!([arrived, sent].map(|packet| packet.2.contains("damaged: ")), [false, true]);
    });
}

/// What a capture has written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// The packets of the file: interface, bytes, and the text of the options.
    fn packets(&self) -> Vec<(u32, Vec<u8>, String)> {
        let bytes = self.0.lock();
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a word"));
        let (mut packets, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let (kind, len) = (word(at), word(at + 4) as usize);
            // An enhanced packet block.
            if kind == 6 {
                let end = at + 28 + word(at + 20) as usize;
                let options = String::from_utf8_lossy(&bytes[end..at + len]).into_owned();
                packets.push((word(at + 8), bytes[at + 28..end].to_vec(), options));
            }
            at += len;
        }
        packets
    }
}

#[test]
fn the_priority_that_was_asked_for_is_reported() {
    in_namespace(|| {
        let config = BoxConfig { real_time: true, ..config(["first", "second"], &LinkConfig::default()) };
        let end = between_cables(config, |_, _| ());
        assert_ne!(end.report.priority, Priority::Ordinary, "real-time, or it was refused");
    });
}

/// All packets of the Ethernet's station go to the TUN, and all of the TUN to the station, which is asked for its address.
#[test]
fn a_tun_and_an_ethernet_are_connected() {
    in_namespace(|| {
        connect("far", "second");
        let tun = TunConfig {
            device: "hw0".into(),
            address: "10.78.0.1/24".parse().expect("a prefix"),
            kernel: Some("10.78.0.9".parse().expect("an address")),
            mtu: None,
            offload: false,
            only_peer: None,
        };
        let mut near = TunCarrier::open(&tun).expect("a TUN");
        let mut far = Station::at("far");
        let (edbox, control) =
            LiveBox::open(config(["hw0", "second"], &LinkConfig::default())).expect("two interfaces");
        let clock = Clock::new();
        let send = |near: &mut TunCarrier, packet: &[u8]| {
            near.slot().expect("room")[..packet.len()].copy_from_slice(packet);
            near.queue(Transmit { len: packet.len(), compact: false });
            assert!(near.flush().expect("a TUN"));
        };
        // The interface of the box is its end of the cable.
        let (ours, station): (Mac, Mac) = (MACS[1], MACS[0]);
        let octets = |address: &str| address.parse::<Ipv4Addr>().expect("an address").octets();
        let arp = |operation: u8, sender: (Mac, &str), target: (Mac, &str)| {
            let kind = [0, 1, 8, 0, 6, 4, 0, operation];
            [&kind[..], &sender.0, &octets(sender.1), &target.0, &octets(target.1)].concat()
        };
        let end = thread::scope(|scope| {
            let running = scope.spawn(|| edbox.run());
            let stop = Stop(&control, Some(running));
            let packet = segment(NEAR, FAR, b"there");
            send(&mut near, &packet);
            let question = arp(1, (ours, NEAR), ([0; 6], FAR));
            for _ in 0..2 {
                // It is repeated after a second.
                assert_eq!(far.receive(), frame(BROADCAST, ours, ARP, &question));
            }
            far.send(&frame(ours, station, ARP, &arp(2, (station, FAR), (ours, NEAR))));
            assert_eq!(far.receive(), frame(station, ours, IPV4, &packet));
            send(&mut near, &packet);
            assert_eq!(far.receive(), frame(station, ours, IPV4, &packet), "it is known");
            // The station asks for any address.
            far.send(&frame(BROADCAST, station, ARP, &arp(1, (station, FAR), ([0; 6], "192.0.2.7"))));
            let answer = arp(2, (ours, "192.0.2.7"), (station, FAR));
            assert_eq!(far.receive(), frame(station, ours, ARP, &answer));
            // What is for another station is not passed on, and what is no IP neither.
            far.send(&frame([2, 0, 0, 0, 0, 9], station, IPV4, &segment(FAR, NEAR, b"other")));
            far.send(&frame(ours, station, [0x88, 0xb5], b"whatever it is"));
            let back = segment(FAR, NEAR, b"back");
            far.send(&frame(ours, station, IPV4, &back));
            let mut arrived = Vec::new();
            while arrived.is_empty() {
                wait(near.fd());
                near.fill(&clock).expect("a TUN");
                let mut arrivals = Vec::new();
                near.received(&mut arrivals);
                arrived = arrivals.iter().map(|arrival| arrival.packet.to_vec()).collect();
            }
            assert_eq!(arrived, [back]);
            stop.end()
        });
        end.outcome.expect("it was stopped");
        let [there, back] = end.report.lanes;
        assert_eq!((there.link.delivered, back.link.delivered), (2, 1));
    });
}

#[test]
fn what_cannot_be_an_end_is_refused() {
    in_namespace(|| {
        connect("near", "first");
        connect("far", "second");
        ip("link add down0 type veth peer name down1");
        ip("link add bridge0 type bridge");
        let refused = |interfaces: [&str; 2]| {
            let opened = LiveBox::open(config(interfaces, &LinkConfig::default()));
            opened.err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (interfaces, why) in [
            (["first", "first"], "interface first twice"),
            (["first", "none0"], "none0"),
            (["lo", "first"], "ARPHRD 772"),
            (["first", "down0"], "that is up"),
            (["first", "near"], "the two ends of one veth"),
        ] {
            let error = refused(interfaces);
            assert!(error.contains(why), "{error}: {why}");
        }
        assert_eq!(refused(["first", "second"]), "");
        ip("link set first master bridge0");
        ip("link set second master bridge0");
        let error = refused(["first", "second"]);
        assert!(error.contains("ports of one bridge"), "{error}");
    });
}
