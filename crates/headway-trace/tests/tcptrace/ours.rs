//! The numbers of the analysis under tcptrace's names.

use std::fs::File;
use std::path::Path;

use headway_trace::analysis::{Analyser, Analysis, Connection, Direction, Offload, Options};
use headway_trace::reader::{Packet, Reader};
use headway_units::Duration;
use headway_wire::TcpFlags;

/// Calls `take` with every packet of a capture.
pub(crate) fn each_packet(path: &Path, mut take: impl FnMut(&Packet<'_>)) {
    let mut reader = Reader::new(File::open(path).expect("a capture")).expect("a capture");
    while let Some(packet) = reader.next_packet().expect("a sound capture") {
        take(&packet);
    }
    assert_eq!(reader.half_written(), None);
}

/// Analyses a capture as the program does.
pub(crate) fn analyse(path: &Path, interface: Option<usize>) -> Analysis {
    let mut offload = Offload::new();
    each_packet(path, |packet| offload.packet(packet));
    let mut analyser = Analyser::new(Options { interface, offload, graphs: None });
    each_packet(path, |packet| analyser.packet(packet));
    analyser.finish()
}

/// How a number is compared.
#[derive(Clone, Copy)]
pub(crate) enum Compare {
    /// Equal.
    Equal,
    /// Equal to within tcptrace's precision: a unit of its last digit.
    Within(f64),
    /// Within this relative difference, or within tcptrace's precision.
    Share(f64, f64),
}

/// A number that tcptrace has too: its name, the comparison, and the analysis's value.
pub(crate) type Row = (&'static str, Compare, fn(&Connection, &Direction) -> Option<f64>);

fn ms(time: Option<Duration>) -> Option<f64> {
    Some(time.map_or(0.0, |time| time.as_secs_f64() * 1e3))
}

fn count(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// Every row that is compared.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    ("total packets", Compare::Equal, |_, d| count(d.packets)),
    ("resets sent", Compare::Equal, |_, d| count(d.with(TcpFlags::RST))),
    ("ack pkts sent", Compare::Equal, |_, d| count(d.acks.packets)),
    ("pure acks sent", Compare::Equal, |_, d| count(d.acks.pure)),
    ("sack pkts sent", Compare::Equal, |_, d| count(d.acks.sack_packets)),
    ("dsack pkts sent", Compare::Equal, |_, d| count(d.acks.dsack_packets)),
    ("max sack blks/ack", Compare::Equal, |_, d| count(d.acks.max_sack_blocks)),
    ("unique bytes sent", Compare::Equal, |_, d| count(d.data.unique_bytes)),
    ("actual data pkts", Compare::Equal, |_, d| count(d.data.packets)),
    ("actual data bytes", Compare::Equal, |_, d| count(d.data.bytes)),
    ("rexmt data pkts", Compare::Equal, |_, d| count(d.retransmitted.packets)),
    ("rexmt data bytes", Compare::Equal, |_, d| count(d.retransmitted.bytes)),
    ("zwnd probe pkts", Compare::Equal, |_, d| count(d.probes.packets)),
    ("zwnd probe bytes", Compare::Equal, |_, d| count(d.probes.bytes)),
    ("outoforder pkts", Compare::Equal, |_, d| count(d.out_of_order)),
    ("pushed data pkts", Compare::Equal, |_, d| count(d.data.pushed)),
    ("urgent data pkts", Compare::Equal, |_, d| count(d.data.urgent)),
    ("adv wind scale", Compare::Equal, |_, d| count(d.offers.window_scale.unwrap_or(0).into())),
    ("mss requested", Compare::Equal, |_, d| count(d.offers.mss.unwrap_or(0).into())),
    ("max segm size", Compare::Equal, |_, d| count(d.data.largest)),
    ("min segm size", Compare::Equal, |_, d| count(d.data.smallest.unwrap_or(0))),
    ("max win adv", Compare::Equal, |_, d| count(d.windows.max.unwrap_or(0))),
    ("min win adv", Compare::Equal, |_, d| count(d.windows.min_open.unwrap_or(0))),
    ("zero win adv", Compare::Equal, |_, d| count(d.windows.zero)),
    ("avg win adv", Compare::Share(0.01, 2.0), |_, d| d.windows.mean()),
    ("initial window bytes", Compare::Equal, |_, d| count(d.initial_window.bytes)),
    ("initial window pkts", Compare::Equal, |_, d| count(d.initial_window.packets)),
    ("ttl stream length", Compare::Equal, |_, d| d.stream_len().map(|len| len as f64)),
    ("missed data", Compare::Equal, |_, d| d.not_captured().map(|len| len as f64)),
    ("truncated data", Compare::Equal, |_, d| count(d.truncated.bytes)),
    ("truncated packets", Compare::Equal, |_, d| count(d.truncated.packets)),
    ("data xmit time", Compare::Within(0.001), |_, d| {
        Some(d.data.last_at.zip(d.data.first_at).map_or(0.0, |(last, first)| last.saturating_since(first).as_secs_f64()))
    }),
    ("idletime max", Compare::Within(0.1), |_, d| ms(Some(d.idle_max))),
    ("throughput", Compare::Share(0.01, 1.0), |c, d| c.throughput(d)),
    ("RTT samples", Compare::Equal, |_, d| count(d.acknowledged().rtt.count())),
    ("RTT min", Compare::Within(0.1), |_, d| ms(d.acknowledged().rtt.min())),
    ("RTT max", Compare::Within(0.1), |_, d| ms(d.acknowledged().rtt.max())),
    ("RTT avg", Compare::Within(0.1), |_, d| Some(d.acknowledged().rtt.mean().unwrap_or(0.0) * 1e3)),
    ("RTT stdev", Compare::Within(0.1), |_, d| Some(d.acknowledged().rtt.deviation().unwrap_or(0.0) * 1e3)),
    ("ambiguous acks", Compare::Equal, |_, d| count(d.acknowledged().ambiguous)),
    ("post-loss acks", Compare::Equal, |_, d| count(d.acknowledged().after_loss)),
    ("segs cum acked", Compare::Equal, |_, d| count(d.acknowledged().cumulative)),
    ("duplicate acks", Compare::Equal, |_, d| count(d.duplicate_acks)),
    ("triple dupacks", Compare::Equal, |_, d| count(d.triple_duplicate_acks)),
    ("max # retrans", Compare::Equal, |_, d| count(d.acknowledged().max_retransmissions.into())),
];
