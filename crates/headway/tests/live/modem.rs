//! Frames through a software modem (`reference/modem`), in real time: both directions are damaged, wherever it falls.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::say_skipped;

use crate::namespace::HEADWAY;
use crate::udp::{start, succeed, talk};

struct Modem(Child);

static SOURCES: LazyLock<PathBuf> =
    LazyLock::new(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/modem"));

/// Built once; or why not.
static BUILT: LazyLock<Result<(), String>> = LazyLock::new(|| {
    let built = Command::new("make")
        .arg("-s")
        .arg("-C")
        .arg(&*SOURCES)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&built.stderr);
    if built.status.success() { Ok(()) } else { Err(said.lines().next().unwrap_or_default().to_owned()) }
});

impl Modem {
    /// Between the sockets `near` and `far` of `folder`; `None` where it cannot be built.
    fn start(folder: &Path, channel: &[&str]) -> Option<Self> {
        if let Err(why) = &*BUILT {
            say_skipped("liquid", why);
            return None;
        }
        let mut child = Command::new(SOURCES.join("build/modem"))
            .args(["live", "--near", "unix:near", "--far", "unix:far", "--rate", "2mbit"])
            .args(channel)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Self(child))
    }
}

impl Drop for Modem {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Copies `len` bytes each way.
fn copies_both_ways(channel: &[&str], len: usize) {
    let folder = tempfile::tempdir().unwrap();
    let Some(_modem) = Modem::start(folder.path(), channel) else { return };
    let socket = |name: &str| format!("unix:{}", folder.path().join(name).display());
    let (up, down) = (Pattern(41).bytes(0, len), Pattern(42).bytes(0, len));
    let end = |own: &str, modem: &str, address: &str, peer: &str, rest: &[&str]| {
        let (own, modem) = (socket(own), socket(modem));
        let frames = ["nc", "--frames", &own, &modem, "--address", address, "--peer-address", peer];
        start(&[&frames[..], rest].concat())
    };
    let server = end("a", "near", "10.77.2.1", "10.77.2.2", &["--listen", "7"]);
    let client = end("b", "far", "10.77.2.2", "10.77.2.1", &["--timeout", "2min", "10.77.2.1", "7"]);
    let serving = std::thread::spawn({
        let down = down.clone();
        move || talk(server, down)
    });
    let at_client = succeed(talk(client, up.clone()));
    let at_server = succeed(serving.join().unwrap());
    assert!(at_client == down && at_server == up, "{HEADWAY}: {channel:?}");
}

/// A quarter of the frames arrive intact.
#[test]
fn noise() {
    copies_both_ways(&["--snr", "11dB"], 300_000);
}

/// Hardly a frame arrives intact, of either direction.
#[test]
fn multipath() {
    copies_both_ways(&["--snr", "20dB", "--channel", "multipath"], 100_000);
}
