//! The connections of a path that received data last.

use crate::id::ConnectionId;

/// Connections that are remembered.
const REMEMBERED: usize = 3;

/// The latest first.
#[derive(Clone, Copy, Default)]
pub(crate) struct RecentReceivers([Option<ConnectionId>; REMEMBERED]);

impl RecentReceivers {
    fn latest(&self) -> Option<ConnectionId> {
        self.0[0]
    }

    /// `id` received data.
    pub(crate) fn record(&mut self, id: ConnectionId) {
        if self.latest() == Some(id) {
            return;
        }
        let place = self.0.iter().position(|other| *other == Some(id)).unwrap_or(REMEMBERED - 1);
        self.0[..=place].rotate_right(1);
        self.0[0] = Some(id);
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = ConnectionId> {
        self.0.into_iter().flatten()
    }
}
