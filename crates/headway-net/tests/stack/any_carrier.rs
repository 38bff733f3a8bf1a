//! A carrier of any kind: what the traits give, and what a box of one passes on.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use headway_net::{Arrival, Carrier, CarrierProperties, Clock, Housekeeping};
use headway_tcp::{OnlyPeer, Transmit};
use headway_units::Instant;

use super::carrier::{OURS, THEIRS};

/// Keeps house, and has nothing to do for it.
struct Calm;

impl Housekeeping for Calm {}

#[test]
fn a_carrier_has_nothing_special_unless_it_says_so() {
    assert!(Calm.trouble().is_none() && Calm.next_deadline().is_none() && Calm.path_mtus().is_empty());
    assert!(Calm.restarted_peers().is_empty() && Calm.returned_peers().is_empty());
    assert!(!Calm.holds_packets());
    Calm.accepted(3);
    Calm.handle_timeout(Instant::ZERO);
    Calm.close();
    let CarrierProperties { keeps_segments, tags_payloads, compacts_headers, only_peer } =
        CarrierProperties::default();
    assert!(keeps_segments && !tags_payloads && !compacts_headers && only_peer.is_none());
}

/// A carrier that has everything.
struct Rich {
    socket: UnixDatagram,
    slot: [u8; 9],
    /// What it was told.
    told: std::sync::Arc<parking_lot::Mutex<Vec<String>>>,
}

impl Rich {
    fn tell(&self, what: impl ToString) {
        self.told.lock().push(what.to_string());
    }
}

impl Carrier for Rich {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        1300
    }

    fn name(&self) -> String {
        "rich".into()
    }

    fn properties(&self) -> CarrierProperties {
        let only_peer = Some(OnlyPeer::new(OURS, THEIRS));
        CarrierProperties { keeps_segments: false, tags_payloads: true, compacts_headers: true, only_peer }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, _: &Clock) -> io::Result<usize> {
        Ok(7)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        packets.push(Arrival::new(b"packet", Instant::ZERO, headway_wire::ChecksumTrust::None));
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        Some(&mut self.slot)
    }

    fn queue(&mut self, Transmit { len, compact }: Transmit) {
        self.tell(format!("queue {len} {compact}"));
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.tell("flush");
        Ok(false)
    }
}

impl Housekeeping for Rich {
    fn close(&mut self) {
        self.tell("close");
    }
}

#[test]
fn a_box_passes_everything_on() {
    let told = std::sync::Arc::<parking_lot::Mutex<Vec<String>>>::default();
    let socket = UnixDatagram::unbound().expect("a socket");
    let rich = Rich { socket, slot: [0; 9], told: told.clone() };
    // Called as a carrier, and not as what is inside.
    fn use_it(mut carrier: impl Carrier) {
        assert_eq!((carrier.mtu(), carrier.name()), (1300, "rich".into()));
        let CarrierProperties { keeps_segments, tags_payloads, compacts_headers, only_peer } =
            carrier.properties();
        assert!(!keeps_segments && tags_payloads && compacts_headers && only_peer.is_some());
        assert_eq!(carrier.fill(&Clock::new()).expect("seven"), 7);
        let mut packets = Vec::new();
        carrier.received(&mut packets);
        assert_eq!(packets[0].packet, b"packet");
        drop(packets);
        assert_eq!(carrier.slot().map(|slot| slot.len()), Some(9));
        carrier.queue(Transmit { len: 3, compact: false });
        carrier.queue(Transmit { len: 4, compact: true });
        assert!(!carrier.flush().expect("not all"));
        carrier.housekeeping().expect("it has everything").close();
    }
    use_it(Box::new(rich) as Box<dyn Carrier>);
    assert_eq!(told.lock().join(", "), "queue 3 false, queue 4 true, flush, close");
}
