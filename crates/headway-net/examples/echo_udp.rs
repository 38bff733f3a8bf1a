//! An echo server and its client, over UDP on the loopback. Needs no privilege.
//!
//! ```sh
//! cargo run -p headway-net --example echo_udp
//! ```

use std::error::Error;
use std::time::Duration;

use headway_net::{Stack, StackConfig, TcpListener, UdpCarrier, UdpConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let any_port = "127.0.0.1:0".parse()?;

    // The server's carrier takes datagrams from any peer; a stack drives a TCP host on it in its own thread.
    let carrier = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(any_port, any_port) })?;
    let server_at = carrier.local();
    let addresses = vec![carrier.inner_address()];
    let server = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() })?;
    // The TCP port is one of the stack's own, and has nothing to do with the UDP port below it.
    let address = (server_at.ip(), 7).into();
    tokio::spawn(echo(server.listen(address, 16)?));

    let carrier = UdpCarrier::open(&UdpConfig::new(any_port, server_at))?;
    let addresses = vec![carrier.inner_address()];
    let client = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() })?;
    let mut stream = client.connect(address).await?;
    stream.write_all(b"hello over TCP over UDP").await?;
    // The end of our stream; the other direction stays open.
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    println!("{} says: {answer}", stream.peer_addr()?);
    assert_eq!(answer, "hello over TCP over UDP");
    // Waits until the connections have ended.
    client.close(Duration::from_secs(5)).await?;
    Ok(())
}

/// Sends back what each connection brings.
async fn echo(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut from, mut to) = tokio::io::split(stream);
            tokio::io::copy(&mut from, &mut to).await?;
            to.shutdown().await
        });
    }
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
