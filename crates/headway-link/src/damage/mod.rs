//! Which packets are damaged, where, and what the link does with them then.

mod bit_errors;
mod edits;
mod frame_check;
mod frame_errors;
mod hit_zone;
mod injector;
mod model;
mod packet_errors;
mod place;

pub use frame_check::FrameCheck;
pub use frame_errors::{FrameError, FrameErrors};
pub use hit_zone::HitZone;
pub use injector::Hit;
pub(crate) use injector::{Effect, Injector, Outcome};
pub use model::{BurstClock, Damage};
pub(crate) use packet_errors::{share_bad, starts_bad};
