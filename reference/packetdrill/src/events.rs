//! Events of descriptors.

/// Events of `poll` and `epoll`, which have the same values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events(pub(crate) u32);

impl Events {
    pub(crate) const IN: u32 = libc::EPOLLIN as u32;
    pub(crate) const OUT: u32 = libc::EPOLLOUT as u32;
    pub(crate) const ERR: u32 = libc::EPOLLERR as u32;
    pub(crate) const HUP: u32 = libc::EPOLLHUP as u32;
    pub(crate) const RDHUP: u32 = libc::EPOLLRDHUP as u32;
    pub(crate) const RDNORM: u32 = libc::EPOLLRDNORM as u32;
    pub(crate) const WRNORM: u32 = libc::EPOLLWRNORM as u32;

    pub(crate) fn add(&mut self, bits: u32, when: bool) {
        if when {
            self.0 |= bits;
        }
    }
}

/// Counts the events of a socket, for edge-triggered epoll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventCounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
}
