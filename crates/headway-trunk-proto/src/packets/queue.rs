//! The queue in front of a stream of packets: short, so that it drops where the stream is behind.

use headway_link::{
    Aqm, EnqueueResult, Frame, Headers, LinkConfig, LinkCounters, ManagedQueue, QueueDiscipline, QueueLimit,
};
use headway_units::Instant;

use super::framing::{LENGTH_PREFIX, is_whole_packet};

/// What a [`PacketWriter`] counted, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketWriterCounters {
    /// Given to it.
    pub offered: u64,
    /// Dropped by the queue: because it was full, or because its management decided so.
    pub dropped: u64,
    /// Refused: not one whole IP packet.
    pub refused: u64,
    /// Written as a whole.
    pub written: u64,
}

/// Packets on their way into a byte stream: those that wait, and the one that is being written.
///
/// The packets are whatever holds their bytes at its start; a packet that was written comes back, so that its buffer
/// can be used again. The packet that is being written does not count for the limit.
pub struct PacketWriter<P> {
    queue: ManagedQueue<P>,
    separates_flows: bool,
    queue_counters: LinkCounters,
    counters: PacketWriterCounters,
    writing: Option<Writing<P>>,
    idle_since: Instant,
}

struct Writing<P> {
    packet: P,
    len: usize,
    /// Bytes of the length and the packet that the stream has taken.
    written: usize,
}

impl<P: AsMut<[u8]>> PacketWriter<P> {
    /// Nothing waits. `limit` and `aqm` manage the queue, whose randomness comes from `seed`.
    pub fn new(limit: QueueLimit, aqm: Aqm, seed: u64) -> Self {
        let config = LinkConfig { queue: limit, aqm, ..LinkConfig::default() };
        Self {
            queue: ManagedQueue::new(&config, seed),
            separates_flows: aqm.separates_flows(),
            queue_counters: LinkCounters::default(),
            counters: PacketWriterCounters::default(),
            writing: None,
            idle_since: Instant::ZERO,
        }
    }

    /// What was counted.
    pub fn counters(&self) -> PacketWriterCounters {
        PacketWriterCounters {
            dropped: self.counters.dropped + self.queue_counters.queue_drops,
            ..self.counters
        }
    }

    /// Whether nothing waits and nothing is being written.
    pub fn is_empty(&self) -> bool {
        self.writing.is_none() && self.queue.is_empty()
    }

    /// Takes the first `len` bytes of `packet`, unless there is no room for them or they are no IP packet.
    pub fn enqueue(&mut self, now: Instant, mut packet: P, len: usize) -> EnqueueResult<P> {
        self.counters.offered += 1;
        let bytes = packet.as_mut().get(..len).filter(|bytes| is_whole_packet(bytes));
        let Some(bytes) = bytes else {
            self.counters.refused += 1;
            return EnqueueResult::Dropped(packet);
        };
        let flow = if self.separates_flows { headway_wire::flow_hash(bytes) } else { 0 };
        let headers = Headers { ip_header_len: 0, header_len: len };
        let mut frame = Frame { packet, len, headers, exposed: false, flow, enqueued: now };
        let result = if self.is_empty() {
            if self.queue.passes_idle(now, self.idle_since, &mut frame, &mut self.queue_counters) {
                self.writing = Some(Writing { packet: frame.packet, len, written: 0 });
                EnqueueResult::Queued
            } else {
                EnqueueResult::Dropped(frame.packet)
            }
        } else {
            self.queue.enqueue(now, frame, &mut self.queue_counters)
        };
        self.counters.dropped += u64::from(matches!(result, EnqueueResult::Dropped(_)));
        result
    }

