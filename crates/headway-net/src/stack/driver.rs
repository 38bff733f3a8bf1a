//! The thread between carrier and host.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use headway_tcp::OnlyPeer;
use headway_trace::Direction;
use headway_units::Instant;
use headway_wire::Received;
use parking_lot::MutexGuard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::shared::{Core, Shared};
use crate::capture::Recorder;
use crate::{Arrival, CaptureFile, Carrier, Housekeeping};

/// Moves packets between the carrier and the host, and handles the host's timers.
pub(super) struct Driver<C> {
    carrier: C,
    only_peer: Option<OnlyPeer>,
    shared: Arc<Shared>,
    kicks: OwnedFd,
    recorder: Recorder,
    wakers: Vec<Waker>,
    /// Which of the arrived packets the host accepts, of those whose carrier asks.
    accepted: Vec<usize>,
    /// The carrier has packets that it could not send yet.
    congested: bool,
}

/// What the host needs next.
enum Turn {
    /// There are more packets to send.
    Again,
    /// Nothing until this time or the next event.
    Sleep(Option<Instant>),
    /// Everything has ended.
    Over,
}

impl<C: Carrier> Driver<C> {
    pub(super) fn new(carrier: C, shared: Arc<Shared>, kicks: OwnedFd, capture: Option<CaptureFile>) -> Self {
        let recorder = Recorder::new(capture);
        let only_peer = carrier.properties().only_peer;
        Self {
            carrier,
            only_peer,
            shared,
            kicks,
            recorder,
            wakers: Vec::new(),
            accepted: Vec::new(),
            congested: false,
        }
    }

