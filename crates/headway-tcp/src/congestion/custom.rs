//! Controllers that a program brings.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use super::{CongestionControl, Setup};

type Build = dyn Fn(Setup) -> Box<dyn CongestionControl> + Send + Sync;

/// Builds the controllers of connections whose profile names [`Algorithm::Custom`](super::Algorithm::Custom): one for each
/// connection, or for each domain of several.
///
/// ```
/// use headway_tcp::Profile;
/// use headway_tcp::congestion::{Ack, Algorithm, CongestionControl, Custom, Loss};
///
/// /// Additive increase, multiplicative decrease.
/// #[derive(Debug)]
/// struct Aimd {
///     mss: u32,
///     window: u32,
/// }
///
/// impl CongestionControl for Aimd {
///     fn window(&self) -> u32 {
///         self.window
///     }
///     fn ssthresh(&self) -> u32 {
///         self.window
///     }
///     fn set_mss(&mut self, mss: u32, _initial: bool) {
///         self.mss = mss;
///         self.window = self.window.max(10 * mss);
///     }
///     fn on_ack(&mut self, ack: &Ack) {
///         self.window += self.mss * ack.delivered / self.window;
///     }
///     fn on_loss(&mut self, _loss: &Loss) {
///         self.window = (self.window / 2).max(2 * self.mss);
///     }
///     fn on_timeout(&mut self, _loss: &Loss, _first: bool) {
///         self.window = self.mss;
///     }
/// }
///
/// let mut profile = Profile::modern();
/// profile.congestion = Algorithm::Custom;
/// profile.custom = Some(Custom::new(|_setup| Box::new(Aimd { mss: 536, window: 5360 })));
/// assert!(profile.check().is_ok());
/// ```
#[derive(Clone)]
pub struct Custom(Arc<Build>);

impl Custom {
    /// `build` makes a controller for each connection.
    pub fn new(build: impl Fn(Setup) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Self {
        Self(Arc::new(build))
    }

    pub(super) fn build(&self, setup: Setup) -> Box<dyn CongestionControl> {
        (self.0)(setup)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

/// Equal are those that are the same.
impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Custom {}
