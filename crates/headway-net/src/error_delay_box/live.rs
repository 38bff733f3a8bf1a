//! The box between two interfaces.

mod passage;
mod telling;

use std::io;
use std::num::NonZeroU64;

use headway_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::{Order, Orders, control};
use super::port::{Outgoing, Port};
use super::resolver::Resolver;
use super::{BoxControl, BoxReport, End, ErrorDelayBox, LaneConfig, Priority};
use crate::capture::Recorder;
use crate::{CaptureFile, Clock, NetError, sys};
use telling::Times;

/// How a [`LiveBox`] is set up.
pub struct BoxConfig {
    /// Its two interfaces, in the namespace of the thread that opens it.
    pub interfaces: [String; 2],
    /// The way from the first to the second, then the way back.
    pub lanes: [LaneConfig; 2],
    /// Whether the thread that runs it shall go before others (`SCHED_FIFO`), if that is permitted.
    pub real_time: bool,
    /// Where IP packets are written: interface 0 is the first, 1 the second, each as the host behind it
    /// sees it. So what comes in there is outbound, and what is sent there inbound, with a remark if the
    /// link damaged it.
    pub capture: Option<CaptureFile>,
}

/// An [`ErrorDelayBox`] between two interfaces of this machine.
pub struct LiveBox {
    model: ErrorDelayBox,
    ports: [Port; 2],
    /// Where one is a TUN and the other an Ethernet.
    resolver: Option<Resolver>,
    clock: Clock,
    started: Instant,
    orders: Orders,
    recorder: Recorder,
    real_time: bool,
    priority: Priority,
    /// By the end at which packets come in.
    times: [Times; 2],
    /// When it was last seen that the interfaces are there.
    checked: Instant,
}

/// How a box ended.
#[derive(Debug)]
pub struct BoxEnd {
    /// What it did.
    pub report: BoxReport,
    /// Why it ended, unless it was told to.
    pub outcome: Result<(), NetError>,
    /// Why the capture ends early, if it does.
    pub capture: Result<(), headway_trace::TraceError>,
}

/// Interfaces are looked for this often.
const CHECK: Duration = Duration::from_secs(1);

impl LiveBox {
    /// Opens the interfaces. Packets that arrive from now on are kept until the box runs.
    ///
    /// # Errors
    ///
    /// An interface is missing, down, of another kind, or both are one; or the right to see its frames is
    /// missing.
    pub fn open(config: BoxConfig) -> Result<(Self, BoxControl), NetError> {
        let [first, second] = &config.interfaces;
        if first == second {
            return Err(NetError::BadAddress {
                got: format!("interface {first} twice"),
                expected: "two interfaces to stand between",
            });
        }
        let ports = [Port::open(first)?, Port::open(second)?];
        let resolver = Resolver::between(&ports)?;
        let (control, orders) = control().map_err(NetError::Box)?;
        let clock = Clock::new();
        let now = clock.now();
        let live = Self {
            model: ErrorDelayBox::new(config.lanes),
            ports,
            resolver,
            clock,
            started: now,
            orders,
            recorder: Recorder::new(config.capture),
            real_time: config.real_time,
            priority: Priority::Ordinary,
            times: Default::default(),
            checked: now,
        };
        Ok((live, control))
    }

    /// Carries packets until it is told to stop or an interface is gone.
    pub fn run(mut self) -> BoxEnd {
        // Timers that are exact: by default Linux rounds up by 50 us.
        if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
            tracing::debug!(%error, "the timer slack stays");
        }
        if self.real_time {
            self.priority = match sys::run_in_real_time() {
                Ok(()) => Priority::RealTime,
                Err(error) => {
                    tracing::debug!(%error, "no real time");
                    Priority::Refused
                }
            };
        }
        let outcome = self.carry();
        let report = self.report();
        BoxEnd { report, outcome, capture: self.recorder.finish() }
    }

    fn carry(&mut self) -> Result<(), NetError> {
        let mut woken = Woken { readable: [true; 2], told: true };
        loop {
            for end in End::BOTH {
                if woken.readable[end.index()] {
                    self.read(end)?;
                }
            }
            let now = self.clock.now();
            self.resolve(now);
            for end in End::BOTH {
                while let Some(delivery) = self.model.poll(end, now) {
                    let (due, damage) = (Some(delivery.at), delivery.damage);
                    let outgoing = Outgoing { frame: delivery.packet, due, damage };
                    self.ports[end.opposite().index()].queue(outgoing);
                }
                self.flush(end)?;
            }
            if now.saturating_since(self.checked) >= CHECK {
                self.check(now)?;
            }
            if woken.told && self.obey() {
                return Ok(());
            }
            woken = self.sleep().map_err(NetError::Box)?;
        }
    }

    fn gone(&self, end: End, source: io::Error) -> NetError {
        NetError::Interface {
            name: self.ports[end.index()].interface().name.clone(),
            what: "is gone",
            source,
            expected: "an interface that stays while the box runs",
        }
    }

    /// An interface that is taken away while it is down says nothing.
    fn check(&mut self, now: Instant) -> Result<(), NetError> {
        self.checked = now;
        match End::BOTH.into_iter().find(|end| !self.ports[end.index()].is_there()) {
            Some(end) => Err(self.gone(end, io::Error::from_raw_os_error(libc::ENODEV))),
            None => Ok(()),
        }
    }

    /// Does what was ordered; true if that was to stop.
    fn obey(&mut self) -> bool {
        self.orders.clear();
        while let Some(order) = self.orders.next() {
            // Whoever asked may have gone.
            match order {
                Order::Report(answer) => {
                    let _ = answer.send(self.report());
                }
                Order::Change(lanes, answer) => {
                    self.model.change(self.clock.now(), *lanes);
                    let _ = answer.send(());
                }
                Order::Stop => return true,
            }
        }
        false
    }

    /// Waits until there is something to do.
    fn sleep(&self) -> io::Result<Woken> {
        let asked = self.resolver.as_ref().and_then(Resolver::next_deadline);
        let events = [self.model.next_event(), asked, Some(self.checked + CHECK)];
        let until = events.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let left = until.saturating_since(self.clock.now()).as_nanos();
        let timeout =
            Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
        let [first, second] = &self.ports;
        let wanted = |port: &Port| {
            if port.is_congested() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
        };
        let mut fds = [
            PollFd::from_borrowed_fd(first.fd(), wanted(first)),
            PollFd::from_borrowed_fd(second.fd(), wanted(second)),
            PollFd::from_borrowed_fd(self.orders.fd(), PollFlags::IN),
        ];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [first, second, orders] = fds.map(|fd| fd.revents());
        // An error shows when it is read.
        let readable = [first, second].map(|events| !events.difference(PollFlags::OUT).is_empty());
        Ok(Woken { readable, told: !orders.is_empty() })
    }
}

/// Why the box woke.
struct Woken {
    /// Whether an interface has something.
    readable: [bool; 2],
    /// Whether there may be orders.
    told: bool,
}