    pub(super) fn run(mut self) {
        // Exact timers: by default Linux rounds up by 50 us.
        if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
            tracing::debug!(%error, "the timer slack stays");
        }
        // A panic must be reported to the waiting tasks, or they would wait forever.
        let carried = catch_unwind(AssertUnwindSafe(|| self.carry())).unwrap_or_else(|_| {
            Err(io::Error::other("the thread of the stack panicked: a defect of headway"))
        });
        if let Err(error) = &carried {
            tracing::error!(carrier = self.carrier.name(), %error, "the carrier cannot go on");
        }
        self.end(carried);
    }

    /// Waits for the first listener or connection.
    fn wait_for_start(&self) -> io::Result<()> {
        loop {
            {
                let mut core = self.shared.lock();
                if core.started || core.closing.is_some() {
                    return Ok(());
                }
                core.sleeping = true;
            }
            match poll(&mut [PollFd::from_borrowed_fd(self.kicks.as_fd(), PollFlags::IN)], None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            // Resets the counter to zero.
            let _ = rustix::io::read(&self.kicks, &mut [0; 8]);
        }
    }

    fn carry(&mut self) -> io::Result<()> {
        self.wait_for_start()?;
        let mut readable = true;
        loop {
            let arrived = if readable { self.carrier.fill(&self.shared.clock)? } else { 0 };
            let trouble = self.carrier.housekeeping().and_then(Housekeeping::trouble);
            let turn = self.turn(arrived > 0, trouble);
            // Packets first, since they are urgent for the peer.
            let flushed = self.carrier.flush();
            for waker in self.wakers.drain(..) {
                waker.wake();
            }
            let was_congested = std::mem::replace(&mut self.congested, !flushed?);
            readable = match turn {
                // The host was not asked for packets.
                Turn::Over | Turn::Sleep(_) if was_congested && !self.congested => {
                    self.sleep(Some(Instant::ZERO))?
                }
                Turn::Over if !self.congested => return Ok(()),
                // A carrier may wait for a time before it sends.
                Turn::Over => {
                    let due = self.next_deadline();
                    self.sleep(due)?
                }
                // A carrier that is full now has the next turn say what to wait for.
                Turn::Again => self.sleep(Some(Instant::ZERO))?,
                // What could not be sent may have made something due.
                Turn::Sleep(until) => {
                    let due = self.next_deadline();
                    self.sleep(until.into_iter().chain(due).min())?
                }
            };
        }
    }

    /// All work that needs the host, under one lock.
    fn turn(&mut self, arrived: bool, trouble: Option<String>) -> Turn {
        let shared = self.shared.clone();
        let restarted = self.carrier.housekeeping().map_or_else(Vec::new, Housekeeping::restarted_peers);
        let mut packets = Vec::new();
        if arrived {
            // Packets are parsed and judged before the lock on the host is taken.
            self.carrier.received(&mut packets);
        }
        let mut core = shared.lock();
        core.sleeping = false;
        if arrived || trouble.is_some() {
            core.trouble = trouble;
        }
        // What has arrived may be of the new process, and open a connection.
        for peer in restarted {
            core.host.abort_peer(shared.clock.now(), peer);
        }
        for (index, Arrival { packet, at, received, is_asking, tag }) in packets.iter().enumerate() {
            // Packets of other protocols are not captured.
            if !matches!(received, Received::OtherProtocol(_)) {
                self.recorder.record(*at, packet, Direction::Inbound, remark(received));
            }
            if *is_asking && core.host.accepts(*at, received) {
                self.accepted.push(index);
            }
            match (&mut self.only_peer, tag, received) {
                (_, Some(tag), Received::Corrupted(segment)) => core.host.receive_tagged(*at, segment, tag),
                (Some(peer), ..) => core.host.receive_from_only_peer(*at, peer, packet, received),
                (None, ..) => core.host.receive(*at, received),
            }
        }
        drop(packets);
        let mut house = self.carrier.housekeeping();
        if let Some(house) = &mut house {
            for peer in house.returned_peers() {
                core.host.retransmit_to(shared.clock.now(), peer);
            }
            self.accepted.iter().for_each(|&index| house.accepted(index));
        }
        self.accepted.clear();
        let now = shared.clock.now();
        core.host.handle_timeout(now);
        if let Some(house) = house {
            house.handle_timeout(now);
            for &(ours, theirs, mtu) in house.path_mtus() {
                if core.host.path(ours, theirs).is_some_and(|path| path.mtu != Some(mtu)) {
                    core.host.set_path_mtu(now, ours, theirs, mtu);
                }
            }
        }
        let mut over = false;
        if let Some(until) = core.closing
            && (now >= until || core.is_quiet())
        {
            core.abort_all(now);
            over = true;
        }
        let more = !self.transmit(&mut core, now);
        core.notify(&mut self.wakers);
        let turn = if more {
            Turn::Again
        } else if over {
            Turn::Over
        } else {
            core.sleeping = true;
            let deadlines = [core.host.next_deadline(), self.next_deadline(), core.closing];
            Turn::Sleep(deadlines.into_iter().flatten().min())
        };
        // Tasks that wait for the lock get it first, or a busy driver would starve them.
        MutexGuard::unlock_fair(core);
        turn
    }

    /// Passes at most a batch of the host's packets to the carrier; returns whether those were all.
    fn transmit(&mut self, core: &mut Core, now: Instant) -> bool {
        if self.congested {
            // Back pressure: packets are built only when the carrier can send them.
            return true;
        }
        while let Some(slot) = self.carrier.slot() {
            let Some(packet) = core.host.poll_transmit(now, slot) else { return true };
            self.recorder.record(now, &slot[..packet.len], Direction::Outbound, None);
            self.carrier.queue(packet);
        }
        false
    }

    /// The carrier's.
    fn next_deadline(&mut self) -> Option<Instant> {
        self.carrier.housekeeping()?.next_deadline()
    }

    /// Waits for the carrier, a task or the time. Returns whether the carrier is ready.
    fn sleep(&mut self, until: Option<Instant>) -> io::Result<bool> {
        let holds = self.carrier.housekeeping().is_some_and(|house| house.holds_packets());
        let until = if holds { Some(Instant::ZERO) } else { until };
        let timeout = until.and_then(|until| {
            let left = until.saturating_since(self.shared.clock.now()).as_nanos();
            Timespec::try_from(Duration::from_nanos(left)).ok()
        });
        let carrier = self.carrier.fd();
        let wanted = if self.congested { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds =
            [PollFd::new(&carrier, wanted), PollFd::from_borrowed_fd(self.kicks.as_fd(), PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let [carrier, kicks] = fds.map(|fd| fd.revents());
        if kicks.contains(PollFlags::IN) {
            // Resets the counter to zero.
            let _ = rustix::io::read(&self.kicks, &mut [0; 8]);
        }
        // An error or hang-up is reported when the carrier is read.
        Ok(holds || !carrier.difference(PollFlags::OUT).is_empty())
    }

    /// Ends the stack: wakes all tasks.
    fn end(self, carried: io::Result<()>) {
        let Self { mut carrier, shared, recorder, mut wakers, .. } = self;
        let name = carrier.name();
        if let Some(house) = carrier.housekeeping() {
            house.close();
        }
        // The interface is restored before a task may end the process.
        drop(carrier);
        let recorded = recorder.finish();
        let mut core = shared.lock();
        if let Err(error) = &carried {
            core.failed = Some((error.kind(), format!("{name}: {error}")));
        }
        let logged = core.host.observer_mut().finish();
        let written = recorded.and(logged).map_err(io::Error::other);
        core.outcome = Some(carried.and(written));
        core.ended = true;
        core.wake_all(&mut wakers);
        drop(core);
        for waker in wakers {
            waker.wake();
        }
    }
}

/// The comment of a corrupted packet in a capture.
fn remark(received: &Received<'_>) -> Option<&'static str> {
    match received {
        Received::Unreadable(_) => Some("corrupted: the header cannot be read"),
        Received::Corrupted(_) => Some("corrupted: the header can be read"),
        _ => None,
    }
}
