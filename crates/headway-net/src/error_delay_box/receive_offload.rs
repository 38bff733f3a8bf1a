//! Interfaces that put packets together on their way in.

use std::os::fd::AsFd as _;

use socket2::{Domain, Socket, Type};

use crate::sys;

/// Generic and large receive offload: what they put together was several packets on the wire, each with
/// its own fate.
const FEATURES: [&str; 3] = ["rx-gro", "rx-lro", "rx-gro-hw"];

/// The receive offload of an interface, off for as long as this lives.
///
/// An interface that has none, or that may not be told, is left alone: what comes in one piece is cut again.
pub(super) struct ReceiveOffload {
    interface: String,
    /// Of the interface's namespace; `None` if there is nothing to switch back.
    socket: Option<Socket>,
    /// What was on before.
    off: Vec<&'static str>,
}

impl ReceiveOffload {
    /// Of an interface in the namespace of the calling thread.
    pub(super) fn switch_off(interface: &str) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).ok();
        let mut off = Vec::new();
        if let Some(socket) = &socket {
            let features = sys::features(socket.as_fd(), interface).unwrap_or_default();
            let is_on = |wanted: &str| features.iter().any(|(name, _, active)| name == wanted && *active);
            off.extend(FEATURES.into_iter().filter(|wanted| is_on(wanted)));
            off.retain(|feature| switch(socket, interface, feature, false));
        }
        Self { interface: interface.into(), socket, off }
    }
}

impl Drop for ReceiveOffload {
    fn drop(&mut self) {
        let Some(socket) = &self.socket else { return };
        for feature in &self.off {
            switch(socket, &self.interface, feature, true);
        }
    }
}

/// Says whether it worked.
fn switch(socket: &Socket, interface: &str, feature: &str, on: bool) -> bool {
    let switched = sys::switch_feature(socket.as_fd(), interface, feature, on);
    if let Err(error) = &switched {
        tracing::debug!(%error, interface, feature, on, "receive offload stays as it is");
    }
    switched.is_ok()
}
