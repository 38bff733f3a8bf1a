//! The box between two interfaces.

mod forwarding;
mod reporting;

use std::io;
use std::num::NonZeroU64;

use headway_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::{Order, Orders, control};
use super::port::{Outgoing, Port};
use super::resolver::Resolver;
use super::{BoxControl, BoxReport, End, ErrorDelayBox, LaneConfig, Priority};
use crate::capture::Recorder;
use crate::topology::Topology;
use crate::{CaptureFile, Clock, NetError, sys};
use reporting::Times;

/// How a [`LiveBox`] is set up.
pub struct BoxConfig {
    /// Its two interfaces, in the namespace of the thread that opens it.
    pub interfaces: [String; 2],
    /// The path from the first to the second, then the path in the other direction.
    pub lanes: [LaneConfig; 2],
    /// Whether the thread that runs it requests real-time priority (`SCHED_FIFO`).
    pub real_time: bool,
    /// The capture file: interface 0 is the first, 1 the second, each from the view of its host. So a
    /// packet received there is outbound, and a packet sent there inbound, with a comment if the link
    /// damaged it.
    pub capture: Option<CaptureFile>,
}

/// An [`ErrorDelayBox`] between two interfaces of this machine.
pub struct LiveBox {
    model: ErrorDelayBox,
    ports: [Port; 2],
    /// Used between a TUN and an Ethernet.
    resolver: Option<Resolver>,
    clock: Clock,
    started: Instant,
    orders: Orders,
    recorder: Recorder,
    real_time: bool,
    priority: Priority,
    /// By the end at which packets arrive.
    times: [Times; 2],
    /// When the existence of the interfaces was last checked.
    checked: Instant,
}

/// How a box ended.
#[derive(Debug)]
pub struct BoxEnd {
    /// Its last report.
    pub report: BoxReport,
    /// The error that ended it, unless it was stopped.
    pub outcome: Result<(), NetError>,
    /// The error that ended the capture, if any.
    pub capture: Result<(), headway_trace::TraceError>,
}

/// The interval of checking that the interfaces exist.
const CHECK: Duration = Duration::from_secs(1);

