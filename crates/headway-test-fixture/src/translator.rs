//! An address translator for UDP, as home routers have one.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Brings the datagrams of any number of hosts to one server, each from a port of its own at one address, until it
/// is dropped.
#[derive(Debug)]
pub struct Translator {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Translator {
    /// Hosts send to `inlet`; their datagrams leave from ports at `outside`, to `server`. All ports are forgotten each time
    /// that this number of datagrams has passed.
    pub fn new(inlet: SocketAddr, outside: IpAddr, server: SocketAddr, lifetime: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let inside = UdpSocket::bind(inlet).expect("a free address");
        inside.set_read_timeout(Some(Duration::from_millis(20))).expect("a time that is not zero");
        let thread = thread::spawn({
            let stop = stop.clone();
            move || {
                let mut ports = BTreeMap::new();
                let mut buffer = [0; 2048];
                let mut passed = 0;
                while !stop.load(Ordering::Relaxed) {
                    let Ok((len, host)) = inside.recv_from(&mut buffer) else { continue };
                    if passed == lifetime {
                        (passed, ports) = (0, BTreeMap::new());
                    }
                    passed += 1;
                    let port = ports.entry(host).or_insert_with(|| Port::new(&inside, host, outside, server));
                    // A full buffer loses it.
                    let _ = port.socket.send(&buffer[..len]);
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The port of one host; what arrives there goes to the host until it is dropped.
struct Port {
    socket: UdpSocket,
    stop: Arc<AtomicBool>,
}

impl Port {
    fn new(inside: &UdpSocket, host: SocketAddr, outside: IpAddr, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind((outside, 0)).expect("a free port");
        socket.connect(server).expect("a server on this machine");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time that is not zero");
        let stop = Arc::new(AtomicBool::new(false));
        let [input, output] = [&socket, inside].map(|socket| socket.try_clone().expect("a copy"));
        thread::spawn({
            let stop = stop.clone();
            move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(len) = input.recv(&mut buffer) {
                        let _ = output.send_to(&buffer[..len], host);
                    }
                }
            }
        });
        Self { socket, stop }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
