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
    /// What was on before.
    off: Vec<&'static str>,
}

impl ReceiveOffload {
    pub(super) fn switch_off(interface: &str) -> Self {
        let mut off = FEATURES.to_vec();
        off.retain(|wanted| is_on(interface, wanted) && switch(interface, wanted, false));
        Self { interface: interface.into(), off }
    }
}

impl Drop for ReceiveOffload {
    fn drop(&mut self) {
        for feature in &self.off {
            switch(&self.interface, feature, true);
        }
    }
}

fn is_on(interface: &str, wanted: &str) -> bool {
    let Ok(socket) = Socket::new(Domain::IPV4, Type::DGRAM, None) else { return false };
    let features = sys::features(socket.as_fd(), interface).unwrap_or_default();
    features.iter().any(|(name, _, active)| name == wanted && *active)
}

/// Says whether it worked.
fn switch(interface: &str, feature: &str, on: bool) -> bool {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None);
    let switched = socket.and_then(|socket| sys::switch_feature(socket.as_fd(), interface, feature, on));
    if let Err(error) = &switched {
        tracing::debug!(%error, interface, feature, on, "receive offload stays as it is");
    }
    switched.is_ok()
}
