//! A carrier beside whose packets the frames of surveys go.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_net::{Arrival, Carrier, CarrierProperties, Clock, Housekeeping};
use headway_tcp::Transmit;
use headway_units::Instant;
use headway_wire::Received;

use super::session::Session;

/// The most surveys at once.
const MOST: usize = 4;
/// What the frames of a survey are for the host: no TCP (RFC 3692, a protocol number for experiments).
const EXPERIMENT: u8 = 253;

/// The surveys of a carrier, each by the address and port of its peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surveys(Arc<Mutex<Vec<(SocketAddr, Session)>>>);

impl Surveys {
    /// Begins one, which lasts as long as what it returns; `None`: there are too many.
    pub(super) fn begin(&self, peer: SocketAddr, session: Session) -> Option<Running> {
        let mut sessions = self.lock();
        let is_free = sessions.len() < MOST && sessions.iter().all(|(other, _)| *other != peer);
        is_free.then(|| {
            sessions.push((peer, session));
            Running { surveys: self.clone(), peer }
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(SocketAddr, Session)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A survey that runs. It ends when this is dropped.
pub(super) struct Running {
    surveys: Surveys,
    peer: SocketAddr,
}

impl Running {
    /// Looks at it, or changes it.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let mut sessions = self.surveys.lock();
        sessions.iter_mut().find(|(peer, _)| *peer == self.peer).map(|(_, session)| work(session))
    }

    /// Ends it.
    pub(super) fn end(self) -> Option<Session> {
        let mut sessions = self.surveys.lock();
        let index = sessions.iter().position(|(peer, _)| *peer == self.peer)?;
        Some(sessions.swap_remove(index).1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.surveys.lock().retain(|(peer, _)| *peer != self.peer);
    }
}

/// See the module's documentation.
pub(crate) struct SurveyCarrier {
    inner: Box<dyn Carrier>,
    surveys: Surveys,
    /// The deadline of the carrier inside.
    inner_due: Option<Instant>,
}

impl SurveyCarrier {
    pub(crate) fn new(inner: Box<dyn Carrier>, surveys: Surveys) -> Self {
        Self { inner, surveys, inner_due: None }
    }
}

impl Carrier for SurveyCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn mtu(&self) -> u16 {
        self.inner.mtu()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn properties(&self) -> CarrierProperties {
        self.inner.properties()
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        self.inner_due = self.inner.housekeeping().and_then(|house| house.next_deadline());
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.inner.fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        let before = packets.len();
        self.inner.received(packets);
        let mut sessions = self.surveys.lock();
        for arrival in &mut packets[before..] {
            let (is_readable, is_intact) = match arrival.received {
                Received::Intact(_) => (true, true),
                Received::Corrupted(_) => (true, false),
                // Of a frame with a damaged header, other bytes had the sum of one by chance.
                Received::Malformed(_) => (true, false),
                Received::Unreadable(_) => (false, false),
                _ => continue,
            };
            let take =
                |session: &mut Session| session.on_packet(arrival.packet, is_readable, is_intact, arrival.at);
            // It stays in its place, which the carrier knows it by.
            if sessions.iter_mut().any(|(_, session)| take(session)) {
                (arrival.received, arrival.is_asking) = (Received::OtherProtocol(EXPERIMENT), false);
            }
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.inner.slot()
    }

    fn queue(&mut self, packet: Transmit) {
        self.inner.queue(packet);
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.inner.flush()
    }
}

impl Housekeeping for SurveyCarrier {
    fn accepted(&mut self, index: usize) {
        if let Some(house) = self.inner.housekeeping() {
            house.accepted(index);
        }
    }

    fn trouble(&mut self) -> Option<String> {
        self.inner.housekeeping().and_then(Housekeeping::trouble)
    }

    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        self.inner.housekeeping().map(Housekeeping::restarted_peers).unwrap_or_default()
    }

    fn returned_peers(&mut self) -> Vec<IpAddr> {
        self.inner.housekeeping().map(Housekeeping::returned_peers).unwrap_or_default()
    }

    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        // No carrier of a command probes its path.
        &[]
    }

    fn next_deadline(&self) -> Option<Instant> {
        let sessions = self.surveys.lock();
        let due = sessions.iter().filter_map(|(_, session)| session.next_deadline());
        due.chain(self.inner_due).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(house) = self.inner.housekeeping() {
            house.handle_timeout(now);
        }
        for (_, session) in self.surveys.lock().iter_mut() {
            while session.is_due(now) {
                let Some(slot) = self.inner.slot() else { return };
                if let Some(len) = session.poll(now, slot) {
                    self.inner.queue(Transmit { len, compact: false });
                }
            }
        }
    }

    fn close(&mut self) {
        if let Some(house) = self.inner.housekeeping() {
            house.close();
        }
    }
}
