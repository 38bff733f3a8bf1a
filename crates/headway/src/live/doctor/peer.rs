//! The two ends of `headway doctor --connect` and `--listen`: what each saw of the other's packets.
//!
//! The one that connects sends an [`Ask`], with filling behind it so that some of its segments can be sent
//! damaged. When the other has all of it, it answers with what it saw, and as much filling.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::watch::{Passed, Sightings};
use crate::live::transport::{Listener, Stream};

const VERSION: u32 = 1;
/// Octets behind a message: more than ten segments of any usual size.
const FILLING: usize = 20_000;
/// No message is longer.
const MAX_MESSAGE: usize = 100_000;

#[derive(Serialize, Deserialize)]
struct Ask {
    headway_doctor: u32,
}

/// What the peer saw of us, and how it answers.
pub(super) async fn ask(stream: &mut Stream) -> io::Result<Passed> {
    say(stream, &Ask { headway_doctor: VERSION }).await?;
    hear(stream).await
}

/// Answers whoever asks, for ever; a connection has so long.
pub(super) async fn answer(listener: &Listener, sightings: &Sightings, patience: Duration) -> io::Result<()> {
    loop {
        let (stream, from) = listener.accept().await?;
        let sightings = sightings.clone();
        tokio::spawn(async move {
            let answered = timeout(patience, answer_one(stream, from, &sightings)).await;
            eprintln!(
                "headway: {from}: {}",
                match answered {
                    Ok(Ok(())) => "told what arrived".into(),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "asked nothing, or did not hear the answer".into(),
                }
            );
            sightings.forget(from);
        });
    }
}

async fn answer_one(mut stream: Stream, from: SocketAddr, sightings: &Sightings) -> io::Result<()> {
    let ask: Ask = hear(&mut stream).await?;
    if ask.headway_doctor != VERSION {
        let got = format!("a doctor of version {}: expected {VERSION}", ask.headway_doctor);
        return Err(io::Error::new(io::ErrorKind::InvalidData, got));
    }
    say(&mut stream, &sightings.of(from)).await?;
    stream.shutdown().await?;
    // The peer has all of it when its end comes.
    stream.read(&mut [0]).await.map(|_| ())
}

/// One line of JSON, and the filling.
async fn say(stream: &mut Stream, what: &impl Serialize) -> io::Result<()> {
    let mut message = serde_json::to_vec(what)?;
    message.push(b'\n');
    message.extend_from_slice(&[b'.'; FILLING]);
    stream.write_all(&message).await
}

async fn hear<T: DeserializeOwned>(stream: &mut Stream) -> io::Result<T> {
    let other = || io::Error::new(io::ErrorKind::InvalidData, "the peer is no `headway doctor`");
    let (mut message, mut buffer) = (Vec::new(), vec![0; 16_384]);
    loop {
        let line = message.iter().position(|&octet| octet == b'\n');
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