impl LiveBox {
    /// Opens the interfaces. Packets that arrive from now on are kept until the box runs.
    ///
    /// # Errors
    ///
    /// An interface is missing, down or of an unsupported kind, both are the same, the two ends of one veth or ports
    /// of one bridge, or the right to open a packet socket is missing.
    pub fn open(config: BoxConfig) -> Result<(Self, BoxControl), NetError> {
        let [first, second] = &config.interfaces;
        if first == second {
            return Err(NetError::BadAddress {
                got: format!("interface {first} twice"),
                expected: "two different interfaces",
            });
        }
        let ports = [Port::open(first)?, Port::open(second)?];
        check_for_loop(&ports)?;
        let resolver = Resolver::between(&ports)?;
        let (control, orders) = control().map_err(NetError::Box)?;
        let clock = Clock::new();
        let now = clock.now();
        let live = Self {
            model: ErrorDelayBox::starting_at(now, config.lanes),
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

    /// Forwards packets until it is stopped or an interface is removed.
    pub fn run(mut self) -> BoxEnd {
        // Exact timers: by default Linux rounds up by 50 us.
        if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
            tracing::debug!(%error, "the timer slack cannot be changed");
        }
        if self.real_time {
            self.priority = match sys::run_in_real_time() {
                Ok(()) => Priority::RealTime,
                Err(error) => {
                    tracing::debug!(%error, "no real-time priority");
                    Priority::Refused
                }
            };
        }
        let outcome = self.carry();
        let report = self.report();
        BoxEnd { report, outcome, capture: self.recorder.finish() }
    }

    fn carry(&mut self) -> Result<(), NetError> {
        let mut woken = Woken { readable: [true; 2], has_orders: true };
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
            if woken.has_orders && self.handle_orders() {
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

    /// An interface that is removed while it is down gives no error.
    fn check(&mut self, now: Instant) -> Result<(), NetError> {
        self.checked = now;
        match End::BOTH.into_iter().find(|end| !self.ports[end.index()].exists()) {
            Some(end) => Err(self.gone(end, io::Error::from_raw_os_error(libc::ENODEV))),
            None => Ok(()),
        }
    }

    /// Executes the orders; true if one was to stop.
    fn handle_orders(&mut self) -> bool {
        self.orders.clear();
        while let Some(order) = self.orders.next() {
            // The asking thread may have ended.
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

    /// Waits for frames, orders or the next deadline.
    fn sleep(&self) -> io::Result<Woken> {
        let asked = self.resolver.as_ref().and_then(Resolver::next_deadline);
        let events = [self.model.next_event(), asked, Some(self.checked + CHECK)];
        let until = events.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let left = until.saturating_since(self.clock.now()).as_nanos();
        let timeout = Timespec::try_from(std::time::Duration::from_nanos(left)).ok();
        let [first, second] = &self.ports;
        let wanted = |port: &Port| {
            if port.is_congested() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
        };
        let mut fds = [
            PollFd::from_borrowed_fd(first.fd(), wanted(first)),
            PollFd::from_borrowed_fd(second.fd(), wanted(second)),
            PollFd::from_borrowed_fd(self.orders.fd(), PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [first, second, orders] = fds.map(|fd| fd.revents());
        // An error is reported when the port is read.
        let readable = [first, second].map(|events| !events.difference(PollFlags::OUT).is_empty());
        Ok(Woken { readable, has_orders: !orders.is_empty() })
    }
}

/// What the box sends at one of its interfaces must not arrive at the other without the box.
fn check_for_loop(ports: &[Port; 2]) -> Result<(), NetError> {
    let [first, second] = ports.each_ref().map(Port::interface);
    let [of_first, of_second] = ports.each_ref().map(|port| {
        // What is unknown is not refused.
        Topology::of(port.interface().index).unwrap_or_default()
    });
    let Some((what, expected)) = connection((first.index, of_first), (second.index, of_second)) else {
        return Ok(());
    };
    Err(NetError::BadAddress {
        got: format!("interfaces {} and {}, {what}", first.name, second.name),
        expected,
    })
}

/// How two interfaces are connected, and what is expected instead.
fn connection(first: (u32, Topology), second: (u32, Topology)) -> Option<(&'static str, &'static str)> {
    let ((first, of_first), (second, of_second)) = (first, second);
    if of_first.peer == Some(second) && of_second.peer == Some(first) {
        return Some((
            "the two ends of one veth",
            "ends of two veths, or other interfaces that are not connected: packets would circulate",
        ));
    }
    if of_first.master.is_some() && of_first.master == of_second.master {
        return Some(("ports of one bridge", "interfaces that are not connected: packets would circulate"));
    }
    None
}

/// The reasons of a wakeup.
struct Woken {
    /// Whether each interface is readable.
    readable: [bool; 2],
    /// Whether there may be orders.
    has_orders: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_connected_by_a_veth_or_by_a_bridge() {
        let of = |peer, master| Topology { peer, master };
        let what = |first, second| connection((1, first), (2, second)).map(|(what, _)| what);
        assert_eq!(what(of(Some(2), None), of(Some(1), None)), Some("the two ends of one veth"));
        assert_eq!(what(of(Some(2), Some(9)), of(Some(1), Some(8))), Some("the two ends of one veth"));
        assert_eq!(what(of(None, Some(9)), of(None, Some(9))), Some("ports of one bridge"));
        for (first, second) in [
            (of(None, None), of(None, None)),
            (of(None, Some(9)), of(None, Some(8))),
            (of(None, Some(9)), of(None, None)),
            // In two namespaces the numbers may be the same.
            (of(Some(2), None), of(Some(3), None)),
            (of(Some(3), None), of(Some(1), None)),
        ] {
            assert_eq!(what(first, second), None);
        }
    }
}
