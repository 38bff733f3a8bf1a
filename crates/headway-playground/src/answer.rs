//! The results of a race with one seed.

use headway_scenario::Settings;
use headway_sim::Content;
use headway_sim::race::{RunSettings, TcpSender, run_recorded};
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::request::Request;

/// Does what the JSON in `request` asks for. Gives JSON too: `runs` and `command`, or `error` with what was expected.
///
/// A request has `keys` (those of a scenario, with text as values), `variants` and `seed`. A run has `variant`, `finished`,
/// `seconds`, `goodput_bps`, `packets` and `damaged` (of the forward path), `retransmissions`, `timeouts`, `sha256` (of
/// the capture of both ends) and `points` (seconds, and bytes acknowledged).
pub fn answer(request: &str) -> String {
    let result = race(request).unwrap_or_else(|error| json!({ "error": error }));
    result.to_string()
}

fn race(request: &str) -> Result<Value, String> {
    let request = Request::parse(request)?;
    let (settings, senders) = request.settings()?;
    let runs: Vec<Value> =
        senders.into_iter().map(|sender| run(&settings, sender, request.seed)).collect::<Result<_, _>>()?;
    Ok(json!({ "runs": runs, "command": request.command() }))
}

fn run(settings: &Settings, sender: TcpSender, seed: u64) -> Result<Value, String> {
    let size = settings.sent_size().ok_or("duration: the page has transfers of a size")?;
    let content = Content::generated(size.bytes());
    let settings = RunSettings { scenario: &settings.scenario, content: &content, seed, hash: true };
    let recorder = Recorder::new().map_err(|error| error.to_string())?;
    let recording = run_recorded(settings, sender, || (), recorder).map_err(|error| error.to_string())?;
    let metrics = &recording.outcome.metrics;
    let (packets, damaged) = (recording.tap.packets, recording.tap.damaged);
    let (digest, points) = recording.tap.finish().map_err(|error| error.to_string())?;
    Ok(json!({
        "variant": sender.to_string(),
        "finished": metrics.finished,
        "seconds": metrics.seconds,
        "goodput_bps": metrics.goodput_bps,
        "packets": packets,
        "damaged": damaged,
        "retransmissions": metrics.retransmissions,
        "timeouts": metrics.timeouts,
        "sha256": digest,
        "points": points,
    }))
}
