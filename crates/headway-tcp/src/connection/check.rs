//! What always holds of a connection.

use alloc::format;
use alloc::string::String;

use super::{Connection, State};
use crate::event::Timer;

/// One of these runs while something is to be sent or acknowledged.
const SENDING: [Timer; 6] =
    [Timer::Retransmit, Timer::Persist, Timer::Reorder, Timer::TailProbe, Timer::TailCopies, Timer::Pace];

impl Connection {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.snd
            .check()
            .and_then(|()| self.rcv.check())
            .map_err(|what| format!("{:?}: {what}", self.ends))?;
        if matches!(self.state, State::Closed | State::TimeWait) {
            return Ok(());
        }
        let waits = self.snd.has_outstanding() || self.snd.unsent() > 0 && self.state.is_synchronized();
        if waits && !SENDING.iter().any(|&timer| self.timers.is_set(timer)) {
            return Err(format!(
                "{:?}: {} bytes are outstanding, {} unsent, and no timer runs",
                self.ends,
                self.snd.outstanding().flight,
                self.snd.unsent()
            ));
        }
        Ok(())
    }
}
