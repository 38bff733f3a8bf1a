//! smoltcp on a TAP: sends to the kernel's TCP, or receives from it, for a given time. See the README.

use std::error::Error;
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::time::{Duration, Instant as Clock};

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

const DEVICE: &str = "hw0";
const KERNELS: &str = "10.77.2.1/24";
const OURS: IpAddress = IpAddress::v4(10, 77, 2, 2);
const BUFFER: usize = 1 << 20;

/// `send|receive ADDRESS:PORT SECONDS`. Prints its thread when it is connected, then the bytes, the
/// nanoseconds and the CPU nanoseconds.
fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [direction, peer, seconds] = &words[..] else {
        return Err("expected send|receive ADDRESS:PORT SECONDS".into());
    };
    let sends = match direction.as_str() {
        "send" => true,
        "receive" => false,
        other => return Err(format!("{other:?}: expected send or receive").into()),
    };
    let time = Duration::from_secs_f64(seconds.parse()?);
    let mut device = TunTapInterface::new(DEVICE, Medium::Ethernet)?;
    for words in [&["address", "add", KERNELS, "dev", DEVICE][..], &["link", "set", DEVICE, "up"]] {
        if !Command::new("ip").args(words).status()?.success() {
            return Err(format!("ip {}: failed", words.join(" ")).into());
        }
    }
    let fd = device.as_raw_fd();
    let config = Config::new(EthernetAddress([2, 0, 0, 0, 0, 2]).into());
    let mut interface = Interface::new(config, &mut device, Instant::now());
    interface.update_ip_addrs(|addresses| {
        // There is a free slot for the first one.
        let _ = addresses.push(IpCidr::new(OURS, 24));
    });
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.connect(interface.context(), peer.parse::<std::net::SocketAddrV4>()?, 40_000)?;
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(socket);

    // The request to the kernel's side: whether it sends, and for how long.
    let mut request = vec![u8::from(!sends)];
    request.extend((time.as_nanos() as u64).to_be_bytes());
    let mut bytes = 0;
    let mut begun = None;
    let (started, before) = loop {
        let now = Instant::now();
        interface.poll(now, &mut device, &mut sockets);
        let socket = sockets.get_mut::<tcp::Socket<'_>>(handle);
        if begun.is_none() && socket.may_send() {
            socket.send_slice(&request)?;
            println!("{}", std::process::id());
            begun = Some((Clock::now(), processor()?));
        }
        if let Some((started, before)) = begun {
            if sends && socket.can_send() {
                bytes += socket.send(|room| (room.len(), room.len()))?;
            }
            while socket.can_recv() {
                bytes += socket.recv(|data| (data.len(), data.len()))?;
            }
            if !socket.may_recv() && socket.recv_queue() == 0 {
                break (started, before);
            }
            if sends && started.elapsed() >= time {
                socket.close();
            }
        }
        let delay = interface.poll_delay(now, &sockets);
        if delay.is_none_or(|delay| delay > smoltcp::time::Duration::ZERO) {
            wait(fd, delay)?;
        }
    };
    println!("{bytes} {} {}", started.elapsed().as_nanos(), processor()? - before);
    Ok(())
}

/// The CPU time of this single-threaded process in nanoseconds.
fn processor() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("/proc/self/schedstat is empty")?.parse()?)
}
