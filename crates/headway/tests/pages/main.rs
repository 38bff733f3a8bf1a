//! The pages as a browser shows them: on wide and narrow screens, light and dark.

mod browser;
mod explorer;
mod gateways;
mod look;
mod samples;
mod watch;

use headway_test_fixture::program::Program;

const HEADWAY: Program = Program(env!("CARGO_BIN_EXE_headway"));
