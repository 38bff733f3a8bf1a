//! One sender: a process whose `perf client` says what arrives.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{self, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use headway_command::parent_death;
use serde_json::Value;

use super::DemoError;

/// What a process says before it ends is kept up to this length, bytes.
const LONGEST: u64 = 4096;

/// What happens to a sender.
pub(super) enum Event {
    /// `bytes` arrived until `at` seconds, of which `differing` are not those that were sent.
    Received { bytes: u64, differing: u64, at: f64 },
    /// Its process has written all.
    Ended,
}

/// A process. It ends with this one.
pub(super) struct Child {
    process: process::Child,
}

impl Child {
    /// Starts a program with these words. What happens to it is told, with its place.
    pub(super) fn start(
        program: &OsStr,
        words: &[OsString],
        (place, told): (usize, Sender<(usize, Event)>),
    ) -> io::Result<Self> {
        let mut command = parent_death::command(program)?;
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let lines = process.stdout.take().map(BufReader::new);
        thread::spawn(move || {
            for line in lines.into_iter().flat_map(BufReader::lines).map_while(Result::ok) {
                if let Some(event) = received(&line) {
                    // Who has gone asks for no more.
                    let _ = told.send((place, event));
                }
            }
            let _ = told.send((place, Event::Ended));
        });
        Ok(Self { process })
    }

    /// Whether it ended well. What it said is the error, if not.
    pub(super) fn check(&mut self) -> Result<(), DemoError> {
        let status = self.process.wait().map_err(DemoError::Start)?;
        if status.success() {
            return Ok(());
        }
        let mut said = Vec::new();
        if let Some(errors) = self.process.stderr.take() {
            errors.take(LONGEST).read_to_end(&mut said).map_err(DemoError::Start)?;
        }
        let said = String::from_utf8_lossy(&said);
        let said = said.trim().trim_start_matches("headway: ");
        let said = match said {
            "" => status.to_string(),
            said if said.contains("a network namespace") => format!("{said}; `headway race` needs none"),
            said => said.to_owned(),
        };
        Err(DemoError::Ended { said, is_usage: status.code() == Some(2) })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A line of `perf client --json-stream`, if it is of an interval.
fn received(line: &str) -> Option<Event> {
    let event: Value = serde_json::from_str(line).ok()?;
    let sum = (event["event"] == "interval").then(|| &event["data"]["sum"])?;
    let count = |key: &str| sum[key].as_u64();
    Some(Event::Received { bytes: count("bytes")?, differing: count("differing")?, at: sum["end"].as_f64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read() {
        let line = r#"{"event":"interval","data":{"sum":{"bytes":2896,"differing":2,"end":1.5}}}"#;
        assert!(matches!(received(line), Some(Event::Received { bytes: 2896, differing: 2, at: 1.5 })));
        for line in ["", "hello", r#"{"event":"end","data":{}}"#, r#"{"event":"interval","data":{}}"#] {
            assert!(received(line).is_none(), "{line}");
        }
    }
}
