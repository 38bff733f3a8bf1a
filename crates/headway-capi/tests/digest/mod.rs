//! A run of headway's simulator, with a digest of its packets.

use headway_scenario::{Defaults, Traces, read};
use headway_sim::race::{RunSettings, run_recorded};
use headway_sim::{Content, Passing, Tap};
use headway_tcp::Variant;

/// FNV-1a, as of the examples.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Tap for Digest {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.add(&passing.at.as_nanos().to_le_bytes());
        self.add(&[u8::from(passing.outbound)]);
        self.add(passing.packet);
    }
}

/// The time of the last byte in seconds, and the digest of all packets with their times, of one transfer by headway
/// over a link with these keys.
pub(crate) fn simulated(keys: &[(&str, &str)], bytes: u64, seed: u64) -> (f64, String) {
    let given = |name: &str| keys.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let settings = read(given, Defaults::Files, &Traces::refused("none")).expect("keys");
    let content = Content::generated(bytes);
    let settings = RunSettings { scenario: &settings.scenario, content: &content, seed, hash: false };
    let tap = Digest(0xcbf2_9ce4_8422_2325);
    let recording = run_recorded(settings, Variant::Headway, || (), tap).expect("a run");
    assert!(recording.outcome.metrics.finished);
    (recording.outcome.metrics.seconds, format!("{:016x}", recording.tap.0))
}
