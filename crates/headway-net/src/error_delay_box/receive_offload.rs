//! Receive offload of interfaces.

use std::os::fd::AsFd as _;

use socket2::{Domain, Socket, Type};

use crate::sys;

/// Generic and large receive offload: they coalesce packets, each of which has its own fate on the link.
const FEATURES: [&str; 3] = ["rx-gro", "rx-lro", "rx-gro-hw"];

/// Keeps the receive offload of an interface off until this is dropped.
///
/// An interface whose offload cannot be changed is left as it is: coalesced packets are segmented again.
pub(super) struct ReceiveOffload {
    interface: String,
    /// A socket in the interface's namespace; `None` if there is nothing to restore.
    socket: Option<Socket>,
    /// The features that were on, also those that cannot be changed.
    off: Vec<&'static str>,
}

impl ReceiveOffload {
    /// Switches off the offload of an interface in the namespace of the calling thread.
    pub(super) fn switch_off(interface: &str) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).ok();
        let mut off = Vec::new();
        if let Some(socket) = &socket {
            let features = sys::features(socket.as_fd(), interface).unwrap_or_default();
            let is_on = |wanted: &str| features.iter().any(|(name, _, active)| name == wanted && *active);
            off.extend(FEATURES.into_iter().filter(|wanted| is_on(wanted)));
            off.iter().for_each(|feature| switch(socket, interface, feature, false));
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

fn switch(socket: &Socket, interface: &str, feature: &str, on: bool) {
    if let Err(error) = sys::switch_feature(socket.as_fd(), interface, feature, on) {
        tracing::debug!(%error, interface, feature, on, "receive offload cannot be changed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::within;

    #[test]
    fn what_was_on_is_off_until_the_end_and_nothing_else_is_changed() {
        within(|_| {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
            let on = || {
                let features = sys::features(socket.as_fd(), "lo").expect("an interface");
                features.into_iter().filter(|feature| feature.2).map(|feature| feature.0).collect::<Vec<_>>()
            };
            let before = on();
            assert!(before.iter().any(|name| name == "rx-gro"), "{before:?}");
            let off = ReceiveOffload::switch_off("lo");
            let others: Vec<_> = before.iter().filter(|name| *name != "rx-gro").cloned().collect();
            assert_eq!(on(), others);
            drop(off);
            assert_eq!(on(), before);
            switch(&socket, "lo", "rx-gro", false);
            drop(ReceiveOffload::switch_off("lo"));
            assert_eq!(on(), others, "it was off before");
        });
    }
}
