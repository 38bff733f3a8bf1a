//! The signals that end a command.

use std::fmt;

use tokio::signal::unix::{SignalKind, signal};

use super::error::TransportError;

/// Waits for SIGINT or SIGTERM, and returns which.
pub async fn stop_signal() -> Result<StopSignal, TransportError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(TransportError::NoRuntime)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(TransportError::NoRuntime)?;
    Ok(tokio::select! {
        _ = interrupt.recv() => StopSignal::Interrupt,
        _ = terminate.recv() => StopSignal::Terminate,
    })
}

/// A signal that ends a command.
#[derive(Clone, Copy, Debug)]
pub enum StopSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl StopSignal {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}
