//! The measured subject, in its own process. It prints the thread to observe, then its measurements.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use headway_net::{Stack, StackConfig, TunCarrier, TunConfig};
use headway_tcp::{Profile, Variant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

use crate::sample::Sample;
use crate::traffic::{self, Direction};
use crate::{Error, cpu, peer};

/// `KIND DIRECTION-OR-VARIANT PEER SECONDS`.
pub(crate) fn run(words: &[&str]) -> Result<(), Error> {
    let &[kind, what, address, seconds] = words else {
        return Err("subject: expected KIND WHAT PEER SECONDS".into());
    };
    let time = Duration::from_secs_f64(seconds.parse()?);
    match kind {
        "tun" => tun(false, Direction::parse(what)?, address.parse()?, time),
        "tun-offload" => tun(true, Direction::parse(what)?, address.parse()?, time),
        "pair" => pair(what.parse()?, time),
        "kernel" => kernel(Direction::parse(what)?, address.parse()?, time),
        _ => Err(format!("{kind:?}: expected tun, tun-offload, pair or kernel").into()),
    }
}

fn start(device: &str, address: &str, offload: bool, variant: Variant) -> Result<Stack, Error> {
    let address = address.parse()?;
    let config =
        TunConfig { device: device.into(), address, kernel: None, mtu: None, offload, only_peer: None };
    let carrier = TunCarrier::open(&config)?;
    let addresses = vec![config.address.address()];
    let profile = Some(variant.apply(Profile::modern()));
    Ok(Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() })?)
}

fn tun(offload: bool, direction: Direction, address: SocketAddr, time: Duration) -> Result<(), Error> {
    let stack = start("hw0", "10.77.2.2/24", offload, Variant::Modern)?;
    let mut stream = Blocking::connect(&stack, address)?;
    measure(&say_threads()?, || traffic::request(&mut stream, direction, time, Blocking::shutdown))
}

/// One stack sends to the other, through the kernel's forwarding.
fn pair(variant: Variant, time: Duration) -> Result<(), Error> {
    let address: SocketAddr = "10.77.3.2:9000".parse()?;
    let sender = start("hw0", "10.77.2.2/24", false, variant)?;
    let receiver = start("hw1", "10.77.3.2/24", false, variant)?;
    let listener = receiver.listen(address, 1)?;
    let answering = thread::spawn(move || -> io::Result<()> {
        let runtime = runtime()?;
        let (stream, _) = runtime.block_on(listener.accept())?;
        let mut stream = Blocking { stream, runtime };
        traffic::answer(&mut stream)?;
        stream.shutdown()
    });
    let mut stream = Blocking::connect(&sender, address)?;
    measure(&say_threads()?, || traffic::request(&mut stream, Direction::Send, time, Blocking::shutdown))?;
    Ok(answering.join().map_err(|_| "the receiver panicked")??)
}

fn kernel(direction: Direction, address: SocketAddr, time: Duration) -> Result<(), Error> {
    let mut stream = TcpStream::connect(address)?;
    peer::use_cubic(&stream)?;
    println!("{}", std::process::id());
    let end = |stream: &mut TcpStream| stream.shutdown(Shutdown::Write);
    measure(&[std::process::id()], || traffic::request(&mut stream, direction, time, end))
}

/// The stacks' threads, after they have started; prints the first.
fn say_threads() -> Result<Vec<u32>, Error> {
    let threads = cpu::threads(cpu::STACK)?;
    println!("{}", threads.first().ok_or("no stack runs")?);
    Ok(threads)
}

/// Prints the bytes, the time and the CPU time of the threads.
fn measure(threads: &[u32], work: impl FnOnce() -> io::Result<u64>) -> Result<(), Error> {
    let run = || threads.iter().map(|&thread| cpu::of_thread(thread)).collect::<Result<Vec<u64>, Error>>();
    let (before, started) = (run()?, traffic::now());
    let bytes = work()?;
    let nanos = started.elapsed().as_nanos() as u64;
    let cpu = run()?.iter().zip(before).map(|(after, before)| after - before).collect();
    println!("{}", Sample { bytes, nanos, cpu }.line());
    Ok(())
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().build()
}

/// A connection of the stack, with the interface of a kernel socket.
struct Blocking {
    stream: headway_net::TcpStream,
    runtime: Runtime,
}

impl Blocking {
    fn connect(stack: &Stack, address: SocketAddr) -> io::Result<Self> {
        let runtime = runtime()?;
        Ok(Self { stream: runtime.block_on(stack.connect(address))?, runtime })
    }

    fn shutdown(&mut self) -> io::Result<()> {
        self.runtime.block_on(self.stream.shutdown())
    }
}

impl Read for Blocking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.runtime.block_on(self.stream.read(buffer))
    }
}

impl Write for Blocking {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.runtime.block_on(self.stream.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
