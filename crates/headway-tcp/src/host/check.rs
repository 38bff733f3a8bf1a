//! What always holds of a host, for tests that ask between any two calls.

use alloc::string::String;

use super::Host;
use crate::connection::Connection;
use crate::event::Observer;

impl<O: Observer> Host<O> {
    /// Counts again what is counted as it changes, and looks for what would wait for ever. To be asked when
    /// [`Host::poll_transmit`] has returned `None`; takes time in proportion to what is in flight.
    ///
    /// # Errors
    ///
    /// What does not hold: a defect.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        self.connections.iter().map(|(_, entry)| entry.connection()).try_for_each(Connection::check)
    }
}
