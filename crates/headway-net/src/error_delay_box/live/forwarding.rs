//! Receiving and sending of frames.

use headway_trace::Direction;
use headway_units::Instant;

use super::super::port::{Incoming, Outgoing};
use super::super::resolver::Task;
use super::super::{End, ErrorDelayBox, Frame};
use super::LiveBox;
use crate::NetError;
use crate::packet_socket::Framing;

impl LiveBox {
    /// Reads the frames of an interface.
    pub(super) fn read(&mut self, end: End) -> Result<(), NetError> {
        let (port, across) = match (&mut self.ports, end) {
            ([first, second], End::First) => (first, second),
            ([first, second], End::Second) => (second, first),
        };
        let from_ethernet = port.framing() == Framing::Ethernet;
        let (clock, model, recorder) = (&self.clock, &mut self.model, &mut self.recorder);
        let resolver = &mut self.resolver;
        let [reading, _] = &mut self.times[end.index()].reading;
        let mut now = None;
        // Frames of the resolver are sent after the port has been read.
        let mut replies = Vec::new();
        let mut enqueue = |model: &mut ErrorDelayBox, from: End, at, frame: Frame| {
            let now = *now.get_or_insert_with(|| clock.now());
            reading.add(now.saturating_since(at));
            recorder.record_at(from.index(), at, frame.packet(), Direction::Outbound, None);
            model.enqueue(from, at, frame);
        };
        let read = port.read(clock, |at, incoming| {
            let Some(resolver) = resolver else {
                return match incoming {
                    Incoming::Packet(frame) => enqueue(model, end, at, frame),
                    Incoming::Other(frame) => across.queue(Outgoing::at_once(frame)),
                };
            };
            let mut each = |task| match task {
                Task::Enqueue(frame) if from_ethernet => enqueue(model, end.opposite(), at, frame),
                Task::Enqueue(frame) => enqueue(model, end, at, frame),
                Task::Send(frame) if from_ethernet => replies.push(frame),
                Task::Send(frame) => across.queue(Outgoing::at_once(frame)),
            };
            match incoming {
                Incoming::Packet(frame) if !from_ethernet => {
                    resolver.outward(at, frame.packet(), &mut each);
                }
                Incoming::Packet(frame) => {
                    if let Some(frame) = resolver.inward(at, &frame, true, &mut each) {
                        enqueue(model, end, at, frame);
                    }
                }
                Incoming::Other(frame) if from_ethernet => {
                    resolver.inward(at, &frame, false, &mut each);
                }
                // A TUN has only IP.
                Incoming::Other(_) => {}
            }
        });
        for frame in replies {
            port.queue(Outgoing::at_once(frame));
        }
        read.map_err(|source| self.gone(end, source))
    }

    /// Repeats the resolver's requests.
    pub(super) fn resolve(&mut self, now: Instant) {
        let Some(resolver) = &mut self.resolver else { return };
        if resolver.next_deadline().is_none_or(|due| due > now) {
            return;
        }
        let ethernet = self.ports.iter_mut().find(|port| port.framing() == Framing::Ethernet);
        let Some(ethernet) = ethernet else { return };
        resolver.handle_timeout(now, &mut |task| match task {
            // A request releases no packet.
            Task::Enqueue(_) => {}
            Task::Send(frame) => ethernet.queue(Outgoing::at_once(frame)),
        });
    }

    /// Sends packets that arrived at `end` and are due at the other end.
    pub(super) fn flush(&mut self, end: End) -> Result<(), NetError> {
        let out = end.opposite();
        let recorder = &mut self.recorder;
        let [lateness, _] = &mut self.times[end.index()].lateness;
        let flushed = self.ports[out.index()].flush(&self.clock, |now, outgoing| {
            let Some(due) = outgoing.due else { return };
            lateness.add(now.saturating_since(due));
            if recorder.is_recording() {
                let remark = outgoing.damage.map(|hit| format!("damaged: {hit}"));
                let packet = outgoing.frame.packet();
                recorder.record_at(out.index(), now, packet, Direction::Inbound, remark.as_deref());
            }
        });
        flushed.map_err(|source| self.gone(out, source))
    }
}
