//! `poll`, and the readiness of descriptors.

use headway_tcp::State;
use libc::{c_int, c_short};

use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::events::{EventCounts, Events};
use crate::socket::Phase;
use crate::stack::Stack;

/// An entry of `poll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    pub(crate) fd: c_int,
    pub(crate) wanted: c_short,
    pub(crate) found: c_short,
}

impl Stack {
    /// The events of a descriptor, as by Linux's `tcp_poll`.
    pub(crate) fn readiness(&self, fd: c_int) -> Result<Events> {
        let mut events = Events::default();
        let Kind::Socket(socket) = &self.descriptors.get(fd)?.kind else {
            return Ok(Events(Events::IN | Events::OUT));
        };
        let id = match socket.phase {
            Phase::Fresh => {
                return Ok(Events(Events::OUT | Events::WRNORM | Events::HUP));
            }
            Phase::Listening(listener) => {
                events.add(Events::IN | Events::RDNORM, self.host.acceptable(listener) > 0);
                return Ok(events);
            }
            Phase::Connection(id) => id,
        };
        let state = self.host.state(id);
        let is_opening = matches!(state, State::SynSent | State::SynReceived);
        let read_ends = socket.read_shut || (!is_opening && !state.may_receive());
        let write_ends = socket.write_shut || state == State::Closed;
        events.add(Events::HUP, (read_ends && write_ends) || state == State::Closed);
        events.add(Events::IN | Events::RDNORM | Events::RDHUP, read_ends);
        if !is_opening {
            let readable = self.host.readable(id) >= socket.settings.receive_low_water.max(1);
            events.add(Events::IN | Events::RDNORM, readable);
            // In Linux a socket is writable while a third of the buffer is free.
            let settings = &socket.settings;
            let worthwhile = settings.profile.send_buffer / 3;
            let unsent = self.host.statistics(id).map_or(0, |statistics| statistics.unsent);
            let has_room = self.host.writable(id) >= worthwhile.max(1);
            let writable =
                write_ends || (has_room && (settings.unsent_limit == 0 || unsent < settings.unsent_limit));
            events.add(Events::OUT | Events::WRNORM, writable);
        }
        events.add(Events::ERR, self.has_error(fd));
        Ok(events)
    }

    /// The event counts of a descriptor.
    pub(crate) fn event_counts(&self, fd: c_int) -> EventCounts {
        let Ok(socket) = self.descriptors.socket(fd) else { return EventCounts::default() };
        let waiting = match socket.phase {
            Phase::Listening(listener) => self.host.acceptable(listener) as u64,
            _ => 0,
        };
        EventCounts { input: socket.event_counts.input + waiting, ..socket.event_counts }
    }

    /// `poll`: the number of entries with events. [`Errno::WOULD_BLOCK`] if there are none.
    pub(crate) fn poll(&mut self, list: &mut [Polled]) -> Result<usize> {
        for entry in &mut *list {
            let Polled { fd, wanted, .. } = *entry;
            let ready = match self.readiness(fd) {
                // Negative descriptors are ignored.
                _ if fd < 0 => 0,
                // The common values fit.
                Ok(events) => events.0 as c_short & (wanted | libc::POLLERR | libc::POLLHUP),
                Err(_) => libc::POLLNVAL,
            };
            entry.found = ready;
        }
        match list.iter().filter(|entry| entry.found != 0).count() {
            0 => Err(Errno::WOULD_BLOCK),
            count => Ok(count),
        }
    }
}
