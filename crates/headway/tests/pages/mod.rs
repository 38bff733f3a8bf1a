//! The pages as a browser shows them: on wide and narrow screens, light and dark.

mod browser;
mod explorer;
mod gateways;
mod look;
mod samples;
mod watch;
