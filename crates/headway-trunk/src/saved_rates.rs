//! What the links to peers carried, kept across restarts: a session whose rate is not in the configuration starts from the last
//! one's (Careful Resume, RFC 9959).
//!
//! The file is a cache: what is wrong with it is logged, and the gateway starts as without it. It holds nothing that a peer
//! has said, only what this gateway has measured.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use headway_tcp::PathMemory;
use headway_tcp::congestion::StartEstimate;
use headway_units::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};

/// Of the format. Files of others are not read.
const VERSION: u32 = 1;
/// A file has some 150 bytes for each peer; a longer one is not this gateway's.
const LONGEST: u64 = 1 << 20;

/// The file, and what it says or is to say.
#[derive(Debug)]
pub(crate) struct SavedRates {
    path: PathBuf,
    state: State,
    /// A write failed, which the log says once.
    has_failed: bool,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct State {
    version: u32,
    #[serde(default, rename = "peer")]
    peers: Vec<SavedRate>,
}

/// What the link to one peer carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SavedRate {
    /// Whose link.
    pub(crate) public_key: String,
    /// The bandwidth that the congestion controller measured.
    pub(crate) bits_per_second: u64,
    /// The minimum RTT at that time.
    pub(crate) min_rtt_micros: u64,
    /// When something was last sent over the path: seconds since 1970.
    pub(crate) measured: u64,
}

impl SavedRates {
    /// Reads the file at `path`. What cannot be used of it is logged with the reason.
    pub(crate) fn load(path: PathBuf) -> Self {
        let state = match read(&path) {
            Ok(state) => state,
            Err(reason) => {
                tracing::warn!(path = %path.display(), reason, "saved rates are not used");
                State::default()
            }
        };
        Self { path, state, has_failed: false }
    }

    /// What a session with this peer starts from. `now`, of the clock of its stack, is `today`, in seconds since 1970.
    pub(crate) fn estimate(&self, public_key: &str, now: Instant, today: u64) -> Option<StartEstimate> {
        let saved = self.state.peers.iter().find(|saved| saved.public_key == public_key)?;
        let reason = match today.checked_sub(saved.measured) {
            None => "it was measured in the future",
            Some(age) if Duration::from_secs(age) >= PathMemory::LIFETIME => "it is too old",
            Some(_) if saved.bits_per_second == 0 || saved.min_rtt_micros == 0 => "it is zero",
            Some(age) => {
                let expires = now + (PathMemory::LIFETIME - Duration::from_secs(age));
                let rate = Rate::from_bits_per_second(saved.bits_per_second);
                let min_rtt = Duration::from_micros(saved.min_rtt_micros);
                return Some(StartEstimate::measured(rate, min_rtt, expires));
            }
        };
        tracing::info!(public_key, reason, "a saved rate is not used");
        None
    }

    /// Writes what was measured, if anything is new. Peers of which nothing is known any more are forgotten.
    pub(crate) fn store(&mut self, measured: impl Iterator<Item = SavedRate>) {
        let mut peers: Vec<SavedRate> = measured.collect();
        let is_measured = |known: &SavedRate| peers.iter().any(|new| new.public_key == known.public_key);
        let kept: Vec<_> = self.state.peers.iter().filter(|known| !is_measured(known)).cloned().collect();
        peers.extend(kept);
        let state = State { version: VERSION, peers };
        if state == self.state {
            return;
        }
        self.state = state;
        if let Err(error) = write(&self.path, &self.state) {
            if !std::mem::replace(&mut self.has_failed, true) {
                tracing::warn!(path = %self.path.display(), %error, "rates cannot be saved");
            }
        } else {
            self.has_failed = false;
        }
    }
}

/// The time now, in seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "ages across restarts are of the clock on the wall")]
pub(crate) fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(StdDuration::ZERO).as_secs()
}

