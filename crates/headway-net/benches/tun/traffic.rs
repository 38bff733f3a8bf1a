//! The traffic of a connection: bytes in one direction for a given time.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// The direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
}

impl Direction {
    pub(crate) fn parse(word: &str) -> Result<Self, crate::Error> {
        match word {
            "send" => Ok(Self::Send),
            "receive" => Ok(Self::Receive),
            _ => Err(format!("{word:?}: expected send or receive").into()),
        }
    }
}

/// The maximum bytes of a write and of a read.
const BLOCK: usize = 128 << 10;

#[expect(clippy::disallowed_methods, reason = "a measurement")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The subject's side: sends the request to the peer, transfers data, and waits until all has arrived.
/// Returns the bytes.
pub(crate) fn request<S: Read + Write>(
    stream: &mut S,
    direction: Direction,
    time: Duration,
    end: impl FnOnce(&mut S) -> io::Result<()>,
) -> io::Result<u64> {
    let mut request = [0; 9];
    request[0] = u8::from(direction == Direction::Receive);
    request[1..].copy_from_slice(&(time.as_nanos() as u64).to_be_bytes());
    stream.write_all(&request)?;
    match direction {
        Direction::Send => {
            let bytes = send(stream, time)?;
            end(stream)?;
            match stream.read(&mut [0])? {
                0 => Ok(bytes),
                _ => Err(io::Error::other("unexpected data from the peer")),
            }
        }
        Direction::Receive => receive(stream),
    }
}

/// The peer's side.
pub(crate) fn answer(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut request = [0; 9];
    stream.read_exact(&mut request)?;
    let nanos = request[1..].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    if request[0] == 0 { receive(stream) } else { send(stream, Duration::from_nanos(nanos)) }.map(|_| ())
}

fn send(stream: &mut impl Write, time: Duration) -> io::Result<u64> {
    let block = vec![0x55; BLOCK];
    let until = now() + time;
    let mut bytes = 0;
    while now() < until {
        bytes += stream.write(&block)? as u64;
    }
    Ok(bytes)
}

fn receive(stream: &mut impl Read) -> io::Result<u64> {
    let mut block = vec![0; BLOCK];
    let mut bytes = 0;
    loop {
        match stream.read(&mut block)? {
            0 => return Ok(bytes),
            n => bytes += n as u64,
        }
    }
}
