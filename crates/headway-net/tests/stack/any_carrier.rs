//! A carrier of any kind: what the trait gives, and what a box of one passes on.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use headway_net::{Arrival, Carrier, Clock};
use headway_tcp::OnlyPeer;
use headway_units::Instant;

use crate::carrier::{OURS, THEIRS};

/// A carrier that has only what every one must have.
struct Plain {
    socket: UnixDatagram,
    slot: [u8; 9],
    queued: Vec<usize>,
}

impl Plain {
    fn new() -> Self {
        Self { socket: UnixDatagram::unbound().expect("a socket"), slot: [0; 9], queued: Vec::new() }
    }
}

impl Carrier for Plain {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        1400
    }

    fn name(&self) -> String {
        "plain".into()
    }

    fn fill(&mut self, _: &Clock) -> io::Result<usize> {
        Ok(0)
    }

    fn received<'a>(&'a self, _: &mut Vec<Arrival<'a>>) {}

    fn slot(&mut self) -> Option<&mut [u8]> {
        Some(&mut self.slot)
    }

    fn queue(&mut self, len: usize) {
        self.queued.push(len);
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

#[test]
fn a_carrier_has_nothing_special_unless_it_says_so() {
    let mut plain = Plain::new();
    assert!(plain.keeps_segments() && !plain.tags_payloads() && !plain.compacts_headers());
    assert!(plain.only_peer().is_none() && plain.trouble().is_none() && plain.next_deadline().is_none());
    assert!(plain.restarted_peers().is_empty() && plain.returned_peers().is_empty());
    assert!(plain.path_mtus().is_empty());
    plain.accepted(3);
    plain.handle_timeout(Instant::ZERO);
    plain.close();
    plain.queue_compact(7);
    assert_eq!(plain.queued, [7], "it has no compact form");
}

/// A carrier that has everything.
struct Rich {
    plain: Plain,
    path_mtus: [(IpAddr, IpAddr, u16); 1],
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
        self.plain.fd()
    }

    fn mtu(&self) -> u16 {
        1300
    }

    fn name(&self) -> String {
        "rich".into()
    }

    fn keeps_segments(&self) -> bool {
        false
    }

    fn tags_payloads(&self) -> bool {
        true
    }

    fn compacts_headers(&self) -> bool {
        true
    }

    fn only_peer(&self) -> Option<OnlyPeer> {
        Some(OnlyPeer::new(OURS, THEIRS))
    }

    fn fill(&mut self, _: &Clock) -> io::Result<usize> {
        Ok(7)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        packets.push(Arrival::new(b"packet", Instant::ZERO, headway_wire::ChecksumTrust::None));
    }

    fn accepted(&mut self, index: usize) {
        self.tell(format!("accepted {index}"));
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.plain.slot()
    }

    fn queue(&mut self, len: usize) {
        self.tell(format!("queue {len}"));
    }

    fn queue_compact(&mut self, len: usize) {
        self.tell(format!("compact {len}"));
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.tell("flush");
        Ok(false)
    }

    fn trouble(&mut self) -> Option<String> {
        Some("trouble".into())
    }

    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        vec![OURS]
    }

    fn returned_peers(&mut self) -> Vec<IpAddr> {
        vec![THEIRS]
    }

    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        &self.path_mtus
    }

    fn close(&mut self) {
        self.tell("close");
    }

    fn next_deadline(&self) -> Option<Instant> {
        Some(Instant::from_nanos(9))
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tell(format!("timeout {}", now.as_nanos()));
    }
}

#[test]
fn a_box_passes_everything_on() {
    let told = std::sync::Arc::<parking_lot::Mutex<Vec<String>>>::default();
    let other = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let rich = Rich { plain: Plain::new(), path_mtus: [(OURS, other, 500)], told: told.clone() };
    // Called as a carrier, and not as what is inside.
    fn use_it(mut carrier: impl Carrier) {
        assert_eq!((carrier.mtu(), carrier.name()), (1300, "rich".into()));
        assert!(!carrier.keeps_segments() && carrier.tags_payloads() && carrier.compacts_headers());
        assert!(carrier.only_peer().is_some());
        assert_eq!(carrier.fill(&Clock::new()).expect("seven"), 7);
        let mut packets = Vec::new();
        carrier.received(&mut packets);
        assert_eq!(packets[0].packet, b"packet");
        drop(packets);
        carrier.accepted(2);
        assert_eq!(carrier.slot().map(|slot| slot.len()), Some(9));
        carrier.queue(3);
        carrier.queue_compact(4);
        assert!(!carrier.flush().expect("not all"));
        assert_eq!(carrier.trouble().as_deref(), Some("trouble"));
        assert_eq!((carrier.restarted_peers(), carrier.returned_peers()), (vec![OURS], vec![THEIRS]));
        assert_eq!(carrier.path_mtus().first().map(|path| path.2), Some(500));
        assert_eq!(carrier.next_deadline(), Some(Instant::from_nanos(9)));
        carrier.handle_timeout(Instant::from_nanos(5));
        carrier.close();
    }
    use_it(Box::new(rich) as Box<dyn Carrier>);
    assert_eq!(told.lock().join(", "), "accepted 2, queue 3, compact 4, flush, timeout 5, close");
}
