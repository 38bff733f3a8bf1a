//! What a qlog file needs to know of a connection.

use std::collections::VecDeque;

use headway_tcp::{Event, RetransmitReason, State};
use headway_units::{Duration, Rate};
use headway_wire::SeqNumber;
use serde_json::{Map, Value};

use super::body::{self, Body, Segment};

pub(super) struct Connection {
    group: String,
    /// Transmissions so far.
    sent: u64,
    /// The number of the last transmission of each segment with data that is not acknowledged, by sequence number.
    in_flight: VecDeque<(SeqNumber, u64)>,
    /// Why the segment is sent that comes next.
    reason: Option<RetransmitReason>,
    metrics: Metrics,
}

/// The values that `recovery_metrics_updated` had last.
#[derive(Default)]
struct Metrics {
    timing: Option<(Duration, Duration, Duration, Duration, Option<Rate>)>,
    /// `timing` has not been written yet.
    pending: bool,
    last: Map<String, Value>,
}

impl Connection {
    pub(super) fn new(number: usize) -> Self {
        Self {
            group: number.to_string(),
            sent: 0,
            in_flight: VecDeque::new(),
            reason: None,
            metrics: Metrics::default(),
        }
    }

    /// The `group_id` of its events.
    pub(super) fn group(&self) -> &str {
        &self.group
    }

    /// The records for an event, in order.
    pub(super) fn bodies(&mut self, event: &Event) -> Vec<Body> {
        match *event {
            Event::Sent { seq, len, ack, flags } => {
                let number = self.number(seq, len);
                vec![body::sent(number, Segment { seq, len, ack, flags }, self.reason.take())]
            }
            Event::Received { seq, len, ack, flags } => {
                vec![body::received(Segment { seq, len, ack, flags })]
            }
            Event::Acknowledged { una } => {
                self.acknowledge(una);
                vec![body::of_headway(event)]
            }
            Event::Retransmitted { seq, len, reason } => self.retransmitted(seq, len, reason),
            Event::Timing { latest, smoothed, variation, min, pacing } => {
                self.metrics.timing = Some((latest, smoothed, variation, min, pacing));
                self.metrics.pending = true;
                Vec::new()
            }
            Event::Window { cwnd, ssthresh, pipe } => {
                let changed = self.metrics.changed(cwnd, ssthresh, pipe);
                if changed.is_empty() { Vec::new() } else { vec![body::metrics(changed)] }
            }
            Event::StateChanged { to: State::Closed, .. } => {
                self.in_flight = VecDeque::new();
                vec![body::of_headway(event)]
            }
            Event::Recovery(phase) => vec![body::congestion_state(phase)],
            Event::Dropped(reason) => vec![body::dropped(reason)],
            Event::PathMtu { mtu: Some(mtu) } => vec![body::mtu(mtu)],
            _ => vec![body::of_headway(event)],
        }
    }

    /// Numbers a transmission.
    fn number(&mut self, seq: SeqNumber, len: u32) -> u64 {
        let number = self.sent;
        self.sent += 1;
        if len > 0 {
            match self.place(seq) {
                Ok(place) => self.in_flight[place].1 = number,
                Err(place) => self.in_flight.insert(place, (seq, number)),
            }
        }
        number
    }

    /// The place of the segment that begins with `seq`, or where it would be.
    fn place(&self, seq: SeqNumber) -> Result<usize, usize> {
        let place = self.in_flight.partition_point(|(other, _)| other.lt(seq));
        let found = self.in_flight.get(place).is_some_and(|(other, _)| *other == seq);
        if found { Ok(place) } else { Err(place) }
    }

    fn acknowledge(&mut self, una: SeqNumber) {
        let gone = self.in_flight.partition_point(|(seq, _)| seq.lt(una));
        self.in_flight.drain(..gone);
    }

    fn retransmitted(&mut self, seq: SeqNumber, len: u32, reason: RetransmitReason) -> Vec<Body> {
        self.reason = Some(reason);
        let last = self.place(seq).ok().map(|place| self.in_flight[place].1);
        let mut bodies = vec![body::retransmission((seq, len), last, reason)];
        if let Some(number) = last.filter(|_| body::answers_loss(reason)) {
            bodies.insert(0, body::lost(number, (seq, len), reason));
        }
        bodies
    }
}

impl Metrics {
    /// "emitted when one or more of the observable recovery metrics changes value": those that did.
    fn changed(&mut self, cwnd: u32, ssthresh: u32, pipe: u32) -> Map<String, Value> {
        let mut new = body::window(cwnd, ssthresh, pipe);
        if std::mem::take(&mut self.pending)
            && let Some((latest, smoothed, variation, min, pacing)) = self.timing
        {
            new.extend(body::timing([latest, smoothed, variation, min], pacing));
        }
        new.retain(|key, value| self.last.get(key) != Some(value));
        self.last.extend(new.clone());
        new
    }
}
