//! What goes wrong while a frame is transmitted: loss, damage and duplication.

mod arq;
mod loss;
mod mute;
mod open_frame;

use crate::{
    Frame, LinkConfig, PacketBuffer,
    damage::{Effect, Injector, Outcome},
    random::{Chance, Stream, Streams},
};
pub(crate) use arq::{Arq, Ticket};
use headway_units::Instant;
pub use loss::Loss;
use loss::Losses;
pub use mute::Mutes;
pub(crate) use open_frame::OpenFrame;

/// Decides what happens to each frame. Each kind of chance has a random stream of its own.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    injector: Injector,
    loss: (Losses, Stream),
    duplicate: (Chance, Stream),
}

impl Impairments {
    pub(crate) fn new(config: &LinkConfig, streams: &Streams) -> Self {
        let mut loss = streams.loss.clone();
        Self {
            injector: Injector::new(config, streams.hit.clone(), streams.place.clone()),
            loss: (Losses::new(config.loss, &mut loss), loss),
            duplicate: (Chance::new(config.duplicate), streams.duplicate.clone()),
        }
    }

    /// Passes a frame whose transmission begins at `start` through the damage model. One that is not
    /// exposed is left alone, and the model ignores it.
    #[inline]
    pub(crate) fn damage<P: PacketBuffer>(
        &mut self,
        frame: &mut Frame<P>,
        start: Instant,
        effect: Effect,
    ) -> Outcome {
        if frame.exposed { self.injector.pass(frame, start, effect) } else { Outcome::Intact }
    }

    /// See [`Injector::edited`].
    pub(crate) fn edited(&mut self) -> Vec<Vec<u8>> {
        self.injector.edited()
    }

    /// Whether a frame is lost, apart from what a trace says.
    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        self.loss.0.loses(&mut self.loss.1)
    }

    /// Whether a packet arrives twice.
    #[inline]
    pub(crate) fn duplicates(&mut self) -> bool {
        self.duplicate.0.happens(&mut self.duplicate.1)
    }
}
