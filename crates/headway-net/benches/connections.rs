//! Many connections between two stacks of one process, over UDP on the loopback: what an idle one keeps in memory, and how
//! many are opened in a second while those are there.
//!
//! ```sh
//! cargo bench -p headway-net --bench connections                          # 100,000 idle connections
//! cargo bench -p headway-net --bench connections -- --idle 0 --seconds 20
//! ```

#[expect(dead_code, reason = "shared with the tests over UDP")]
#[path = "../tests/udp/pair.rs"]
mod pair;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headway_net::TcpStream;
use headway_tcp::{Profile, Variant};
use headway_test_fixture::process::resident;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use pair::Pair;

const USAGE: &str = "[--idle COUNT] [--seconds S]";

/// Connections from one address to one port at most: there are 16,384 ports to open them from.
const EACH: usize = 10_000;

/// How many are opened at the same time.
const AT_ONCE: usize = 64;

type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("connections: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let (mut idle, mut seconds) = (100_000_usize, 10_u64);
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word}: expected a value; {USAGE}"))?;
        match word.as_str() {
            "--idle" => idle = value.parse()?,
            "--seconds" => seconds = value.parse()?,
            _ => return Err(format!("{word:?}: expected {USAGE}").into()),
        }
    }
    if seconds == 0 {
        return Err("--seconds 0: expected at least 1".into());
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure(idle, seconds))
}

async fn measure(idle: usize, seconds: u64) -> Result<(), Error> {
    let pair = Arc::new(Pair::new(Variant::Headway.apply(Profile::modern())));
    let before = resident();
    let mut open = open(&pair, idle).await?;
    if let Some(each) = (resident() - before).checked_div(2 * idle) {
        println!("idle: {idle} connections, {each} bytes each end");
    }
    let before = resident();
    come_and_go(&pair, Duration::from_secs(seconds)).await?;
    let left = pair.server.connections() - idle;
    if let Some(each) = resident().saturating_sub(before).checked_div(left) {
        println!("left in TIME-WAIT: {left} connections, {each} bytes each");
    }
    for (client, server) in &mut open {
        exchange(client, server).await?;
    }
    Ok(())
}

/// Opens `count` connections; each carries a request and its answer, and stays open.
async fn open(pair: &Pair, count: usize) -> Result<Vec<(TcpStream, TcpStream)>, Error> {
    let mut open = Vec::with_capacity(count);
    for port in 0..count.div_ceil(EACH) {
        let address = (pair.address.ip(), 1000 + u16::try_from(port)?).into();
        let listener = pair.server.listen(address, AT_ONCE)?;
        for _ in 0..EACH.min(count - open.len()) {
            let (client, server) = tokio::join!(pair.client.connect(address), listener.accept());
            let (mut client, mut server) = (client?, server?.0);
            exchange(&mut client, &mut server).await?;
            open.push((client, server));
        }
    }
    Ok(open)
}

/// Opens and closes connections during `time`.
async fn come_and_go(pair: &Arc<Pair>, time: Duration) -> Result<(), Error> {
    let (cpu, start) = (cpu_time(), now());
    let served = tokio::spawn(serve(pair.clone()));
    let mut tasks = JoinSet::new();
    for _ in 0..AT_ONCE {
        tasks.spawn(ask(pair.clone(), start + time));
    }
    let mut count = 0;
    while let Some(done) = tasks.join_next().await {
        count += done??;
    }
    served.abort();
    let (wall, cpu) = (start.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    println!(
        "new: {:.0} a second, {:.0} us of CPU time each, both ends and their programs",
        count as f64 / wall,
        cpu * 1e6 / count as f64
    );
    Ok(())
}

/// A request and its answer.
async fn exchange(client: &mut TcpStream, server: &mut TcpStream) -> Result<(), Error> {
    let mut received = [0; 5];
    client.write_all(b"hello").await?;
    server.read_exact(&mut received).await?;
    server.write_all(&received).await?;
    client.read_exact(&mut received).await?;
    if &received == b"hello" { Ok(()) } else { Err(format!("{received:?}: expected hello").into()) }
}

/// Opens connections one after the other until `until`, each for one request; returns their number.
async fn ask(pair: Arc<Pair>, until: Instant) -> Result<usize, Error> {
    let mut count = 0;
    while now() < until {
        let mut stream = pair.client.connect(pair.address).await?;
        stream.write_all(b"hello").await?;
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await?;
        if received != b"hello" {
            return Err(format!("{received:?}: expected hello").into());
        }
        count += 1;
    }
    Ok(count)
}

/// Answers each connection's request, and closes first, so that its end waits in TIME-WAIT.
async fn serve(pair: Arc<Pair>) -> Result<(), Error> {
    loop {
        let (mut stream, _) = pair.listener.accept().await?;
        tokio::spawn(async move {
            let mut received = [0; 5];
            stream.read_exact(&mut received).await?;
            stream.write_all(&received).await?;
            stream.shutdown().await
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn now() -> Instant {
    Instant::now()
}

/// The CPU time of this process, kernel included.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
