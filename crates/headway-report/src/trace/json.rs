//! The statistics as one JSON object, in SI units.

use headway_trace::analysis::{Connection, Direction};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use super::metrics::{self, ending};
use super::{AnalysedCapture, Numbered};

/// The statistics of the capture and of these connections as one JSON object, in SI units.
pub fn json(capture: &AnalysedCapture, chosen: &[Numbered<'_>]) -> String {
    // Numbers, strings and lists always serialize.
    let mut text = serde_json::to_string_pretty(&Document { capture, chosen }).unwrap_or_default();
    text.push('\n');
    text
}

struct Document<'a> {
    capture: &'a AnalysedCapture,
    chosen: &'a [Numbered<'a>],
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { capture, chosen } = self;
        let skipped = &capture.analysis().skipped;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &capture.name())?;
        map.serialize_entry("packets", &capture.analysis().packets)?;
        map.serialize_entry("checksums_not_computed", &capture.analysis().not_computed)?;
        map.serialize_entry(
            "half_written",
            &capture
                .half_written()
                .map(|half| json!({ "offset": half.offset, "missing_bytes": half.missing })),
        )?;
        map.serialize_entry(
            "left_out",
            &json!({
                "elsewhere": skipped.other_interface,
                "not_tcp": skipped.not_tcp,
                "unreadable": skipped.unreadable,
                "fragments": skipped.fragments,
                "cut": skipped.cut,
                "unknown_link": skipped.unknown_link,
                "beyond_limit": skipped.beyond_limit,
            }),
        )?;
        let interfaces: Vec<_> = capture
            .interfaces()
            .iter()
            .map(|interface| json!({ "name": interface.name, "link": interface.link.to_string() }))
            .collect();
        map.serialize_entry("interfaces", &interfaces)?;
        let connections: Vec<_> = chosen.iter().map(|numbered| ConnectionRow { capture, numbered }).collect();
        map.serialize_entry("connections", &connections)?;
        map.end()
    }
}

struct ConnectionRow<'a> {
    capture: &'a AnalysedCapture,
    numbered: &'a Numbered<'a>,
}

impl Serialize for ConnectionRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Numbered { number, connection } = self.numbered;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("number", number)?;
        map.serialize_entry("interface", &self.capture.interface(connection.interface))?;
        map.serialize_entry("ending", ending(connection.ending()))?;
        map.serialize_entry("first_at_ns", &connection.first_at.as_nanos())?;
        map.serialize_entry("duration_seconds", &connection.duration().as_secs_f64())?;
        let directions = [0, 1].map(|side| DirectionRow { capture: self.capture, connection, side });
        map.serialize_entry("directions", &directions)?;
        map.end()
    }
}

struct DirectionRow<'a> {
    capture: &'a AnalysedCapture,
    connection: &'a Connection,
    side: usize,
}

impl Serialize for DirectionRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let direction: &Direction = &self.connection.directions[self.side];
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("from", &self.connection.ends[self.side].to_string())?;
        map.serialize_entry("to", &self.connection.ends[1 - self.side].to_string())?;
        for metric in metrics::all() {
            map.serialize_entry(metric.key, &(metric.value)(self.connection, direction).json())?;
        }
        let damage: Vec<_> = direction
            .damage
            .iter()
            .map(|(&interface, damage)| {
                json!({
                    "interface": self.capture.interface(interface),
                    "corrupted": damage.corrupted,
                    "unreadable": damage.unreadable,
                })
            })
            .collect();
        map.serialize_entry("damage", &damage)?;
        let throughput = &direction.throughput;
        let bytes: Vec<u64> = throughput.intervals().iter().map(|interval| interval.bytes).collect();
        let new_bytes: Vec<u64> = throughput.intervals().iter().map(|interval| interval.new_bytes).collect();
        map.serialize_entry(
            "throughput",
            &json!({
                "interval_seconds": throughput.width().as_secs_f64(),
                "bytes": bytes,
                "new_bytes": new_bytes,
            }),
        )?;
        map.end()
    }
}
