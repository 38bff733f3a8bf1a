//! The live page of a box.

use std::net::SocketAddr;

use headway_net::error_delay_box::{BoxReport, LaneReport};
use headway_report::command_line;
use headway_watch::{Description, Panel, SourceId, Time, Watch, WatchError};

/// A box whose counters are shown: a source for each direction.
pub(super) struct WatchedBox {
    watch: Watch,
    directions: [SourceId; 2],
}

impl WatchedBox {
    /// Serves a page for the box between two interfaces.
    pub(super) fn start(address: SocketAddr, [first, second]: [&str; 2]) -> Result<Self, WatchError> {
        let names = [format!("{first} to {second}"), format!("{second} to {first}")];
        let title = format!("The box between {first} and {second}");
        let looks = names.iter().cloned().zip(0..);
        let description =
            Description::new(&title, command_line(&headway_command::words()), "Direction", Time::Real)
                .with_looks(looks)
                .with_panels(panels());
        let watch = Watch::start(address, description)?;
        let directions = names.map(|name| watch.begin(&name, ""));
        Ok(Self { watch, directions })
    }

    /// An interval has passed.
    pub(super) fn report(&self, report: &BoxReport) {
        let seconds = report.elapsed.as_secs_f64();
        for (direction, lane) in self.directions.into_iter().zip(&report.lanes) {
            self.watch.sample(direction, &sample(seconds, lane));
        }
    }

    /// The box has ended.
    pub(super) fn end(&self, report: &BoxReport, error: Option<&str>) {
        self.report(report);
        for (direction, lane) in self.directions.into_iter().zip(&report.lanes) {
            self.watch.end(
                direction,
                &format!("{} of {} packets delivered", lane.link.delivered, lane.link.offered),
            );
        }
        let text = match error {
            Some(error) => format!("The box has failed: {error}"),
            None => "The box has ended.".to_owned(),
        };
        self.watch.finish(&text);
    }
}

/// The places of these values in a sample are those of [`sample`].
fn panels() -> [Panel; 6] {
    const DROPPED: [(&str, usize); 6] = [
        ("by the queue", 4),
        ("by the policer", 5),
        ("lost on the link", 6),
        ("by the frame check", 7),
        ("by the interface", 8),
        ("by a full socket buffer", 9),
    ];
    const DAMAGED: [(&str, usize); 2] = [("damaged", 10), ("damaged in their header", 11)];
    [
        Panel::of_bit_rate("Throughput out", 1, "IP packets that leave the link, damaged ones included."),
        Panel::of_bit_rate("Throughput in", 0, "IP packets that arrive at the link."),
        Panel::of_value("Queue", "B", 3, "Bytes in the queue at the end of each interval."),
        Panel::of_value(
            "Queue in packets",
            "packets",
            2,
            "Packets in the queue at the end of each interval.",
        ),
        Panel::of_counts("Dropped, by cause", "packets", &DROPPED, "From the beginning."),
        Panel::of_counts("Damaged", "transmissions", &DAMAGED, "From the beginning."),
    ]
}

fn sample(seconds: f64, lane: &LaneReport) -> [f64; 13] {
    let LaneReport { link, port, .. } = lane;
    let counts = [
        link.offered_bytes,
        link.delivered_bytes,
        lane.queue_packets as u64,
        lane.queue_bytes,
        link.queue_drops - link.policed,
        link.policed,
        link.lost,
        link.frame_check_drops,
        port.uncut + port.refused,
        port.kernel_drops,
        link.hit,
        link.hit_in_header,
    ];
    let mut values = [seconds; 13];
    for (value, count) in values[1..].iter_mut().zip(counts) {
        *value = count as f64;
    }
    values
}
