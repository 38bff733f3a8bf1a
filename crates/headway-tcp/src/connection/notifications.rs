//! What the application is notified of.

/// What the application is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notification {
    /// The handshake is complete.
    Connected,
    /// More has arrived, or the peer closed its side. What is left unread is not notified again.
    Readable,
    /// There is room to write again, a third of the buffer or more, after a short write. Writes in between that found
    /// room do not change that it follows.
    Writable,
    /// The peer set the urgent pointer (RFC 9293, 3.8.5); its data comes in line.
    Urgent,
    /// The connection is over; [`crate::Host::error`] says whether it failed.
    Closed,
}

/// Notifications that the application has not been given yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Notifications {
    /// As bits.
    pending: u8,
    /// The application wrote less than it wanted to, and has not been notified since.
    write_blocked: bool,
}

impl Notifications {
    const ORDER: [Notification; 5] = [
        Notification::Connected,
        Notification::Urgent,
        Notification::Readable,
        Notification::Writable,
        Notification::Closed,
    ];

    /// Adds one, unless one alike waits already.
    pub(super) fn add(&mut self, notification: Notification) {
        let bit = Self::ORDER.iter().position(|&other| other == notification).unwrap_or(0);
        self.pending |= 1 << bit;
    }

    /// Takes one that the application has not been given yet.
    pub(super) fn take(&mut self) -> Option<Notification> {
        let bit = self.pending.trailing_zeros() as usize;
        let notification = *Self::ORDER.get(bit)?;
        self.pending &= self.pending - 1;
        Some(notification)
    }

    pub(super) fn set_write_blocked(&mut self) {
        self.write_blocked = true;
    }

    pub(super) fn add_writable(&mut self) {
        self.write_blocked = false;
        self.add(Notification::Writable);
    }

    pub(super) fn is_write_blocked(self) -> bool {
        self.write_blocked
    }

    pub(super) fn any(self) -> bool {
        self.pending != 0
    }
}
