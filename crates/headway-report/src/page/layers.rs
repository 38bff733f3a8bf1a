//! What a time-sequence graph is drawn from: what a sender reported of itself, or what a capture shows.

use headway_trace::analysis::{Direction, SegmentPoint};
use headway_trace::{Series, TimeSequence};
use headway_units::{Duration, Instant};

use super::marks::{Mark, REASONS};

/// A segment, seconds after the start.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) at: f64,
    /// Its first byte.
    pub(super) seq: u64,
    /// How many bytes it has.
    pub(super) len: u32,
}

impl Segment {
    /// The byte behind its last.
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// Values that hold until the next one: seconds after the start, and bytes.
pub(crate) type Steps = Vec<(f64, u64)>;

/// The points of a graph.
pub(crate) struct Layers {
    pub(super) sent: Vec<Segment>,
    /// Retransmissions, those on top last.
    pub(super) retransmitted: Vec<(Mark, Vec<Segment>)>,
    pub(super) acks: Steps,
    /// The bytes that special ACKs reported.
    pub(super) special: Steps,
    /// When the retransmission timer expired, where that is known.
    pub(super) expiries: Vec<f64>,
    /// The graph beneath.
    pub(super) beneath: Beneath,
    /// What there is to see, and how often it happened where that is known.
    pub(super) legend: Vec<(Mark, Option<u64>)>,
    /// What there is to see, for those who do not see it.
    pub(super) words: String,
    /// Of some kind only every `stride`-th point was kept.
    pub(super) stride: u64,
}

/// A graph of bytes over the same time.
pub(super) struct Beneath {
    /// What it is of.
    pub(super) what: &'static str,
    /// What stands at its axis.
    pub(super) axis: &'static str,
    /// What it shows, those on top last. The last one sets the height.
    pub(super) lines: Vec<(Mark, Steps)>,
}

impl Beneath {
    /// The most bytes that there is room for: of the line on top. (A slow-start threshold is as good
    /// as infinite before the first loss.)
    pub(super) fn highest(&self) -> u64 {
        self.lines.last().and_then(|(_, steps)| steps.iter().map(|&(_, bytes)| bytes).max()).unwrap_or(0)
    }
}

impl Layers {
    /// What a sender reported of itself.
    pub(crate) fn observed(sequence: &TimeSequence) -> Self {
        let again = sequence.retransmissions();
        let retransmitted: Vec<(Mark, Vec<Segment>)> = REASONS
            .into_iter()
            .map(|mark| {
                let points = again.points().iter().filter(|point| Mark::of(point.reason) == mark);
                let segments =
                    points.map(|point| Segment { at: since_zero(point.at), seq: point.seq, len: point.len });
                (mark, segments.collect())
            })
            .collect();
        let mut legend = vec![(Mark::Sent, Some(sequence.sent().total())), (Mark::Ack, None)];
        for (mark, points) in retransmitted.iter().rev().filter(|(_, points)| !points.is_empty()) {
            // Of a thinned series it is not known how many there were of each kind.
            legend.push((*mark, (again.stride() == 1).then_some(points.len() as u64)));
        }
        for (mark, count) in
            [(Mark::SpecialAck, sequence.special_acks().total()), (Mark::Expiry, sequence.timeouts().total())]
        {
            if count > 0 {
                legend.push((mark, Some(count)));
            }
        }
        let windows = sequence.windows().points();
        let strides = [
            sequence.sent().stride(),
            again.stride(),
            sequence.acks().stride(),
            sequence.special_acks().stride(),
            sequence.timeouts().stride(),
            sequence.windows().stride(),
        ];
        Self {
            sent: sequence
                .sent()
                .points()
                .iter()
                .map(|sent| Segment { at: since_zero(sent.at), seq: sent.seq, len: sent.len })
                .collect(),
            retransmitted,
            acks: sequence.acks().points().iter().map(|ack| (since_zero(ack.at), ack.una)).collect(),
            special: sequence
                .special_acks()
                .points()
                .iter()
                .map(|special| (since_zero(special.at), special.seq))
                .collect(),
            expiries: sequence.timeouts().points().iter().map(|timeout| since_zero(timeout.at)).collect(),
            beneath: Beneath {
                what: "Congestion window",
                axis: "window",
                lines: vec![
                    (
                        Mark::Threshold,
                        windows.iter().map(|w| (since_zero(w.at), u64::from(w.ssthresh))).collect(),
                    ),
                    (Mark::Window, windows.iter().map(|w| (since_zero(w.at), u64::from(w.cwnd))).collect()),
                ],
            },
            legend,
            words: format!(
                "{} segments sent, {} retransmitted, {} special ACKs, {} timeouts",
                sequence.sent().total(),
                again.total(),
                sequence.special_acks().total(),
                sequence.timeouts().total(),
            ),
            stride: strides.into_iter().max().unwrap_or(1),
        }
    }

    /// What a capture shows of the data of one side (`data`) and of the ACKs that came back
    /// (`answers`). It does not show why a segment was retransmitted.
    pub(crate) fn captured(data: &Direction, answers: &Direction, start: Instant) -> Self {
        let since = |at: Instant| seconds(at.saturating_since(start));
        let graph = data.graph.as_deref();
        let segments = |series: Option<&Series<SegmentPoint>>| -> Vec<Segment> {
            let points = series.map_or(&[][..], |series| series.points());
            // SYN and FIN without data are not drawn.
            let data = points.iter().filter(|point| point.len > 0);
            data.map(|p| Segment { at: since(p.at), seq: p.seq, len: p.len }).collect()
        };
        let mut furthest = 0;
        let acks = graph.iter().flat_map(|graph| graph.edges.points()).map(|edge| {
            furthest = edge.ack.max(furthest);
            (since(edge.at), furthest)
        });
        let special = graph.iter().flat_map(|graph| graph.special.points());
        let outstanding = graph.iter().flat_map(|graph| graph.outstanding.points());
        let special_acks = answers.special.acks();
        let mut legend = vec![(Mark::Sent, Some(data.data.packets)), (Mark::Ack, None)];
        for (mark, count) in
            [(Mark::Retransmitted, data.retransmitted.packets), (Mark::SpecialAck, special_acks)]
        {
            if count > 0 {
                legend.push((mark, Some(count)));
            }
        }
        let strides = graph.map(|graph| {
            let strides = [
                graph.sent.stride(),
                graph.retransmitted.stride(),
                graph.edges.stride(),
                graph.special.stride(),
                graph.outstanding.stride(),
            ];
            strides.into_iter().max().unwrap_or(1)
        });
        Self {
            sent: segments(graph.map(|graph| &graph.sent)),
            retransmitted: vec![(Mark::Retransmitted, segments(graph.map(|graph| &graph.retransmitted)))],
            acks: acks.collect(),
            special: special.map(|point| (since(point.at), point.seq)).collect(),
            expiries: Vec::new(),
            beneath: Beneath {
                what: "Data outstanding",
                axis: "outstanding",
                lines: vec![(
                    Mark::Outstanding,
                    outstanding.map(|point| (since(point.at), point.bytes)).collect(),
                )],
            },
            legend,
            words: format!(
                "{} segments sent, {} of them retransmitted, {special_acks} special ACKs, the longest pause {}",
                data.data.packets,
                data.retransmitted.packets,
                crate::quantities::seconds_text(data.idle_max.as_secs_f64()),
            ),
            stride: strides.unwrap_or(1),
        }
    }
}

fn since_zero(at: Instant) -> f64 {
    seconds(at.saturating_since(Instant::ZERO))
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
