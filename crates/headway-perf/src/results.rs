//! What a client has measured.

use std::net::SocketAddr;
use std::time::Duration;

use headway_transport::{StopSignal, TransportError};
use serde_json::{Value, json};

use super::cpu::Usage;
use super::error::PerfError;
use super::json::{self, About, Ends, FlowResults};
use super::latency_summary::Latencies;
use super::progress::{Interval, Sample};
use super::protocol::{Flow, StreamResult, Test, TestKind};
use super::text::{self, Text};

/// What a client has measured.
pub(super) struct Results {
    /// The TCP of this end.
    pub(super) label: String,
    pub(super) server: SocketAddr,
    /// When the test began, in nanoseconds since 1970.
    pub(super) began: u64,
    pub(super) test: Test,
    pub(super) ends: Vec<Ends>,
    pub(super) intervals: Vec<Interval>,
    /// The results of this end's connections.
    pub(super) ours: Vec<(Flow, StreamResult)>,
    pub(super) theirs: Vec<StreamResult>,
    /// Of this end, and of the server.
    pub(super) cpu: (Usage, Usage),
    pub(super) samples: Vec<Sample>,
    /// When there was load, where latency was measured without it and with it.
    pub(super) load: Option<Load>,
    /// The signal that stopped the test before its end.
    pub(super) stopped: Option<StopSignal>,
    pub(super) server_output: Option<String>,
}

/// The times of a test under load, from its start. While the load begins latency is neither idle nor loaded.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Until then there was no load.
    pub(super) idle: Duration,
    /// From then on all connections sent.
    pub(super) full: Duration,
    /// Until then they did.
    pub(super) until: Duration,
}

impl Results {
    /// The flows of data of the test, with the results of both ends.
    pub(super) fn flows(&self) -> Vec<FlowResults> {
        let flows = [Flow::Upload, Flow::Download, Flow::Latency];
        flows
            .into_iter()
            .filter(|flow| self.test.connections(*flow) > 0)
            .map(|flow| self.flow(flow))
            .collect()
    }

    fn flow(&self, flow: Flow) -> FlowResults {
        let ours: Vec<StreamResult> =
            self.ours.iter().filter(|(of, _)| *of == flow).map(|(_, result)| result.clone()).collect();
        let is_ours = |port: u16| ours.iter().any(|one| one.client_port == port);
        let theirs = self.theirs.iter().filter(|one| is_ours(one.client_port)).cloned().collect();
        let sends = flow != Flow::Download;
        let (sent, received) = if sends { (ours, theirs) } else { (theirs, ours) };
        FlowResults { flow, sends, sent, received }
    }

    /// All latencies of a test without load; those before the load and under it of one with load.
    pub(super) fn latencies(&self) -> (Latencies, Latencies) {
        let of = |from: Duration, until: Duration| {
            let within = self.samples.iter().filter(|sample| (from..until).contains(&sample.at));
            Latencies::of(within.map(|sample| sample.latency))
        };
        match self.load {
            Some(load) => (of(Duration::ZERO, load.idle), of(load.full, load.until)),
            None => (of(Duration::ZERO, Duration::MAX), Latencies::of(std::iter::empty())),
        }
    }

    /// What is wrong with the test. There are results all the same.
    pub(super) fn problem(&self) -> Option<PerfError> {
        let stopped = self.stopped.map(|signal| TransportError::Stopped(signal).into());
        let ours = self.ours.iter().map(|(_, result)| result);
        let differing = ours.chain(&self.theirs).map(|result| result.differing).sum();
        stopped.or_else(|| (differing > 0).then_some(PerfError::Differing(differing)))
    }

    /// The lines at the end.
    pub(super) fn text(&self) -> String {
        // The result is at the end.
        let mut text = text::cpu(self.cpu.0, self.cpu.1);
        let (idle, loaded) = self.latencies();
        if self.test.kind == TestKind::Latency {
            text.push_str(&text::latencies(&idle));
        } else {
            let format = Text::of_client(&self.test);
            for flow in self.flows().iter().filter(|flow| flow.flow != Flow::Latency) {
                // Of a test that was stopped the server's end may not be known.
                for (is_sender, results) in [(true, &flow.sent), (false, &flow.received)] {
                    if !results.is_empty() {
                        text.push_str(&format.sum(flow.flow, is_sender, results));
                    }
                }
            }
        }
        if self.load.is_some() {
            text.push_str(&text::idle_and_loaded(&idle, &loaded));
            text.push_str(&text::goodput("up", &self.flow(Flow::Upload).received));
            text.push_str(&text::goodput("down", &self.flow(Flow::Download).received));
        }
        if let Some(output) = &self.server_output {
            text.push_str("\nServer output:\n");
            text.push_str(output);
        }
        text
    }

    /// One object, with the keys of iperf3.
    pub(super) fn json(&self) -> Value {
        let about = About { label: &self.label, server: self.server, began: self.began };
        let mut all = json!({
            "start": json::start(&about, &self.test, &self.ends),
            "intervals": json::intervals(&self.test, &self.ends, &self.intervals),
            "end": self.json_end(),
        });
        if let Some(output) = &self.server_output {
            all["server_output_text"] = json!(output);
        }
        if let Some(problem) = self.problem() {
            all["error"] = json!(problem.to_string());
        }
        all
    }

    /// The sums at the end, with the keys of iperf3.
    pub(super) fn json_end(&self) -> Value {
        let (idle, loaded) = self.latencies();
        let mut end = json::end(&self.test, &self.ends, &self.flows(), &self.intervals, self.cpu);
        match self.load {
            Some(load) => {
                end["latency_idle"] = idle.json();
                end["latency_loaded"] = loaded.json();
                end["load"] = json!({ "start": load.full.as_secs_f64(), "end": load.until.as_secs_f64() });
            }
            None if self.test.kind == TestKind::Latency => end["latency"] = idle.json(),
            None => {}
        }
        end
    }
}