    /// Whether a packet has been written in part: its rest belongs to the stream before anything else.
    pub fn is_within_packet(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.written > 0)
    }

    /// Writes the next packet, or the rest of one. `write` takes bytes from the front of what it is given and says
    /// how many. The packet comes back once the stream has all of it; `None` means that the stream takes no more, or
    /// that no packet waits.
    pub fn write(&mut self, now: Instant, mut write: impl FnMut(&[u8]) -> usize) -> Option<P> {
        if self.writing.is_none() {
            let frame = self.queue.dequeue(now, &mut self.queue_counters)?;
            self.writing = Some(Writing { packet: frame.packet, len: frame.len, written: 0 });
        }
        let writing = self.writing.as_mut()?;
        while writing.written < LENGTH_PREFIX + writing.len {
            let prefix = (writing.len as u16).to_be_bytes();
            let rest = match writing.written.checked_sub(LENGTH_PREFIX) {
                Some(body) => &writing.packet.as_mut()[body..writing.len],
                None => &prefix[writing.written..],
            };
            match write(rest) {
                0 => return None,
                taken => writing.written += taken.min(rest.len()),
            }
        }
        self.counters.written += 1;
        let written = self.writing.take();
        if self.queue.is_empty() {
            self.idle_since = now;
        }
        written.map(|writing| writing.packet)
    }

    /// The stream is over: what it had of a packet is lost with it. The next stream begins with a whole packet.
    pub fn restart(&mut self) {
        if let Some(writing) = &mut self.writing {
            writing.written = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(len: u16) -> Vec<u8> {
        let mut bytes = vec![0; usize::from(len)];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
        bytes
    }

    fn give(writer: &mut PacketWriter<Vec<u8>>, len: u16) -> bool {
        let packet = packet(len);
        let len = packet.len();
        matches!(writer.enqueue(Instant::ZERO, packet, len), EnqueueResult::Queued)
    }

    #[test]
    fn what_finds_the_queue_full_is_dropped_and_counted() {
        let mut writer = PacketWriter::new(QueueLimit::Packets(2), Aqm::None, 1);
        // One is being written, two wait.
        assert_eq!([(); 5].map(|()| give(&mut writer, 100)), [true, true, true, false, false]);
        assert_eq!(writer.write(Instant::ZERO, |_| 0), None, "a stream that takes nothing");
        assert!(writer.write(Instant::ZERO, <[u8]>::len).is_some());
        // It has left, and the next one still waits.
        assert!(!give(&mut writer, 100));
        assert_eq!(writer.write(Instant::ZERO, |_| 0), None);
        assert!(give(&mut writer, 100), "one is being written again");
        let counters = writer.counters();
        assert_eq!((counters.offered, counters.dropped, counters.written), (7, 3, 1));
    }

    #[test]
    fn codel_drops_what_waits_too_long() {
        let mut writer = PacketWriter::new(QueueLimit::Unlimited, "codel:5ms:100ms".parse().unwrap(), 1);
        for _ in 0..300 {
            assert!(give(&mut writer, 1500));
        }
        let mut written = 0;
        for millisecond in 0..2000 {
            let now = Instant::from_nanos(millisecond * 1_000_000);
            if millisecond % 10 == 0 && writer.write(now, <[u8]>::len).is_some() {
                written += 1;
            }
        }
        let counters = writer.counters();
        assert!(counters.dropped > 5, "{counters:?}");
        assert_eq!(counters.written, written);
    }

    #[test]
    fn a_new_stream_begins_with_a_whole_packet() {
        let mut writer = PacketWriter::new(QueueLimit::Unlimited, Aqm::None, 1);
        assert!(give(&mut writer, 40));
        let mut stream = Vec::new();
        let part = |stream: &mut Vec<u8>, bytes: &[u8], room: usize| {
            let taken = bytes.len().min(room.saturating_sub(stream.len()));
            stream.extend_from_slice(&bytes[..taken]);
            taken
        };
        assert!(writer.write(Instant::ZERO, |bytes| part(&mut stream, bytes, 7)).is_none());
        assert!(writer.is_within_packet());
        writer.restart();
        assert!(!writer.is_within_packet());
        stream.clear();
        assert!(writer.write(Instant::ZERO, |bytes| part(&mut stream, bytes, 100)).is_some());
        assert_eq!(stream, [&[0, 40], &packet(40)[..]].concat());
        assert!(writer.is_empty());
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let mut writer = PacketWriter::new(QueueLimit::Unlimited, Aqm::None, 1);
        for (bytes, len) in [(vec![0; 40], 40), (packet(40), 39), (packet(40), 41), (Vec::new(), 0)] {
            assert!(matches!(writer.enqueue(Instant::ZERO, bytes, len), EnqueueResult::Dropped(_)));
        }
        assert_eq!(writer.counters().refused, 4);
        assert!(writer.is_empty());
    }
}
