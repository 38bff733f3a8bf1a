//! What a host may send at most.

use headway_tcp::Host;

use super::plan::Plan;
use crate::side::recorder::Recorder;

/// The longest packet that `side` may send now.
pub(crate) fn packet(host: &Host<Recorder>, plan: &Plan, side: usize) -> usize {
    let told = host.path(plan.addresses[side], plan.addresses[1 - side]).and_then(|path| path.mtu);
    usize::from(told.unwrap_or(u16::MAX).min(plan.profiles[side].mtu))
}
