//! A relay between two ends of TCP over UDP, which does something to what passes.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Brings datagrams from one end to the other until it is dropped.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<AtomicBool>,
    directions: Vec<JoinHandle<()>>,
}

impl Relay {
    /// What end 0 sends to `inlets[0]` leaves from `inlets[1]` towards end 1, and the other way round.
    /// `mangle` makes for each end what is done to its datagrams: it is given the datagram and the socket
    /// that it leaves by, and says whether it goes on.
    pub fn new<F>(inlets: [SocketAddr; 2], ends: [SocketAddr; 2], mangle: impl Fn(usize) -> F) -> Self
    where
        F: FnMut(&mut [u8], &UdpSocket) -> bool + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let sockets = inlets.map(|inlet| {
            let socket = UdpSocket::bind(inlet).expect("a free address");
            socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a time that is not zero");
            socket
        });
        let directions = [0, 1].map(|from| {
            let [input, output] = [from, 1 - from].map(|end| sockets[end].try_clone().expect("a copy"));
            let (stop, to, mut mangle) = (stop.clone(), ends[1 - from], mangle(from));
            thread::spawn(move || {
                let mut buffer = [0; 1 << 14];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(len) = input.recv(&mut buffer) else { continue };
                    if mangle(&mut buffer[..len], &output) {
                        // A full buffer loses it.
                        let _ = output.send_to(&buffer[..len], to);
                    }
                }
            })
        });
        Self { stop, directions: directions.into() }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for direction in self.directions.drain(..) {
            let _ = direction.join();
        }
    }
}
