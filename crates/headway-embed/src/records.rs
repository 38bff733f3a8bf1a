//! Statistics and counters as records of whole numbers: the structures of C, the dictionaries of Python.
//!
//! Times are nanoseconds; 0 where nothing was measured yet. The order is that of C's structures: new fields come last.

use headway_link::LinkCounters;
use headway_tcp::Statistics;
use headway_units::Duration;

use crate::PathCounts;

/// The fields of a record: the name of each, and the function that reads its value.
pub type Fields<T> = [(&'static str, fn(&T) -> u64)];

/// The statistics of a connection.
pub const STATISTICS: &Fields<Statistics> = &[
    ("cwnd", |of| of.cwnd.into()),
    ("ssthresh", |of| of.ssthresh.into()),
    ("pipe", |of| of.pipe.into()),
    ("mss", |of| of.mss.into()),
    ("srtt", |of| of.smoothed_rtt.map_or(0, Duration::as_nanos)),
    ("rttvar", |of| of.rtt_variation.as_nanos()),
    ("min_rtt", |of| of.min_rtt.map_or(0, Duration::as_nanos)),
    ("rto", |of| of.rto.as_nanos()),
    ("segments_sent", |of| of.segments_sent),
    ("bytes_sent", |of| of.bytes_sent),
    ("segments_received", |of| of.segments_received),
    ("bytes_received", |of| of.bytes_received),
    ("retransmissions", |of| of.retransmissions),
    ("bytes_retransmitted", |of| of.bytes_retransmitted),
    ("damage_retransmissions", |of| of.damage_retransmissions),
    ("timeouts", |of| of.timeouts),
    ("fast_recoveries", |of| of.fast_recoveries),
    ("special_acks_sent", |of| of.special_acks_sent),
    ("special_acks_received", |of| of.special_acks_received),
    ("damaged_received", |of| of.damaged_received),
    ("repaired", |of| of.repaired),
    ("send_window", |of| of.send_window.into()),
    ("receive_window", |of| of.receive_window.into()),
    ("unacknowledged", |of| of.unacknowledged.into()),
    ("unsent", |of| of.unsent.into()),
    ("congestion_echoes", |of| of.congestion_echoes),
];

/// The counts of a path.
pub const PATH_COUNTS: &Fields<PathCounts> = &[
    ("reported", |of| of.reported),
    ("counted", |of| of.counted),
    ("damage", |of| of.damage),
    ("congestion", |of| of.congestion),
    ("unknown", |of| of.unknown),
    ("marks", |of| of.marks),
    ("arrived_intact", |of| of.arrived_intact),
    ("arrived_corrupted", |of| of.arrived_corrupted),
    ("arrived_unreadable", |of| of.arrived_unreadable),
    ("arrived_repaired", |of| of.arrived_repaired),
];

/// The counters of a link.
pub const LINK_COUNTERS: &Fields<LinkCounters> = &[
    ("offered", |of| of.offered),
    ("offered_bytes", |of| of.offered_bytes),
    ("queue_drops", |of| of.queue_drops),
    ("marked", |of| of.marked),
    ("transmissions", |of| of.transmissions),
    ("transmitted_bytes", |of| of.transmitted_bytes),
    ("lost", |of| of.lost),
    ("hit", |of| of.hit),
    ("hit_in_header", |of| of.hit_in_header),
    ("flipped_bits", |of| of.flipped_bits),
    ("frame_check_drops", |of| of.frame_check_drops),
    ("delivered", |of| of.delivered),
    ("delivered_bytes", |of| of.delivered_bytes),
    ("delivered_damaged", |of| of.delivered_damaged),
    ("duplicated", |of| of.duplicated),
    ("reordered", |of| of.reordered),
    ("slipped", |of| of.slipped),
    ("split", |of| of.split),
    ("joined", |of| of.joined),
];
