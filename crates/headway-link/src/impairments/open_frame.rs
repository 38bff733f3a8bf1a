//! A frame whose end is missing.

use crate::{Frame, Hit, PacketBuffer};
use headway_units::Instant;

/// The longest frame that packets join to: that of the longest IP packet.
const LONGEST: usize = 40 + 65_535;

/// A frame whose end is missing: the receiver goes on with what is transmitted next, if that follows without a gap.
#[derive(Clone, Debug)]
pub(crate) struct OpenFrame<P> {
    /// When its transmission ended.
    pub(crate) end: Instant,
    /// What is to be handed up of it; `None` where the link drops damaged frames.
    pub(crate) held: Option<(Frame<P>, Hit)>,
}

impl<P: PacketBuffer> OpenFrame<P> {
    /// What is handed up if `next` is in this frame too. The frame itself comes back if that is too long or there is
    /// nothing to hand up.
    pub(crate) fn join(self, next: &mut Frame<P>) -> Result<(Frame<P>, Hit), Self> {
        let Self { end, held } = self;
        match held {
            Some((mut frame, hit)) if frame.len + next.len <= LONGEST => {
                let bytes = [&*frame.bytes_mut(), &*next.bytes_mut()].concat();
                frame.write(&bytes);
                Ok((frame, hit))
            }
            held => Err(Self { end, held }),
        }
    }
}
