//! Worlds drawn from seeds, run in virtual time, and checked: deterministic simulation testing, as of FoundationDB and
//! TigerBeetle.
//!
//! A seed says everything of a world: hosts and their profiles, links, boxes on the way, attackers, programs, what fails and
//! when. [`run`] runs it and checks what must always hold (`docs/testing.md`); the same seed gives the same packets.
//! [`search`](search::search) runs world after world on all processors, and [`shrink`](shrink::shrink) leaves out of a
//! world that fails all that it fails without.
//!
//! ```
//! use headway_swarm::{Case, Recording, run};
//!
//! let case = Case::new(0x1234);
//! let outcome = run(&case, Recording::default())?;
//! assert_eq!(outcome.digest, run(&case, Recording::default())?.digest);
//! # Ok::<(), String>(())
//! ```
//!
//! - `feature`, `case`: what a seed draws. `pair`: two hosts, every packet judged; the rules are in `side`.
//! - `net`: any number of hosts or gateways, with boxes between them, attackers, and the checks of the tunnel.
//! - `bounds`: what a connection may use; `headway_tcp` checks what always holds of a host.
#![forbid(unsafe_code)]

mod bounds;
mod capture;
mod case;
mod feature;
mod links;
mod net;
mod outcome;
pub mod pair;
mod profiles;
pub mod search;
pub mod shrink;
mod side;
mod spans;
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use capture::Recording;
pub use case::{Case, WorldKind};
pub use feature::{Feature, Features};
pub use outcome::Outcome;

/// Runs a world to its end.
///
/// # Errors
///
/// What did not hold, or how something panicked.
pub fn run(case: &Case, recording: Recording) -> Result<Outcome, String> {
    let world = || match case.kind() {
        WorldKind::Papers => pair::run_case(case, pair::Senders::Papers, recording),
        WorldKind::Ours => pair::run_case(case, pair::Senders::Ours, recording),
        WorldKind::Hosts => net::run(case, false, recording),
        WorldKind::Tunnel => net::run(case, true, recording),
    };
    catch_unwind(AssertUnwindSafe(world)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}
