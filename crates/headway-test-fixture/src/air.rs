//! Wi-Fi cards in monitor mode at two ends, emulated: TAP devices with radiotap's link type in the network namespace of the
//! thread. What each card receives of a frame is up to the test.

use std::ffi::{c_int, c_ulong};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::process::say_skipped;
use crate::rng::Rng;

/// ARPHRD_IEEE80211_RADIOTAP.
pub const RADIOTAP: c_int = 803;

/// What `card` receives of a frame with its check sequence; `None`: nothing.
pub type Receive = fn(rng: &mut Rng, card: usize, frame: Vec<u8>) -> Option<Vec<u8>>;

/// The cards of two ends, on one channel.
#[derive(Debug)]
pub struct Air {
    cards: Arc<[Vec<Card>; 2]>,
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    ends: Vec<JoinHandle<()>>,
}

/// An interface, and the program's side of it; `None`: it is unplugged.
#[derive(Debug)]
struct Card {
    interface: String,
    /// It hands up check sequences.
    has_fcs: bool,
    device: Mutex<Option<File>>,
}

impl Air {
    /// With some cards at each end, which hand up check sequences or not. `None`, after saying so, where the user may not have it.
    pub fn start(cards: usize, has_fcs: bool, receive: Receive) -> Option<Self> {
        let cards = ["a", "b"].map(|end| {
            let card =
                |number| Card { interface: format!("hw{end}{number}"), has_fcs, device: Mutex::new(None) };
            (0..cards).map(card).collect::<Vec<_>>()
        });
        for card in cards.iter().flatten() {
            match open(&card.interface, RADIOTAP) {
                Ok(device) => *card.device.lock().expect("a lock") = Some(device),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    say_skipped("tun", &error.to_string());
                    return None;
                }
                Err(error) => {
                    say_skipped("root", &error.to_string());
                    return None;
                }
            }
        }
        let (cards, stop, sent) = (Arc::new(cards), Arc::new(AtomicBool::new(false)), Arc::default());
        let ends = [0, 1].map(|from: usize| {
            let seed = 80_211 + from as u64;
            eprintln!("seed {seed}");
            let (mut rng, cards, stop, sent) =
                (Rng::new(seed), Arc::clone(&cards), Arc::clone(&stop), Arc::clone(&sent));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if !carry(&cards, from, receive, &mut rng, &sent) {
                        thread::sleep(Duration::from_micros(200));
                    }
                }
            })
        });
        Some(Self { cards, stop, sent, ends: ends.into() })
    }

    /// The interfaces of end 0 or 1.
    pub fn interfaces(&self, end: usize) -> Vec<String> {
        self.cards[end].iter().map(|card| card.interface.clone()).collect()
    }

    /// How many frames both ends have sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Takes a card away.
    pub fn unplug(&self, end: usize, card: usize) {
        *self.cards[end][card].device.lock().expect("a lock") = None;
    }

    /// Brings it back.
    pub fn plug(&self, end: usize, card: usize) {
        let card = &self.cards[end][card];
        *card.device.lock().expect("a lock") = Some(open(&card.interface, RADIOTAP).expect("as before"));
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.ends.drain(..).for_each(|end| end.join().expect("its end"));
    }
}

/// A TAP device that is up, and whose link type is `kind`, in the namespace of this thread. It is gone when this is dropped.
pub fn open(name: &str, kind: c_int) -> io::Result<File> {
    const IFF_TAP: u16 = 2;
    const IFF_NO_PI: u16 = 0x1000;
    const TUNSETIFF: c_ulong = 0x4004_54ca;
    const TUNSETLINK: c_ulong = 0x4004_54cd;
    let device =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // `struct ifreq`: a name, and flags.
    let mut request = [0_u8; 40];
    request[..name.len()].copy_from_slice(name.as_bytes());
    request[16..18].copy_from_slice(&(IFF_TAP | IFF_NO_PI).to_ne_bytes());
    // SAFETY: the kernel reads and writes a `struct ifreq`, which is not longer; the other request takes a number.
    let outcomes = unsafe {
        let fd = device.as_raw_fd();
        [libc::ioctl(fd, TUNSETIFF as _, request.as_mut_ptr()), libc::ioctl(fd, TUNSETLINK as _, kind)]
    };
    if outcomes.contains(&-1) {
        return Err(io::Error::last_os_error());
    }
    let up = Command::new("ip").args(["link", "set", name, "up"]).output()?;
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    Ok(device)
}

