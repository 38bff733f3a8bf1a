//! The error/delay box as a model: rate, queue, delay and damage to real bytes.
//!
//! A [`Link`] is one direction of a link. It does no I/O and reads no clock: packets and the time
//! come in through [`Link::enqueue`], arrivals go out through [`Link::poll`], and
//! [`Link::next_event`] says when to poll next. The same link thus runs in virtual time and in real
//! time. It knows nothing of TCP: each packet comes with the place where its [`Headers`] end.
//!
//! Damage changes the real bytes; nothing is a flag. Most of it flips bits; some changes lengths ([`Edit`]). [`Damage`] says which packets are hit,
//! [`LinkConfig::header_hit`] and [`HitZone`] say where, [`FrameCheck`] says what the link does with
//! a damaged frame. [`Delivery::damage`] informs an observer of what was done; a receiver under test must
//! find out by its checksums. A [`Trace`] replays a link that was recorded.
//!
//! Same seed and same calls, same bytes, on every machine. Which packet is hit, where it is hit,
//! and every other kind of chance (loss, jitter, duplication, reordering) draw from streams of their
//! own, so that changing one parameter leaves the others alone.
//!
//! ```
//! use headway_link::{EnqueueResult, Headers, Link, LinkConfig};
//! use headway_units::{Duration, Instant};
//!
//! let config = LinkConfig {
//!     rate: Some("10mbit".parse()?),
//!     delay: Duration::from_millis(300),
//!     queue: "100p".parse()?,
//!     damage: "burst:5%:5".parse()?,
//!     header_hit: Some("95%".parse()?),
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(config, 1);
//! let headers = Headers { ip_header_len: 20, header_len: 52 };
//! let result = link.enqueue(Instant::ZERO, vec![0; 1500], 1500, headers, true);
//! assert!(matches!(result, EnqueueResult::Queued));
//!
//! // 1.2 ms to transmit, 300 ms on the way.
//! let arrival = link.next_event().unwrap();
//! assert_eq!(arrival, Instant::from_nanos(301_200_000));
//! assert_eq!(link.poll(arrival).unwrap().len, 1500);
//! assert!(link.poll(arrival).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod config;
mod damage;
mod delay;
mod error;
mod frame;
mod impairments;
mod link;
mod measures;
mod named;
mod queue;
mod random;
mod rate;
mod schedule;
mod trace;

pub use config::{Headers, LinkConfig};
pub use damage::{BurstClock, Damage, FrameCheck, FrameError, FrameErrors, Hit, HitZone};
pub use delay::{DelaySteps, DelayTable, JitterModel, ParseDelayTableError};
pub use error::ParseLinkError;
pub use frame::{Frame, PacketBuffer};
pub use impairments::{Loss, Mutes};
pub use link::{Classifier, Delivery, Link};
pub use measures::{Histogram, LinkCounters, Quantiles, bound, share_hit};
pub use named::Named;
pub use queue::{
    Aqm, Codel, DropTail, EnqueueResult, FqCodel, ManagedQueue, Pie, QueueDiscipline, QueueLimit, Red,
};
pub use rate::{DeliveryTrace, ParseDeliveryTraceError, Policer, RateSteps};
pub use trace::{BitOrigin, Edit, Fate, HitPlace, ParseTraceError, Trace, TraceBuilder, TraceTooLong};
