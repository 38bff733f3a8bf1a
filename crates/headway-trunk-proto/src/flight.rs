//! The flight recorder: what became of the last packets of a peer.
//!
//! Packets are numbered by their sender, so those that are missing between others were lost. What is written is a trace of a
//! link as `headway-link` reads it (`Trace`), with remarks: the same damage can be tried with other senders.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use headway_units::Instant;

use crate::seal::SegmentIntegrity;

/// No more packets are kept. At 10 Mbit/s they are the last five minutes.
const MOST: usize = 1 << 18;

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) at: Instant,
    /// Our index of its session.
    pub(crate) session: u32,
    /// The low 32 bits of its number.
    pub(crate) number: u32,
    /// The length of the datagram.
    pub(crate) bytes: u16,
    pub(crate) verdict: SegmentIntegrity,
}

/// What became of the last packets of a peer. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FlightRecorder {
    arrived: Arc<Mutex<VecDeque<Arrived>>>,
}

impl FlightRecorder {
    pub(crate) fn add(&self, packet: Arrived) {
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        if arrived.len() == MOST {
            arrived.pop_front();
        }
        arrived.push_back(packet);
    }

    /// The fates of the last packets in the order in which they were sent; `None` if none has arrived. Each damaged packet
    /// has its age, in seconds before the last one, and the length of its datagram in a remark.
    pub fn trace(&self) -> Option<String> {
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (first, last) = (arrived.front()?.at, arrived.back()?.at);
        // Sessions follow one another.
        let mut order: BTreeMap<u32, usize> = BTreeMap::new();
        let mut sessions: Vec<BTreeMap<u32, Arrived>> = Vec::new();
        for packet in arrived {
            let place = *order.entry(packet.session).or_insert_with(|| {
                sessions.push(BTreeMap::new());
                sessions.len() - 1
            });
            let known = sessions[place].entry(packet.number).or_insert(packet);
            // A number may come twice: a damaged number is that of another packet.
            if packet.verdict == SegmentIntegrity::Intact {
                *known = packet;
            }
        }
        let packets: usize = sessions.iter().map(BTreeMap::len).sum();
        let seconds = last.saturating_since(first).as_secs_f64();
        let mut text = format!("# the fates of the packets of {seconds:.3} s, of which {packets} arrived\n");
        sessions.iter().for_each(|session| write_session(&mut text, session, last));
        Some(text)
    }
}

/// Packets in a row with the same fate.
fn write_run(text: &mut String, fate: &str, packets: u32) {
    // Writing to a `String` does not fail.
    let _ = match packets {
        0 => Ok(()),
        1 => writeln!(text, "{fate}"),
        _ => writeln!(text, "{fate} {packets}"),
    };
}

fn write_session(text: &mut String, session: &BTreeMap<u32, Arrived>, end: Instant) {
    // The number of a packet whose header is damaged may be wrong; that of an authenticated one is not.
    let authenticated = session.iter().filter(|(_, packet)| packet.verdict != SegmentIntegrity::Unreadable);
    let Some(highest) = authenticated.map(|(number, _)| *number).max() else { return };
    let (mut next, mut intact) = (None, 0);
    for (&number, packet) in session.range(..=highest) {
        let lost = next.map_or(0, |next| number - next);
        if lost > 0 {
            write_run(text, "ok", std::mem::take(&mut intact));
            write_run(text, "lost", lost);
        }
        next = Some(number.saturating_add(1));
        let place = match packet.verdict {
            SegmentIntegrity::Intact => {
                intact += 1;
                continue;
            }
            SegmentIntegrity::Corrupted => "payload",
            SegmentIntegrity::Unreadable => "header",
        };
        write_run(text, "ok", std::mem::take(&mut intact));
        let age = end.saturating_since(packet.at).as_secs_f64();
        let _ = writeln!(text, "hit {place} 1 # {age:.3} s, {} bytes", packet.bytes);
    }
    write_run(text, "ok", intact);
}

#[cfg(test)]
mod tests {
    use headway_units::Duration;

    use super::*;

    /// The trace of packets that arrive a millisecond apart: session, number, and what became of it.
    fn trace(packets: &[(u32, u32, SegmentIntegrity)]) -> String {
        let recorder = FlightRecorder::default();
        let mut at = Instant::ZERO + Duration::from_secs(5);
        for &(session, number, verdict) in packets {
            recorder.add(Arrived { at, session, number, bytes: 100, verdict });
            at += Duration::from_millis(1);
        }
        recorder.trace().expect("packets")
    }

    use SegmentIntegrity::{Corrupted, Intact, Unreadable};

    #[test]
    fn fates_are_in_the_order_of_the_numbers() {
        let packets = [
            (7, 3, Intact),
            (7, 4, Intact),
            (7, 6, Corrupted),
            (7, 5, Intact),
            (7, 10, Unreadable),
            (7, 9, Intact),
            (7, 12, Intact),
        ];
        let text = "# the fates of the packets of 0.006 s, of which 7 arrived\nok 3\n\
            hit payload 1 # 0.004 s, 100 bytes\nlost 2\nok\nhit header 1 # 0.002 s, 100 bytes\nlost\nok\n";
        assert_eq!(trace(&packets), text);
    }

    #[test]
    fn what_was_received_intact_is_believed_whatever_else_has_its_number() {
        for damaged in [Corrupted, Unreadable] {
            for packets in [[(1, 8, damaged), (1, 8, Intact)], [(1, 8, Intact), (1, 8, damaged)]] {
                let text = "# the fates of the packets of 0.001 s, of which 1 arrived\nok\n";
                assert_eq!(trace(&packets), text);
            }
        }
    }

    /// The number of an unreadable packet may be wrong: behind the last authentic one it says nothing.
    #[test]
    fn sessions_follow_one_another_and_end_with_an_authentic_packet() {
        let packets =
            [(1, 100, Intact), (2, 0, Intact), (1, 101, Corrupted), (2, 1, Intact), (1, 4000, Unreadable)];
        let text = "# the fates of the packets of 0.004 s, of which 5 arrived\nok\n\
            hit payload 1 # 0.002 s, 100 bytes\nok 2\n";
        assert_eq!(trace(&packets), text);
        assert_eq!(trace(&[(1, 9, Unreadable)]).lines().count(), 1);
    }

    #[test]
    fn the_last_packets_are_kept() {
        let recorder = FlightRecorder::default();
        assert_eq!(recorder.trace(), None);
        for number in 0..MOST as u32 + 10 {
            recorder.add(Arrived { at: Instant::ZERO, session: 1, number, bytes: 9, verdict: Intact });
        }
        let text = recorder.trace().expect("packets");
        assert!(text.contains(&format!("of which {MOST} arrived\nok {MOST}\n")), "{text}");
    }
}
