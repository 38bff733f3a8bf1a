//! Sets of descriptors of `epoll`, level- and edge-triggered.

use std::collections::BTreeMap;

use libc::c_int;

use crate::events::{EventCounts, Events};

/// A set of descriptors and their interests.
#[derive(Debug, Default)]
pub(crate) struct Epoll {
    pub(crate) interests: BTreeMap<c_int, Interest>,
}

/// The events of a descriptor that `epoll_wait` reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    events: u32,
    pub(crate) data: u64,
    /// The state at the last report, for edge-triggered interests.
    reported: Option<(u32, EventCounts)>,
    /// A one-shot that has fired.
    is_spent: bool,
}

impl Interest {
    pub(crate) const fn new(events: u32, data: u64) -> Self {
        Self { events, data, reported: None, is_spent: false }
    }

    /// The events to report; records that they were reported.
    pub(crate) fn take(&mut self, ready: Events, event_counts: EventCounts) -> u32 {
        const EDGE: u32 = libc::EPOLLET as u32;
        const ONE_SHOT: u32 = libc::EPOLLONESHOT as u32;
        let ready = ready.0 & (self.events | Events::ERR | Events::HUP);
        if ready == 0 || self.is_spent {
            return 0;
        }
        if self.events & EDGE != 0 {
            let is_new =
                self.reported.is_none_or(|(before, then)| then != event_counts || ready & !before != 0);
            if !is_new {
                return 0;
            }
            self.reported = Some((ready, event_counts));
        }
        self.is_spent = self.events & ONE_SHOT != 0;
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interest(events: c_int) -> Interest {
        Interest::new(events as u32, 0)
    }

    #[test]
    fn a_level_is_reported_again() {
        let mut interest = interest(libc::EPOLLIN);
        for _ in 0..2 {
            assert_eq!(interest.take(Events(Events::IN | Events::OUT), EventCounts::default()), Events::IN);
        }
    }

    #[test]
    fn an_edge_is_reported_once_for_each_event() {
        let mut interest = interest(libc::EPOLLIN | libc::EPOLLET);
        let ready = Events(Events::IN);
        assert_eq!(interest.take(ready, EventCounts::default()), Events::IN);
        assert_eq!(interest.take(ready, EventCounts::default()), 0);
        assert_eq!(interest.take(ready, EventCounts { input: 1, output: 0 }), Events::IN);
    }

    #[test]
    fn a_one_shot_fires_once() {
        let mut interest = interest(libc::EPOLLIN | libc::EPOLLONESHOT);
        assert_eq!(interest.take(Events(Events::IN), EventCounts::default()), Events::IN);
        assert_eq!(interest.take(Events(Events::IN), EventCounts { input: 5, output: 5 }), 0);
    }
}
