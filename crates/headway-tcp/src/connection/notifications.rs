//! What the application is told of a connection.

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notification {
    /// The handshake is complete.
    Connected,
    /// More has arrived, or the peer closed its side. What is left unread is not told again.
    Readable,
    /// There is room to write again, a third of the buffer or more, after a short write.
    Writable,
    /// The peer set the urgent pointer (RFC 9293, 3.8.5); its data comes in line.
    Urgent,
    /// The connection is over; [`crate::Host::error`] says whether it failed.
    Closed,
}

/// Notifications that the application has not been given yet, as bits.
#[derive(Clone, Copy, Default)]
pub(super) struct Notifications(u8);

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
        self.0 |= 1 << bit;
    }

    /// Takes one that the application has not been given yet.
    pub(super) fn take(&mut self) -> Option<Notification> {
        let bit = self.0.trailing_zeros() as usize;
        let notification = *Self::ORDER.get(bit)?;
        self.0 &= self.0 - 1;
        Some(notification)
    }

    pub(super) fn any(self) -> bool {
        self.0 != 0
    }
}
