//! What the application may change while a connection is open.

use alloc::sync::Arc;

use headway_units::Duration;
use headway_wire::Dscp;

use super::{Connection, Context};
use crate::event::{Observer, Timer};
use crate::profile::KeepAlive;

impl Connection {
    pub(crate) fn set_nagle(&mut self, on: bool) {
        Arc::make_mut(&mut self.profile).nagle = on;
    }

    pub(crate) fn set_dscp(&mut self, dscp: Dscp) {
        Arc::make_mut(&mut self.profile).dscp = dscp;
    }

    pub(crate) fn set_hop_limit(&mut self, hops: u8) {
        Arc::make_mut(&mut self.profile).hop_limit = hops;
    }

    pub(crate) fn set_unordered(&mut self, on: bool) {
        Arc::make_mut(&mut self.profile).unordered = on;
    }

    pub(crate) fn set_not_sent(&mut self, limit: usize) {
        Arc::make_mut(&mut self.profile).not_sent = limit;
    }

    pub(crate) fn set_keep_alive<O: Observer>(&mut self, cx: &Context<'_, O>, config: Option<KeepAlive>) {
        Arc::make_mut(&mut self.profile).keep_alive = config;
        self.restart_keep_alive(cx.now);
    }

    pub(crate) fn set_user_timeout(&mut self, limit: Option<Duration>) {
        Arc::make_mut(&mut self.profile).user_timeout = limit;
        self.timers.stop(Timer::User);
        if self.snd.has_outstanding() {
            self.arm_user_timeout();
        }
    }
}
