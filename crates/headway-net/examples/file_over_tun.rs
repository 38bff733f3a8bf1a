//! A file from our TCP to the kernel's, over a TUN.
//!
//! ```sh
//! cargo build -p headway-net --example file_over_tun
//! sudo target/debug/examples/file_over_tun README.md
//! ```
//!
//! It needs root: `CAP_SYS_ADMIN` for a network namespace of its own, in which nothing of this machine's
//! network changes, and `CAP_NET_ADMIN` for the TUN in it.

use std::error::Error;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use headway_net::{Stack, StackConfig, TunCarrier, TunConfig};
use nix::sched::{CloneFlags, unshare};
use tokio::io::AsyncWriteExt as _;

/// Our address, and the kernel's at the other end of the TUN.
const OURS: &str = "10.77.2.2/24";
const KERNELS: &str = "10.77.2.1";

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args_os().nth(1).ok_or("expected a FILE to send")?);
    let file = std::fs::read(&path)?;
    // This thread's namespace, and that of the threads that it starts from here on.
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| format!("a network namespace needs root (CAP_SYS_ADMIN): {error}"))?;
    let received = transfer(&file)?;
    assert!(received == file, "what arrived is not what was sent");
    println!("{}: {} bytes arrived as they were sent", path.display(), received.len());
    Ok(())
}

/// Sends the file with our TCP; what the kernel's receives.
fn transfer(file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let config = TunConfig {
        device: "hw0".into(),
        address: OURS.parse()?,
        // The first address of the subnet is the kernel's.
        kernel: None,
        mtu: None,
        offload: false,
        only_peer: None,
    };
    let carrier = TunCarrier::open(&config)?;
    let addresses = vec![config.address.address()];
    let stack = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() })?;

    let listener = TcpListener::bind((KERNELS, 0))?;
    let address = listener.local_addr()?;
    let receiving = thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let mut received = Vec::new();
        listener.accept()?.0.read_to_end(&mut received)?;
        Ok(received)
    });

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let mut stream = stack.connect(address).await?;
        stream.write_all(file).await?;
        stream.shutdown().await?;
        drop(stream);
        stack.close(Duration::from_secs(5)).await
    })?;
    Ok(receiving.join().map_err(|_| "the receiver panicked")??)
}
