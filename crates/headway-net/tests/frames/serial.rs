//! A serial line without a frame check, as two pseudo-terminals: bytes on it are wrong, missing and added. A device that is
//! missing, none, or unplugged and back.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use headway_net::{ModemConfig, Stack};
use headway_test_fixture::rng::Rng;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use super::{both_ways, name};

/// A serial line between two devices.
struct Line {
    folder: TempDir,
    stop: Arc<AtomicBool>,
    /// The other side of each device; `None`: it is unplugged.
    plugs: Arc<[Mutex<Option<OwnedFd>>; 2]>,
    directions: Vec<JoinHandle<()>>,
}

impl Line {
    /// `mangle` makes what is received of some bytes.
    fn start(mangle: fn(&mut Rng, &[u8]) -> Vec<u8>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let plugs = Arc::new([const { Mutex::new(None) }; 2]);
        let directions = [0, 1].map(|from: usize| {
            let (stop, plugs) = (stop.clone(), plugs.clone());
            let seed = 57_600 + from as u64;
            eprintln!("seed {seed}");
            let mut rng = Rng::new(seed);
            thread::spawn(move || {
                let mut chunk = [0; 512];
                while !stop.load(Ordering::Relaxed) {
                    let read =
                        plugs[from].lock().unwrap().as_ref().map(|plug| rustix::io::read(plug, &mut chunk));
                    let Some(Ok(len)) = read else {
                        thread::sleep(Duration::from_millis(1));
                        continue;
                    };
                    let mut bytes = mangle(&mut rng, &chunk[..len]);
                    // The buffer of a pseudo-terminal is small.
                    while !bytes.is_empty() && !stop.load(Ordering::Relaxed) {
                        let plug = plugs[1 - from].lock().unwrap();
                        let Some(plug) = &*plug else { break };
                        match rustix::io::write(plug, &bytes) {
                            Ok(len) => drop(bytes.drain(..len)),
                            Err(rustix::io::Errno::AGAIN) => thread::sleep(Duration::from_millis(1)),
                            Err(_) => break,
                        }
                    }
                }
            })
        });
        let line = Self { folder, stop, plugs, directions: directions.into() };
        (0..2).for_each(|end| line.plug(end));
        line
    }

    fn device(&self, end: usize) -> PathBuf {
        self.folder.path().join(format!("tty{end}"))
    }

    fn plug(&self, end: usize) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let plug = openpt(flags).unwrap();
        grantpt(&plug).unwrap();
        unlockpt(&plug).unwrap();
        rustix::io::ioctl_fionbio(&plug, true).unwrap();
        symlink(ptsname(&plug, Vec::new()).unwrap().to_str().unwrap(), self.device(end)).unwrap();
        *self.plugs[end].lock().unwrap() = Some(plug);
    }

    fn unplug(&self, end: usize) {
        fs::remove_file(self.device(end)).unwrap();
        *self.plugs[end].lock().unwrap() = None;
    }

    fn stacks(&self) -> [Stack; 2] {
        [0, 1].map(|own| super::start(modem(self.device(own)), own as u8 + 1, 1500))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.directions.drain(..).for_each(|direction| direction.join().unwrap());
    }
}

fn modem(device: PathBuf) -> ModemConfig {
    ModemConfig::Serial { device, speed: 57_600, turnaround: "0s".parse().unwrap() }
}

/// One byte in 1000 is wrong, one in 5000 is missing, and one in 5000 is added.
fn damage(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut received = Vec::new();
    for byte in bytes {
        match rng.below(5000_u32) {
            0 => {}
            1 => received.extend([rng.next() as u8, *byte]),
            2..=6 => received.push(rng.next() as u8),
            _ => received.push(*byte),
        }
    }
    received
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_wrong_missing_and_added() {
    let line = Line::start(damage);
    for end in both_ways(&line.stacks(), 150_000, || {}).await {
        assert!(end.damaged_received > 20 && end.damage_retransmissions > 0, "{end:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_survive_a_device_that_is_unplugged_and_back() {
    let line = Line::start(|_, bytes| bytes.to_vec());
    both_ways(&line.stacks(), 300_000, || {
        line.unplug(0);
        line.plug(0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_without_a_frame_as_at_a_wrong_speed_are_named() {
    let line = Line::start(|rng, bytes| (0..50 * bytes.len()).map(|_| rng.next() as u8).collect());
    let [client, server] = line.stacks();
    let address = SocketAddr::new(name(2), 80);
    let _listener = server.listen(address, 1).unwrap();
    let said = async {
        while !server.trouble().is_some_and(|trouble| trouble.contains("the same speed")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        opened = client.connect(address) => panic!("{:?}", opened.map(drop)),
        () = said => {}
    }
}

#[test]
fn a_device_that_is_missing_or_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "text").unwrap();
    for (device, why) in [(folder.path().join("tty9"), "No such file"), (file, "it is no serial device")] {
        let error = super::open(modem(device.clone()), 1, 1500).err().unwrap().to_string();
        for piece in [&device.display().to_string()[..], ":57600", why, "expected a serial device"] {
            assert!(error.contains(piece), "{error}");
        }
    }
}
