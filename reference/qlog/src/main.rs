//! Reads a qlog file with the crate `qlog` of quiche, and prints what it found as one JSON object: the header, the
//! number of events by name that are those of QUIC (`quic`) and of other name spaces (`other`), and the metrics.
//!
//! `headway-qlog-reader FILE.sqlog`

use std::collections::BTreeMap;
use std::process::ExitCode;

use qlog::events::EventData;
use qlog::reader::{Event, QlogSeqReader};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: headway-qlog-reader FILE.sqlog");
        return ExitCode::from(2);
    };
    match read(path.as_ref()) {
        Ok(found) => {
            println!("{found:#}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("headway-qlog-reader: {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}

fn read(path: &std::path::Path) -> Result<Value, Box<dyn std::error::Error>> {
    let reader = QlogSeqReader::with_file(path)?;
    let header = serde_json::to_value(&reader.qlog)?;
    let (mut quic, mut other) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    let mut metrics = Vec::new();
    let mut last = 0.0;
    let mut in_order = true;
    for event in reader {
        let time = match event {
            Event::Qlog(event) => {
                let value = serde_json::to_value(&event)?;
                let name = value["name"].as_str().unwrap_or_default().to_owned();
                *quic.entry(name).or_default() += 1;
                if let EventData::QuicMetricsUpdated(updated) = &event.data {
                    // Names that the reader does not know would end up there.
                    assert!(updated.ex_data.is_empty(), "unknown metrics: {:?}", updated.ex_data);
                    metrics.push(json!({ "time": event.time, "data": value["data"] }));
                }
                event.time
            }
            Event::Json(event) => {
                *other.entry(event.name).or_default() += 1;
                event.time
            }
        };
        in_order &= time >= last;
        last = time;
    }
    Ok(json!({
        "header": header, "quic": quic, "other": other, "in_order": in_order, "metrics": metrics,
    }))
}
