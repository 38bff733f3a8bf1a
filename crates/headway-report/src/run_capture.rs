//! Captures of simulated runs.

use std::io::Write;
use std::net::IpAddr;

use headway_sim::{NodeId, Passing, Tap};
use headway_trace::{Capture, Direction, TraceError};
use headway_wire::ip::Datagram;

/// The interfaces of a capture of both ends. The sender sends first.
pub const ENDS: [&str; 2] = ["sender", "receiver"];

/// The longest headers of IPv6 and TCP have 100 bytes; payload is not needed. ACKs are kept whole, so
/// that their damage is visible.
const HEADERS: usize = 128;

/// The capture of a run.
pub struct RunCapture<W: Write> {
    capture: Capture<W>,
    failure: Option<TraceError>,
    /// The number of captured hosts.
    interfaces: usize,
    /// The host of each interface: that which sent first, and its peer.
    hosts: Vec<NodeId>,
    /// The addresses of these.
    pair: Option<(IpAddr, IpAddr)>,
}

impl<W: Write> RunCapture<W> {
    /// Captures whole packets at both ends of the connection that begins first.
    pub fn at_both_ends(writer: W) -> Result<Self, TraceError> {
        Ok(Self::new(Capture::new(writer, &ENDS)?, ENDS.len()))
    }

    /// The same, each end in a file of its own.
    pub fn of_each_end(sender: W, receiver: W) -> Result<Self, TraceError> {
        let capture = Capture::in_files((sender, ENDS[0]), vec![(receiver, ENDS[1])])?;
        Ok(Self::new(capture, ENDS.len()))
    }

    /// Captures the headers of the packets at the sender, like tcpdump.
    pub fn at_sender(writer: W) -> Result<Self, TraceError> {
        Ok(Self::new(Capture::with_snap_len(writer, &ENDS[..1], HEADERS)?, 1))
    }

    fn new(capture: Capture<W>, interfaces: usize) -> Self {
        Self { capture, failure: None, interfaces, hosts: Vec::new(), pair: None }
    }

    /// The complete capture, or the first error: the sender's, if each end has its own.
    pub fn finish(self) -> Result<W, TraceError> {
        self.finish_all().map(|(sender, _)| sender)
    }

    /// The same, with the receiver's, if it has its own.
    pub fn finish_all(self) -> Result<(W, Option<W>), TraceError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.capture.finish_all().map(|(sender, mut others)| (sender, others.pop())),
        }
    }

    /// The interface of a host; `None` for hosts that are not captured.
    fn interface(&mut self, host: NodeId, packet: &[u8]) -> Option<usize> {
        let known = self.hosts.iter().position(|&known| known == host);
        if known.is_some() || self.hosts.len() == self.interfaces {
            return known;
        }
        // Other hosts share the link, and may be heard of before the peer.
        let header = Datagram::parse(packet).ok()?.header;
        let (from, to) = *self.pair.get_or_insert((header.src, header.dst));
        if ![(from, to), (to, from)].contains(&(header.src, header.dst)) {
            return None;
        }
        self.hosts.push(host);
        Some(self.hosts.len() - 1)
    }
}

impl<W: Write + 'static> Tap for RunCapture<W> {
    fn pass(&mut self, passing: &Passing<'_>) {
        if self.failure.is_some() {
            return;
        }
        let Some(interface) = self.interface(passing.host, passing.packet) else { return };
        let direction = if passing.outbound { Direction::Outbound } else { Direction::Inbound };
        let comment = passing.damage.map(|hit| format!("damaged: {hit}"));
        let written =
            self.capture.packet(interface, passing.at, passing.packet, direction, comment.as_deref());
        self.failure = written.err();
    }
}

#[cfg(test)]
mod tests {
    use headway_link::Damage;
    use headway_sim::Content;
    use headway_sim::race::{Companion, CrossTraffic, RunOutcome, RunSettings, Scenario, run_recorded};
    use headway_tcp::Variant;
    use headway_trace::analysis::{Analyser, Connection, Graphs, Options};
    use headway_trace::reader::Reader;
    use headway_units::{Duration, Instant, Rate, Share};

    use super::*;

    const SIZE: u64 = 200_000;
    const SEEDS: std::ops::Range<u64> = 1..4;

    fn scenario() -> Scenario {
        let mut scenario = Scenario::default();
        scenario.forward.delay = Duration::from_millis(50);
        scenario.reverse.delay = Duration::from_millis(50);
        scenario.reverse.damage = Damage::Random { p: Share::new(0.02).expect("a share") };
        scenario
    }

    fn run(
        scenario: &Scenario,
        variant: Variant,
        seed: u64,
        tap: RunCapture<Vec<u8>>,
    ) -> (RunOutcome, Vec<u8>) {
        let content = Content::from_bytes((0..SIZE).map(|n| ((n * n) >> 7) as u8).collect::<Vec<u8>>());
        let settings = RunSettings { scenario, content: &content, seed, hash: false };
        let recording = run_recorded(settings, variant, || (), tap).unwrap();
        (recording.outcome, recording.tap.finish().unwrap())
    }

