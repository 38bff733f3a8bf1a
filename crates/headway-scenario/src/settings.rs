//! What the keys describe.

use headway_link::Damage;
use headway_sim::race::{Frames, Scenario};
use headway_tcp::congestion::Algorithm;
use headway_units::Size;

use crate::carrier::RealCarrier;
use crate::clock::Clock;
use crate::error::KeyError;
use crate::hops::Hops;
use crate::sender::Sender;

/// What a set of keys describes: a scenario, and who sends how much in it on which clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The scenario.
    pub scenario: Scenario,
    /// The clock.
    pub clock: Clock,
    /// What carries segments in real time.
    pub carrier: RealCarrier,
    /// The sender, as it was named.
    pub variant: Option<Sender>,
    /// The congestion controller of senders that name none.
    pub congestion: Option<Algorithm>,
    /// How much is sent, where that was given.
    pub size: Option<Size>,
    /// The hops as they were given; the scenario has their links.
    pub hops: Hops,
}

const DEFAULT_SIZE: Size = Size::from_bytes(2 << 20);

impl Settings {
    /// Without any key.
    pub(crate) fn new() -> Self {
        let mut scenario = Scenario::default();
        scenario.forward.damage = Damage::None;
        Self {
            scenario,
            clock: Clock::default(),
            carrier: RealCarrier::default(),
            variant: None,
            congestion: None,
            size: None,
            hops: Hops::default(),
        }
    }

    /// The sender.
    ///
    /// # Errors
    ///
    /// None was named, or it cannot send in this scenario.
    pub fn sender(&self) -> Result<Sender, KeyError> {
        let Some(sender) = self.resolved_sender() else {
            let problem = "expected a sender, as an axis or in [scenario], such as variant = \"sack\"";
            return Err(KeyError { key: "variant", problem: problem.into() });
        };
        if self.scenario.duration.is_some() && self.size.is_some() {
            let problem = "a run of fixed duration sends all the time: expected either a duration or a size";
            return Err(KeyError { key: "duration", problem: problem.into() });
        }
        sender.check(&self.scenario, self.clock)?;
        if self.carrier == RealCarrier::Udp && self.clock == Clock::Virtual {
            let problem = "in virtual time segments are IP packets: expected ip, or clock = \"real\"";
            return Err(KeyError { key: "carrier", problem: problem.into() });
        }
        if self.carrier == RealCarrier::Udp && self.scenario.frames == Frames::Count {
            let problem = "over UDP the kernel drops packets whose IP header is corrupted: expected drop";
            return Err(KeyError { key: "frames", problem: problem.into() });
        }
        Ok(sender)
    }

    /// The sender that was named, with its congestion controller.
    pub(crate) fn resolved_sender(&self) -> Option<Sender> {
        self.variant.clone().map(|variant| variant.with_congestion(self.congestion))
    }

    /// Whether the sender is one that the clock has. Where the clock is an axis, other combinations are
    /// left out.
    pub fn is_possible(&self) -> bool {
        self.variant.as_ref().is_none_or(|variant| variant.exists_on(self.clock))
    }

    /// How much is sent; `None` in a run of fixed duration.
    pub fn sent_size(&self) -> Option<Size> {
        self.scenario.duration.is_none().then(|| self.size.unwrap_or(DEFAULT_SIZE))
    }
}