/// A file that is not there says nothing.
fn read(path: &Path) -> Result<State, String> {
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::default()),
        opened => opened.map_err(|error| error.to_string())?,
    };
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    match table.get("version").and_then(toml::Value::as_integer) {
        Some(version) if version == i64::from(VERSION) => {}
        Some(version) => return Err(format!("it is of version {version}: expected {VERSION}")),
        None => return Err(format!("it has no version: expected {VERSION}")),
    }
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

/// The file is the old one or the new one at any time, and whole.
fn write(path: &Path, state: &State) -> std::io::Result<()> {
    let text = toml::to_string(state).map_err(std::io::Error::other)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::log::Log;

    use super::*;

    const NOW: Instant = Instant::ZERO;

    fn saved(measured: u64) -> SavedRate {
        SavedRate { public_key: "k".into(), bits_per_second: 10_000_000, min_rtt_micros: 600_000, measured }
    }

    #[test]
    fn what_was_measured_is_there_after_a_restart_for_ten_minutes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rates.toml");
        let mut rates = SavedRates::load(path.clone());
        assert_eq!(rates.estimate("k", NOW, 1000), None, "there is no file yet");
        rates.store([saved(1000)].into_iter());
        let again = SavedRates::load(path);
        let rate = Rate::from_bits_per_second(10_000_000);
        let expected = |age| {
            let expires = NOW + (PathMemory::LIFETIME - Duration::from_secs(age));
            Some(StartEstimate::measured(rate, Duration::from_millis(600), expires))
        };
        assert_eq!(again.estimate("k", NOW, 1000), expected(0));
        assert_eq!(again.estimate("k", NOW, 1599), expected(599));
        let log = Log::up_to(tracing::Level::INFO);
        let _guard = tracing::subscriber::set_default(log.clone());
        assert_eq!([again.estimate("k", NOW, 1600), again.estimate("k", NOW, 999)], [None, None]);
        assert_eq!(again.estimate("other", NOW, 1000), None);
        let said = log.lines("").join("\n");
        assert!(said.contains("too old") && said.contains("in the future"), "{said}");
    }

    #[test]
    fn what_is_wrong_with_the_file_is_said_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rates.toml");
        for (text, reason) in [
            ("version = 2\n", "of version 2"),
            ("", "no version"),
            ("version = 1\n[[peer]]\npublic-key = 'k'\n", "bits-per-second"),
            ("version = 1\nother = 3\n", "other"),
            ("\u{0}\u{1}not toml", "reason="),
            ("version = 1\n[[peer]]\npublic-key = 'k'\nbits-per-second = -1\n", "invalid value"),
        ] {
            fs::write(&path, text).expect("a file");
            let log = Log::up_to(tracing::Level::WARN);
            let _guard = tracing::subscriber::set_default(log.clone());
            assert_eq!(SavedRates::load(path.clone()).estimate("k", NOW, 0), None);
            let said = log.lines("").join("\n");
            assert!(said.contains("are not used") && said.contains(reason), "{text:?}: {said}");
        }
        fs::write(&path, [0xff, 0xfe]).expect("a file");
        assert_eq!(SavedRates::load(path.clone()).state, State::default());
        assert_eq!(SavedRates::load(folder.path().into()).state, State::default(), "a folder");
    }

    #[test]
    fn a_peer_of_which_nothing_is_new_keeps_its_entry() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rates.toml");
        let mut rates = SavedRates::load(path.clone());
        rates.store([saved(1000)].into_iter());
        rates.store([SavedRate { public_key: "other".into(), ..saved(2000) }].into_iter());
        let again = SavedRates::load(path);
        assert!(again.estimate("k", NOW, 1100).is_some() && again.estimate("other", NOW, 2100).is_some());
    }

    #[test]
    fn where_it_cannot_be_written_the_gateway_goes_on() {
        let log = Log::up_to(tracing::Level::WARN);
        let _guard = tracing::subscriber::set_default(log.clone());
        let mut rates = SavedRates::load("/nowhere/rates.toml".into());
        rates.store([saved(1)].into_iter());
        rates.store([saved(2)].into_iter());
        assert_eq!(log.lines("cannot be saved").len(), 1);
    }
}
