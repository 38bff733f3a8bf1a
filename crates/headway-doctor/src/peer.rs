//! The two ends of `headway doctor --connect` and `--listen`: each reports the other's packets that it
//! received.
//!
//! The connecting end sends a [`Request`], followed by padding so that some of its segments can be sent
//! damaged. When the other end has all of it, it answers with what it received, and the same amount of
//! padding.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use headway_command::notice;
use headway_transport::{Listener, Stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::watch::{PeerRecord, Records};

const VERSION: u32 = 1;
/// Bytes of padding after a message: more than ten segments of any usual size.
const FILLING: usize = 20_000;
/// The maximum length of a message.
const MAX_MESSAGE: usize = 100_000;

#[derive(Serialize, Deserialize)]
struct Request {
    headway_doctor: u32,
}

/// The peer's report of our packets, and of its own.
pub(super) async fn request(stream: &mut Stream) -> io::Result<PeerRecord> {
    send_line(stream, &Request { headway_doctor: VERSION }).await?;
    receive_line(stream).await
}

/// Answers requests until stopped, with this time limit for each connection.
pub(super) async fn answer(listener: &Listener, records: &Records, patience: Duration) -> io::Result<()> {
    loop {
        let (stream, from) = listener.accept().await?;
        let records = records.clone();
        tokio::spawn(async move {
            let answered = timeout(patience, answer_one(stream, from, &records)).await;
            notice!(
                "headway: {from}: {}",
                match answered {
                    Ok(Ok(())) => "reported what arrived".into(),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "no request within the time limit, or the answer was not received".into(),
                }
            );
            records.forget(from);
        });
    }
}

async fn answer_one(mut stream: Stream, from: SocketAddr, records: &Records) -> io::Result<()> {
    let request: Request = receive_line(&mut stream).await?;
    if request.headway_doctor != VERSION {
        let got = format!("a doctor of version {}: expected {VERSION}", request.headway_doctor);
        return Err(io::Error::new(io::ErrorKind::InvalidData, got));
    }
    send_line(&mut stream, &records.of(from)).await?;
    stream.shutdown().await?;
    // The peer's FIN confirms that it has all of it.
    stream.read(&mut [0]).await.map(|_| ())
}

/// One line of JSON, and the padding.
async fn send_line(stream: &mut Stream, what: &impl Serialize) -> io::Result<()> {
    let mut message = serde_json::to_vec(what)?;
    message.push(b'\n');
    message.extend_from_slice(&[b'.'; FILLING]);
    stream.write_all(&message).await
}

async fn receive_line<T: DeserializeOwned>(stream: &mut Stream) -> io::Result<T> {
    let other = || io::Error::new(io::ErrorKind::InvalidData, "the peer is not `headway doctor`");
    let (mut message, mut buffer) = (Vec::new(), vec![0; 16_384]);
    loop {
        let line = message.iter().position(|&byte| byte == b'\n');
        if let Some(line) = line.filter(|line| message.len() > line + FILLING) {
            return serde_json::from_slice(&message[..line]).map_err(|_| other());
        }
        let n = stream.read(&mut buffer).await?;
        if n == 0 || message.len() > MAX_MESSAGE + FILLING {
            return Err(other());
        }
        message.extend_from_slice(&buffer[..n]);
    }
}