/// Carries what an end has sent; returns whether that was something.
fn carry(cards: &[Vec<Card>; 2], from: usize, receive: Receive, rng: &mut Rng, sent: &AtomicU64) -> bool {
    let mut packet = vec![0; 4096];
    let mut has_carried = false;
    for card in &cards[from] {
        let read = card.device.lock().expect("a lock").as_mut().map(|device| device.read(&mut packet));
        let Some(Ok(len)) = read else { continue };
        has_carried = true;
        // What the kernel sends begins otherwise.
        let Some(mut frame) = frame_of(&packet[..len]) else { continue };
        let sequence = sent.fetch_add(1, Ordering::Relaxed) as u16;
        // The card's part of the header: the duration, and the sequence number.
        frame[22..24].copy_from_slice(&(sequence << 4).to_le_bytes());
        frame.extend(crc32fast::hash(&frame).to_le_bytes());
        // The end's own cards hear it too.
        cards[from].iter().for_each(|card| card.hand_up(&frame, rng));
        for (number, card) in cards[1 - from].iter().enumerate() {
            if let Some(received) = receive(rng, number, frame.clone()) {
                card.hand_up(&received, rng);
            }
        }
    }
    has_carried
}

/// The 802.11 frame that is injected, if it is one.
fn frame_of(packet: &[u8]) -> Option<Vec<u8>> {
    let [0, 0, len, 0, fields @ ..] = packet else { return None };
    let (header, frame) = packet.split_at_checked(usize::from(*len))?;
    assert!(fields.starts_with(&[0, 0x80, 0, 0]) || fields.starts_with(&[4, 0x80, 0, 0]), "TX flags");
    assert!(header.ends_with(&[8, 0]), "no ACK");
    assert!(frame.starts_with(&[8, 0]) && frame.len() <= 24 + 2304, "a data frame of {} bytes", frame.len());
    Some(frame.to_vec())
}

impl Card {
    /// Hands up a frame and what else is on the channel. A card does not know whose it is.
    fn hand_up(&self, frame: &[u8], rng: &mut Rng) {
        const FCS_AT_END: u8 = 0x10;
        const BAD_FCS: u8 = 0x40;
        let Some((end, fcs)) = frame.split_last_chunk() else { return };
        let is_bad = crc32fast::hash(end) != u32::from_le_bytes(*fcs);
        let flags = if self.has_fcs { FCS_AT_END } else { 0 } | if is_bad { BAD_FCS } else { 0 };
        // TSFT, flags and rate.
        let mut packet = vec![0, 0, 18, 0, 7, 0, 0, 0];
        packet.extend(rng.next().to_le_bytes());
        packet.extend([flags, 12]);
        packet.extend(if self.has_fcs { frame } else { end });
        if rng.one_in(10) {
            // The frame of another station, in which nothing is of this link.
            let mut foreign = packet.clone();
            rng.fill(&mut foreign[18..]);
            self.write(&foreign);
            let mut noise = vec![0; rng.below(100)];
            rng.fill(&mut noise);
            self.write(&noise);
        }
        self.write(&packet);
    }

    fn write(&self, packet: &[u8]) {
        if let Some(device) = &mut *self.device.lock().expect("a lock") {
            // Refused if it is shorter than the header of Ethernet.
            let _ = device.write(packet);
        }
    }
}

/// Half of the frames are hit by up to 8 wrong bits anywhere, and one in 40 is lost.
pub fn damage(rng: &mut Rng, _card: usize, mut frame: Vec<u8>) -> Option<Vec<u8>> {
    if rng.one_in(2) {
        for _ in 0..rng.between(1, 8) {
            rng.flip_bit(&mut frame);
        }
    }
    (!rng.one_in(40)).then_some(frame)
}
