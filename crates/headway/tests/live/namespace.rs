//! Where the live tests run: a namespace with a TUN.

pub(crate) use headway_test_fixture::namespace::{Namespace, Running};
pub(crate) use headway_test_fixture::process::say_skipped;

pub(crate) const HEADWAY: &str = env!("CARGO_BIN_EXE_headway");

/// The addresses of the stack and of the kernel on the TUN of a namespace.
pub(crate) const OURS: &str = "10.77.2.2";
pub(crate) const KERNELS: &str = "10.77.2.1";
pub(crate) const TUN: [&str; 4] = ["--tun", "hw0", "--address", "10.77.2.2/24"];

/// Starts `headway` inside.
pub(crate) fn start(namespace: &Namespace, words: &[&str]) -> Running {
    namespace.start(HEADWAY, words)
}
