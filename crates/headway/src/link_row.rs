//! The parameters of a link for machines.

use headway_link::LinkConfig;
use serde::Serialize;

/// One direction of a link, in SI units.
#[derive(Serialize)]
pub(crate) struct LinkRow {
    rate_bps: Option<u64>,
    delay_seconds: f64,
    queue: String,
    mark: Option<String>,
    overhead_bytes: u32,
    jitter_seconds: f64,
    duplicate: f64,
    reorder: f64,
    reorder_delay_seconds: f64,
    loss: f64,
    damage: String,
    header_hit: Option<f64>,
    hit_zone: String,
    flips: Option<u32>,
    frame_check: String,
}

pub(crate) fn link_row(link: &LinkConfig) -> LinkRow {
    LinkRow {
        rate_bps: link.rate.map(headway_units::Rate::bits_per_second),
        delay_seconds: link.delay.as_secs_f64(),
        queue: link.queue.to_string(),
        mark: link.mark.map(|limit| limit.to_string()),
        overhead_bytes: link.overhead,
        jitter_seconds: link.jitter.as_secs_f64(),
        duplicate: link.duplicate.value(),
        reorder: link.reorder.value(),
        reorder_delay_seconds: link.reorder_delay.as_secs_f64(),
        loss: link.loss.value(),
        damage: link.damage.to_string(),
        header_hit: link.header_hit.map(headway_units::Share::value),
        hit_zone: link.hit_zone.to_string(),
        flips: link.flips.or(link.damage.default_flips()),
        frame_check: link.frame_check.to_string(),
    }
}
