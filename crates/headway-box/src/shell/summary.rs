//! What is said before and after.

use crate::error_delay_box::{describe_link, notes};
use headway_command::notice;
use headway_link::LinkConfig;
use headway_net::error_delay_box::{BoxReport, LaneReport};
use headway_testbed::ShellNetwork;

/// Says where one is.
pub(super) fn introduce(links: &[LinkConfig; 2]) {
    let server = ShellNetwork::SERVER;
    let [forward, reverse] = links;
    notice!("headway: a link to {server}, `exit` leaves it");
    notice!("  from the server: {}", describe_link(forward));
    notice!("  to the server:   {}", describe_link(reverse));
    notice!("  curl -o /dev/null http://{server}/1MB   the kernel's TCP");
    notice!("  headway fetch http://{server}/1MB       headway's TCP over UDP");
}

/// Says what the link did.
pub(super) fn conclude(report: &BoxReport) {
    let [forward, reverse] = &report.lanes;
    notice!("headway: from the server: {}", counts(forward));
    notice!("headway: to the server:   {}", counts(reverse));
    for (lane, direction) in [(forward, "from"), (reverse, "to")] {
        for note in notes(lane).iter().filter(|note| note.contains("FRAMES LOST")) {
            notice!("headway: {direction} the server: {note}");
        }
    }
}

fn counts(lane: &LaneReport) -> String {
    let link = &lane.link;
    let mut text = format!(
        "{} packets, {} damaged ({} in headers), {} lost, {} dropped by the queue",
        link.offered, link.hit, link.hit_in_header, link.lost, link.queue_drops
    );
    let others = [
        (link.slipped, "with bits missing or added, or split"),
        (link.joined, "joined to the frame before"),
        (link.frame_check_drops, "dropped by the frame check"),
        (link.policed, "dropped by the policer"),
        (link.muted, "dropped while the link was mute"),
        (link.marked, "marked (ECN)"),
        (link.duplicated, "duplicated"),
        (link.reordered, "reordered"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {what}"));
    }
    text
}
