//! What is recorded of a run: a capture in memory, and how much was acknowledged when.

use headway_sim::{NodeId, Passing, Tap};
use headway_trace::{Capture, Direction, TraceError};
use headway_units::Instant;
use headway_wire::{Segment, TcpFlags};
use sha2::{Digest, Sha256};

/// The ends of a capture, as the command names them. The sender sends first.
const ENDS: [&str; 2] = ["sender", "receiver"];
/// A line on a screen shows no more.
const MOST_POINTS: usize = 600;

/// Sees all packets of a run.
pub(crate) struct Recorder {
    capture: Capture<Vec<u8>>,
    failure: Option<TraceError>,
    /// The host of each end, in the order in which they first sent or received.
    hosts: Vec<NodeId>,
    /// The first ACK number of the receiver.
    first: Option<u32>,
    /// Seconds, and bytes acknowledged.
    points: Vec<(f64, u64)>,
    pub(crate) packets: u64,
    pub(crate) damaged: u64,
}

impl Recorder {
    pub(crate) fn new() -> Result<Self, TraceError> {
        Ok(Self {
            capture: Capture::new(Vec::new(), &ENDS)?,
            failure: None,
            hosts: Vec::new(),
            first: None,
            points: vec![(0.0, 0)],
            packets: 0,
            damaged: 0,
        })
    }

    /// The SHA-256 of the capture, and the points.
    pub(crate) fn finish(self) -> Result<(String, Vec<(f64, u64)>), TraceError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let digest = Sha256::digest(self.capture.finish()?);
        let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let (points, last) = (self.points, MOST_POINTS - 1);
        let place = |at: usize| at * (points.len() - 1) / last;
        let thinned = if points.len() > MOST_POINTS {
            (0..MOST_POINTS).map(|at| points[place(at)]).collect()
        } else {
            points
        };
        Ok((digest, thinned))
    }

    fn end(&mut self, host: NodeId) -> Option<usize> {
        let known = self.hosts.iter().position(|&known| known == host);
        if known.is_none() && self.hosts.len() < ENDS.len() {
            self.hosts.push(host);
            return Some(self.hosts.len() - 1);
        }
        known
    }

    fn acknowledged(&mut self, at: Instant, packet: &[u8]) {
        let Ok(segment) = Segment::parse(packet) else { return };
        if !segment.tcp.flags.contains(TcpFlags::ACK) {
            return;
        }
        let ack = segment.tcp.ack.0;
        let first = *self.first.get_or_insert(ack);
        // A transfer of this page has less than 2^32 bytes.
        let bytes = u64::from(ack.wrapping_sub(first));
        if self.points.last().is_some_and(|(_, before)| bytes > *before) {
            self.points.push((at.saturating_since(Instant::ZERO).as_secs_f64(), bytes));
        }
    }
}

impl Tap for Recorder {
    fn pass(&mut self, passing: &Passing<'_>) {
        let Some(end) = self.end(passing.host) else { return };
        if end == 0 && passing.outbound {
            self.packets += 1;
        }
        if end == 1 && !passing.outbound {
            self.damaged += u64::from(passing.damage.is_some());
        }
        if end == 1 && passing.outbound {
            self.acknowledged(passing.at, passing.packet);
        }
        if self.failure.is_none() {
            let direction = if passing.outbound { Direction::Outbound } else { Direction::Inbound };
            let comment = passing.damage.map(|hit| format!("damaged: {hit}"));
            let written = self.capture.packet(end, passing.at, passing.packet, direction, comment.as_deref());
            self.failure = written.err();
        }
    }
}
