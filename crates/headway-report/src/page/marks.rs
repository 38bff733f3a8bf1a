//! The marks of a time-sequence graph, in the graph and in its legend.

use headway_tcp::RetransmitReason;
use maud::{Markup, PreEscaped};
use plotters::element::{Circle, Cross, PathElement, Rectangle, TriangleMarker};
use plotters::prelude::{IntoDrawingArea, SVGBackend};
use plotters::style::Color;

use super::canvas::{self, Area, DrawingPoint, Error};
use super::palette::Ink;
use crate::error::ReportError;

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// New data.
    Sent,
    /// Retransmitted after duplicate ACKs or SACK blocks.
    FastRetransmit,
    /// Retransmitted after a timeout.
    Timeout,
    /// Retransmitted for any other reason: probes, rescue retransmissions and the like.
    OtherReason,
    /// Retransmitted because a special ACK requested it.
    Damage,
    /// Retransmitted for a reason that is not known.
    Retransmitted,
    /// A special ACK.
    SpecialAck,
    /// How far the data is acknowledged.
    Ack,
    /// The retransmission timer expired.
    Expiry,
    /// Congestion window.
    Window,
    /// Slow-start threshold.
    Threshold,
    /// Data sent and not acknowledged.
    Outstanding,
}

/// Why segments are retransmitted, as far as the graph distinguishes the reasons; those on top last.
pub(crate) const REASONS: [Mark; 4] = [Mark::Timeout, Mark::FastRetransmit, Mark::OtherReason, Mark::Damage];

const RADIUS: i32 = 6;
/// Size of a mark in a legend, width and height.
const SWATCH: (u32, u32) = (44, 32);

impl Mark {
    pub(crate) fn of(reason: RetransmitReason) -> Self {
        match reason {
            RetransmitReason::Damage => Self::Damage,
            RetransmitReason::FastRetransmit => Self::FastRetransmit,
            RetransmitReason::Timeout => Self::Timeout,
            _ => Self::OtherReason,
        }
    }

    pub(crate) const fn ink(self) -> Ink {
        match self {
            Self::Sent => Ink::Sent,
            Self::FastRetransmit | Self::Retransmitted => Ink::FastRetransmit,
            Self::Timeout | Self::Expiry => Ink::Timeout,
            Self::OtherReason => Ink::OtherReason,
            Self::Damage => Ink::Damage,
            Self::SpecialAck => Ink::SpecialAck,
            Self::Ack => Ink::Ack,
            Self::Window | Self::Outstanding => Ink::Window,
            Self::Threshold => Ink::Threshold,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::FastRetransmit => "retransmitted: fast retransmit",
            Self::Timeout => "retransmitted: timeout",
            Self::OtherReason => "retransmitted: other reason",
            Self::Damage => "retransmitted: damage",
            Self::Retransmitted => "retransmitted",
            Self::SpecialAck => "special ACK",
            Self::Ack => "acknowledged",
            Self::Expiry => "timer expired",
            Self::Window => "congestion window",
            Self::Threshold => "slow-start threshold",
            Self::Outstanding => "data outstanding",
        }
    }

    /// Puts the mark at a point. Lines have no mark there.
    pub(crate) fn put(self, area: &Area<'_>, (x, y): DrawingPoint) -> Result<(), Error> {
        let colour = self.ink().colour();
        let outline = colour.stroke_width(3);
        match self {
            Self::Damage => canvas::put(area, Circle::new((x, y), RADIUS, colour.filled())),
            Self::FastRetransmit => {
                canvas::put(area, TriangleMarker::new((x, y), RADIUS + 3, colour.filled()))
            }
            Self::Timeout | Self::Retransmitted => canvas::put(area, Cross::new((x, y), RADIUS, outline)),
            Self::OtherReason => {
                let corners = [(x - RADIUS, y - RADIUS), (x + RADIUS, y + RADIUS)];
                canvas::put(area, Rectangle::new(corners, colour.filled()))
            }
            Self::SpecialAck => {
                let r = RADIUS + 5;
                let corners = vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y), (x, y - r)];
                canvas::put(area, PathElement::new(corners, colour.stroke_width(2)))
            }
            Self::Expiry => canvas::line(area, vec![(x, y), (x, y - 26)], outline),
            Self::Sent | Self::Ack | Self::Window | Self::Threshold | Self::Outstanding => Ok(()),
        }
    }

    /// The mark for a legend, as SVG.
    pub(crate) fn swatch(self) -> Result<Markup, ReportError> {
        let (width, height) = (SWATCH.0 as i32, SWATCH.1 as i32);
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SWATCH).into_drawing_area();
        let colour = self.ink().colour();
        let painted = match self {
            Self::Sent => {
                canvas::line(&area, vec![(width / 2, 4), (width / 2, height - 4)], colour.stroke_width(5))
            }
            Self::Expiry => self.put(&area, (width / 2, height - 3)),
            Self::Ack | Self::Window | Self::Threshold | Self::Outstanding => {
                canvas::line(&area, vec![(2, height / 2), (width - 2, height / 2)], colour.stroke_width(4))
            }
            _ => self.put(&area, (width / 2, height / 2)),
        };
        painted.and_then(|()| area.present()).map_err(|error| ReportError::Drawing(error.to_string()))?;
        drop(area);
        Ok(PreEscaped(svg))
    }
}
