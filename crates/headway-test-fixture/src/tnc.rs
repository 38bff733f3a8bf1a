//! Two TNCs that speak KISS over TCP, emulated: what is received of a frame is up to the test.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::rng::Rng;

const FEND: u8 = 0xc0;
const FESC: u8 = 0xdb;
/// What is most of a frame on the air: AX.25's header and 255 bytes of information.
const LONGEST: usize = 16 + 255;

/// Two TNCs whose radios hear each other.
#[derive(Debug)]
pub struct Tncs {
    places: [SocketAddr; 2],
    stop: Arc<AtomicBool>,
    /// The connection of each end.
    open: Arc<[Mutex<Option<TcpStream>>; 2]>,
    ends: Vec<JoinHandle<()>>,
}

impl Tncs {
    /// `mangle` makes what is received of a frame.
    pub fn start(mangle: fn(&mut Rng, Vec<u8>) -> Vec<Vec<u8>>) -> Self {
        let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let places = [0, 1].map(|end: usize| listeners[end].local_addr().expect("an address"));
        let stop = Arc::new(AtomicBool::new(false));
        let open = Arc::new([const { Mutex::new(None) }; 2]);
        let ends = listeners.into_iter().enumerate().map(|(end, listener)| {
            let (stop, open) = (stop.clone(), open.clone());
            let seed = 1200 + end as u64;
            eprintln!("seed {seed}");
            let mut rng = Rng::new(seed);
            thread::spawn(move || {
                loop {
                    let Ok((mut stream, _)) = listener.accept() else { continue };
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    *open[end].lock().expect("a lock") = Some(stream.try_clone().expect("a copy"));
                    each_frame(&mut stream, |frame| {
                        assert!(frame.len() <= LONGEST, "{} bytes", frame.len());
                        for received in mangle(&mut rng, frame) {
                            if let Some(other) = &mut *open[1 - end].lock().expect("a lock") {
                                let _ = other.write_all(&encoded(&mut rng, &received));
                            }
                        }
                    });
                    *open[end].lock().expect("a lock") = None;
                }
            })
        });
        let ends = ends.collect();
        Self { places, stop, open, ends }
    }

    /// Where each of them is.
    pub fn places(&self) -> [SocketAddr; 2] {
        self.places
    }

    /// All connections end, as if the programs had ended and started again.
    pub fn restart(&self) {
        for end in &*self.open {
            if let Some(stream) = &*end.lock().expect("a lock") {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

impl Drop for Tncs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.restart();
        // Each waits for a connection.
        self.places.iter().for_each(|place| drop(TcpStream::connect(place)));
        self.ends.drain(..).for_each(|end| end.join().expect("its end"));
    }
}

/// Calls `take` with each frame, until the stream ends.
fn each_frame(stream: &mut TcpStream, mut take: impl FnMut(Vec<u8>)) {
    let (mut frame, mut is_escaped, mut chunk) = (Vec::new(), false, [0; 512]);
    while let Ok(len @ 1..) = stream.read(&mut chunk) {
        for byte in &chunk[..len] {
            match (std::mem::replace(&mut is_escaped, *byte == FESC), *byte) {
                (false, FEND) if frame.is_empty() => {}
                (false, FEND) => {
                    let whole = std::mem::take(&mut frame);
                    assert_eq!(whole[0], 0, "data at port 0");
                    take(whole[1..].to_vec());
                }
                (false, FESC) => {}
                (false, byte) => frame.push(byte),
                (true, 0xdc) => frame.push(FEND),
                (true, 0xdd) => frame.push(FESC),
                (true, byte) => panic!("{byte:#x} is escaped"),
            }
        }
    }
}

/// A received frame, with noise before it now and then.
fn encoded(rng: &mut Rng, frame: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    if rng.one_in(10) {
        bytes.extend((0..rng.below(50_usize)).map(|_| rng.next() as u8));
    }
    bytes.extend([FEND, 0]);
    for byte in frame {
        match *byte {
            FEND => bytes.extend([FESC, 0xdc]),
            FESC => bytes.extend([FESC, 0xdd]),
            byte => bytes.push(byte),
        }
    }
    bytes.push(FEND);
    bytes
}

/// A frame that is hit now and then, cut short, split in two, or lost.
pub fn damage(rng: &mut Rng, mut frame: Vec<u8>) -> Vec<Vec<u8>> {
    if rng.one_in(3) {
        for _ in 0..rng.between(1, 4) {
            rng.flip_bit(&mut frame);
        }
    }
    match rng.below(40_u32) {
        0 => vec![],
        1 => vec![frame[..rng.below(frame.len())].to_vec()],
        2 => {
            let (one, other) = frame.split_at(rng.below(frame.len()));
            vec![one.to_vec(), other.to_vec()]
        }
        _ => vec![frame],
    }
}
