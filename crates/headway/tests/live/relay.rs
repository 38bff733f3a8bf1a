//! A box between two ends of TCP over UDP, which does something to what passes.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use headway_wire::{Ecn, IpHeader, checksum};

use crate::namespace::free_address;

/// Stands between an end that sends to [`Relay::address`] and one at another address of the loopback.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    ways: Vec<JoinHandle<()>>,
}

/// What the box does to a TCP segment on its way to the server (`true`) or back; whether it goes on.
type Mangle = fn(bool, &mut [u8]) -> bool;

impl Relay {
    pub(crate) fn new(client: SocketAddr, server: SocketAddr, mangle: Mangle) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let [near, far] = [free_address(), free_address()].map(|address| UdpSocket::bind(address).unwrap());
        let address = near.local_addr().unwrap();
        let carry = |there: bool, from: &UdpSocket, via: &UdpSocket, to: SocketAddr| {
            let (from, via) = (from.try_clone().unwrap(), via.try_clone().unwrap());
            from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let stop = stop.clone();
            thread::spawn(move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(len) = from.recv(&mut buffer) else { continue };
                    if mangle(there, &mut buffer[..len]) {
                        // A full buffer loses it.
                        let _ = via.send_to(&buffer[..len], to);
                    }
                }
            })
        };
        let ways = vec![carry(true, &near, &far, server), carry(false, &far, &near, client)];
        Self { address, stop, ways }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for way in self.ways.drain(..) {
            let _ = way.join();
        }
    }
}

/// The sum of a segment between two ends at 127.0.0.1: sound if nothing is damaged.
fn sum(segment: &[u8]) -> checksum::Sum {
    let loopback = [127, 0, 0, 1].into();
    let ip = IpHeader { src: loopback, dst: loopback, ecn: Ecn::NotEct, hop_limit: 64, identification: 0 };
    let mut sum = ip.pseudo_header_sum(6, segment.len());
    sum.add(checksum::sum(segment));
    sum
}

pub(crate) fn drops_damage(_: bool, segment: &mut [u8]) -> bool {
    sum(segment).is_sound()
}

/// Overwrites the options of HACK on SYNs to the server, as a firewall does with what it does not know,
/// and makes the MSS smaller.
pub(crate) fn strips_hack(there: bool, segment: &mut [u8]) -> bool {
    const SYN: u8 = 2;
    if !there || segment[13] & SYN == 0 {
        return true;
    }
    let mut at = 20;
    while at < usize::from(segment[12] >> 4) * 4 {
        let len = if segment[at] < 2 { 1 } else { usize::from(segment[at + 1]) };
        match segment[at] {
            2 => segment[at + 2..at + 4].copy_from_slice(&1200_u16.to_be_bytes()),
            14 | 253 => segment[at..at + len].fill(1),
            _ => {}
        }
        at += len;
    }
    segment[16..18].fill(0);
    let check = sum(segment).complement();
    segment[16..18].copy_from_slice(&check.to_be_bytes());
    true
}
