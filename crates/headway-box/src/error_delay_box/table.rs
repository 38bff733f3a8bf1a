//! The table of counters.

use headway_link::{Aqm, Damage, LinkConfig, LinkCounters};
use headway_net::error_delay_box::{BoxReport, LaneReport, Priority, Quantiles};
use headway_units::Duration;

/// The link of each direction.
pub(super) fn describe(interfaces: &[String; 2], links: &[LinkConfig; 2]) -> Vec<String> {
    let [first, second] = interfaces;
    let [forward, reverse] = links;
    vec![
        format!("{first} -> {second}: {}", describe_link(forward)),
        format!("{second} -> {first}: {}", describe_link(reverse)),
    ]
}

pub(super) fn describe_link(link: &LinkConfig) -> String {
    let rate = match (&link.rate_trace, &link.rate_steps, link.rate) {
        (Some(trace), ..) => format!("rate of {}", trace.name()),
        (None, Some(steps), _) => steps.to_string(),
        (None, None, rate) => rate.map_or("no rate limit".into(), |rate| rate.to_string()),
    };
    let mut parts =
        vec![rate, format!("one-way delay {}", link.delay_text()), format!("queue {}", link.queue)];
    parts.extend(link.mark.map(|limit| format!("marks beyond {limit}")));
    if link.aqm != Aqm::None {
        parts.push(link.aqm.to_string());
    }
    parts.extend(link.policer.map(|policer| format!("policer {policer}")));
    if link.overhead > 0 {
        parts.push(format!("{} bytes of overhead per packet", link.overhead));
    }
    if !link.jitter.is_zero() {
        parts.push(match &link.jitter_model {
            Some(model) => format!("{} jitter ({model})", link.jitter),
            None => format!("up to {} jitter", link.jitter),
        });
    }
    if !link.loss.is_zero() {
        parts.push(format!("{} lost", link.loss));
    }
    if !link.mute.is_empty() {
        parts.push(format!("mute {}", link.mute));
    }
    if !link.duplicate.is_zero() {
        parts.push(format!("{} duplicated", link.duplicate));
    }
    if !link.reorder.is_zero() {
        parts.push(format!("{} reordered by {}", link.reorder, link.reorder_delay));
    }
    parts.push(format!("damage {}", link.damage));
    if link.damage != Damage::None {
        let place = link.header_hit.map_or("place".into(), |share| share.to_string());
        parts.push(format!("header hit {place} ({})", link.hit_zone));
        parts.push(format!("frame check {}", link.frame_check));
    }
    parts.join(", ")
}

pub(super) fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::RealTime => "with real-time priority (SCHED_FIFO)",
        Priority::Ordinary => "with ordinary priority",
        Priority::Refused => "with ordinary priority: SCHED_FIFO is not permitted",
    }
}

/// The width of the direction column.
fn width(report: &BoxReport) -> usize {
    report.lanes.iter().map(|lane| direction(lane).chars().count()).max().unwrap_or_default()
}

fn direction(lane: &LaneReport) -> String {
    format!("{} -> {}", lane.from, lane.to)
}

/// The heading. Lateness is in microseconds.
pub(super) fn heading(report: &BoxReport) -> String {
    format!(
        "{:>8} {:<width$} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>22} {:>22}",
        "seconds",
        "way",
        "Mbit/s",
        "in",
        "out",
        "queue",
        "drops",
        "lost",
        "hit",
        "in hdr",
        "marked",
        "twice",
        "back",
        "late us: 50%/99%/max",
        "read us: 50%/99%/max",
        width = width(report)
    )
}

/// A row for each direction: the changes since `last`.
pub(super) fn interval(report: &BoxReport, last: Option<&BoxReport>) -> Vec<String> {
    let since = last.map_or(Duration::ZERO, |last| last.elapsed);
    let time = report.elapsed.as_secs_f64() - since.as_secs_f64();
    let lanes = report.lanes.iter().enumerate();
    let lines = lanes.map(|(index, lane)| {
        let before = last.map_or(LinkCounters::default(), |last| last.lanes[index].link);
        line(report, lane, &before, time, lane.lateness, lane.reading)
    });
    lines.collect()
}

fn line(
    report: &BoxReport,
    lane: &LaneReport,
    before: &LinkCounters,
    time: f64,
    lateness: Quantiles,
    reading: Quantiles,
) -> String {
    let link = &lane.link;
    let rate = (link.delivered_bytes - before.delivered_bytes) as f64 * 8e-6 / time.max(1e-9);
    format!(
        "{:>8.1} {:<width$} {rate:>8.2} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>22} {:>22}",
        report.elapsed.as_secs_f64(),
        direction(lane),
        link.offered - before.offered,
        link.delivered - before.delivered,
        lane.queue_packets,
        link.queue_drops - before.queue_drops,
        link.lost - before.lost,
        link.hit - before.hit,
        link.hit_in_header - before.hit_in_header,
        link.marked - before.marked,
        link.duplicated - before.duplicated,
        link.reordered - before.reordered,
        micros(lateness),
        micros(reading),
        width = width(report)
    )
}

fn micros(times: Quantiles) -> String {
    if times.count == 0 {
        return "-".into();
    }
    let [median, p99, max] = [times.median, times.p99, times.max].map(Duration::as_micros);
    format!("{median}/{p99}/{max}")
}

/// The totals since the start, and problems.
pub(super) fn summary(report: &BoxReport) -> Vec<String> {
    let mut lines = vec![String::new(), format!("total after {:.1} s:", report.elapsed.as_secs_f64())];
    lines.push(heading(report));
    let time = report.elapsed.as_secs_f64();
    for lane in &report.lanes {
        let nothing = LinkCounters::default();
        lines.push(line(report, lane, &nothing, time, lane.lateness_overall, lane.reading_overall));
    }
    for lane in &report.lanes {
        lines.extend(notes(lane).into_iter().map(|note| format!("{}: {note}", direction(lane))));
    }
    lines
}

/// Counters without a column.
pub(super) fn notes(lane: &LaneReport) -> Vec<String> {
    let LaneReport { link, port, to, from, .. } = lane;
    let counts = [
        (link.slipped, "of the damaged frames with bits missing or added, or split".to_owned()),
        (link.split, "frames more than packets, by splits".to_owned()),
        (link.joined, "packets joined to the frame before".to_owned()),
        (link.frame_check_drops, "damaged frames dropped by the frame check".to_owned()),
        (link.arq_retransmissions, "frames retransmitted by the link".to_owned()),
        (lane.in_link as u64, "packets still in the link".to_owned()),
        (port.passed, "frames without an IP packet forwarded".to_owned()),
        (port.completed, "packets with checksum offload completed".to_owned()),
        (port.cut, "long frames segmented".to_owned()),
        (
            port.uncut,
            format!(
                "LONG FRAMES LOST that cannot be segmented: `ethtool -K PEER tso off gso off` where {from} leads to"
            ),
        ),
        (port.refused, format!("FRAMES LOST that {to} refused: is it up, and its MTU as long as {from}'s?")),
        (port.kernel_drops, "FRAMES LOST in a full socket buffer: this machine is too slow".to_owned()),
    ];
    counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
}