    fn analyse(file: &[u8], interface: usize) -> Connection {
        let graphs = Some(Graphs { points: 1 << 20, connections: 0..1 });
        let mut analyser =
            Analyser::new(Options { interface: Some(interface), graphs, ..Options::default() });
        let mut reader = Reader::new(file).unwrap();
        while let Some(packet) = reader.next_packet().unwrap() {
            analyser.packet(&packet);
        }
        let mut connections = analyser.finish().connections;
        assert_eq!(connections.len(), 1);
        connections.remove(0)
    }

    #[test]
    fn headers_say_what_whole_packets_do() {
        let mut scenario = scenario();
        // Other hosts of the link are not captured.
        scenario.companions = vec![Companion { damaged: false, ..Companion::new(Variant::NewReno.into()) }];
        scenario.cross =
            Some(CrossTraffic::Constant { rate: Rate::from_bits_per_second(1_000_000), packet: 500 });
        for seed in SEEDS {
            for variant in Variant::ALL {
                let (_, whole) = run(&scenario, variant, seed, RunCapture::at_both_ends(Vec::new()).unwrap());
                let (outcome, headers) =
                    run(&scenario, variant, seed, RunCapture::at_sender(Vec::new()).unwrap());
                assert!(headers.len() < whole.len() / 4, "{variant} {seed}");
                let peer = analyse(&whole, 1);
                let [whole, headers] = [analyse(&whole, 0), analyse(&headers, 0)];
                assert_eq!(peer.ends[0].ip(), whole.ends[0].ip(), "{variant} {seed}: of another flow");
                assert!(headers.directions[0].truncated.packets > 0, "{variant} {seed}");
                assert_eq!(headers.ends[0].ip().to_string(), "10.0.1.1", "{variant} {seed}");
                // The outcome covers the time until all data arrived, the capture lasts until all
                // connections are closed.
                let sent = headers.directions[0].data.bytes;
                assert!(
                    outcome.metrics.bytes_sent.is_some_and(|least| (least..least + SIZE).contains(&sent)),
                    "{variant} {seed}"
                );
                for (whole, headers) in whole.directions.iter().zip(&headers.directions) {
                    let [mut ours, theirs] =
                        [whole, headers].map(|direction| direction.graph.clone().expect("points"));
                    // Only the peer sees what arrived damaged.
                    ours.corrupted = theirs.corrupted.clone();
                    assert!(ours == theirs, "{variant} {seed}: the graphs differ");
                    assert_eq!(whole.data, headers.data, "{variant} {seed}");
                    assert_eq!(whole.retransmitted, headers.retransmitted, "{variant} {seed}");
                    assert_eq!(whole.acks, headers.acks, "{variant} {seed}");
                    assert_eq!(whole.special, headers.special, "{variant} {seed}");
                    assert_eq!(whole.damage.get(&0), headers.damage.get(&0), "{variant} {seed}");
                    assert_eq!(whole.throughput, headers.throughput, "{variant} {seed}");
                }
            }
        }
    }

    /// The times of all figures agree with a capture at the receiver: a run is finished when the last
    /// missing byte arrives in a packet with a valid checksum.
    #[test]
    fn the_time_of_a_run_is_the_captures() {
        let scenario = scenario();
        for seed in SEEDS {
            for variant in Variant::ALL {
                let (outcome, file) =
                    run(&scenario, variant, seed, RunCapture::at_both_ends(Vec::new()).unwrap());
                assert!(outcome.metrics.finished, "{variant} {seed}");
                let receiver = analyse(&file, 1);
                let graph = receiver.directions[0].graph.as_ref().expect("points were asked for");
                let new = graph.sent.points().iter().chain(graph.out_of_order.points());
                let last = new.filter(|segment| segment.len > 0).map(|segment| segment.at).max();
                let time = |at: Instant| at.saturating_since(Instant::ZERO).as_secs_f64();
                let seconds = outcome.metrics.seconds;
                // The last missing blocks may come in a patch, whose bytes the analysis has seen before.
                let mut again = graph.retransmitted.points().iter().map(|segment| time(segment.at));
                assert!(last.is_some_and(|at| time(at) <= seconds), "{variant} {seed}");
                assert!(
                    last.is_some_and(|at| time(at) == seconds)
                        || variant == Variant::Headway && again.any(|at| at == seconds),
                    "{variant} {seed}"
                );
                // Segments that patches complete count for the receiver, and not for the analysis.
                let unique = receiver.directions[0].data.unique_bytes;
                let damaged: u64 = receiver.directions[0]
                    .damage
                    .values()
                    .map(|damage| damage.corrupted + damage.unreadable)
                    .sum();
                let least = if variant == Variant::Headway { SIZE - damaged * 1448 } else { SIZE };
                assert!((least..=SIZE).contains(&unique), "{variant} {seed}: {unique}");
            }
        }
    }
}
