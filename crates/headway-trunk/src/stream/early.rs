//! What a host says before its destination has answered. It follows the request, so the destination has it a round trip sooner.

use std::future::pending;
use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream as Socket;

/// What a host may say so, bytes: a TLS ClientHello or the header of an HTTP request. The rest waits.
const MOST: usize = 4 << 10;

/// What a host says while its stream is opened.
pub(crate) struct Early<'a> {
    /// `None`: it says nothing until it is answered.
    host: Option<&'a Socket>,
    said: Said,
}

/// What was taken from a host early.
#[derive(Debug, Default)]
pub(crate) struct Said {
    bytes: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
    /// What ended the host's connection. The kernel tells it once.
    error: Option<io::Error>,
}

impl<'a> Early<'a> {
    /// Of a host that believes itself connected.
    pub(crate) fn of(host: &'a Socket) -> Self {
        Self { host: Some(host), said: Said::default() }
    }

    /// Of a host that waits for the answer.
    pub(crate) fn none() -> Self {
        Self { host: None, said: Said::default() }
    }

    /// Whether any of it was sent. The destination may have it then, and must not get it again.
    pub(super) fn was_sent(&self) -> bool {
        self.said.sent > 0
    }

    /// Sends what the host says, as it comes, for ever. Nothing is lost if it is dropped. An error is the stream's.
    pub(super) async fn send(&mut self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Error {
        loop {
            if let Err(error) = self.said.send(stream).await {
                return error;
            }
            self.hear().await;
        }
    }

    /// Waits until the host has said more. Its end is seen again by those who serve it later.
    async fn hear(&mut self) {
        let room = MOST - self.said.bytes.len();
        let Some(host) = self.host.filter(|_| room > 0) else { return pending().await };
        let mut more = vec![0; room];
        loop {
            let heard = match host.readable().await {
                Ok(()) => host.try_read(&mut more),
                Err(error) => Err(error),
            };
            match heard {
                Ok(count @ 1..) => return self.said.bytes.extend(&more[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) => return pending().await,
                Err(error) => {
                    self.said.error = Some(error);
                    return pending().await;
                }
            }
        }
    }

    /// What was said.
    pub(crate) fn said(self) -> Said {
        self.said
    }
}

impl Said {
    /// How much was sent already.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// Sends the rest. An error is the stream's, or the host's.
    pub(super) async fn send(&mut self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while self.sent < self.bytes.len() {
            self.sent += stream.write(&self.bytes[self.sent..]).await?;
        }
        self.error.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::linked::soon;
    use super::*;

    /// The kernel tells an error once, and an end after it.
    #[tokio::test]
    async fn a_host_that_is_reset_early_has_not_ended_well() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let mut host =
            Socket::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        let (taken, _) = listener.accept().await.expect("a connection");
        host.write_all(b"once").await.expect("open");
        let (mut early, mut stream) = (Early::of(&taken), Vec::new());
        let send = async |stream: &mut Vec<u8>, early: &mut Early<'_>| {
            let _ = tokio::time::timeout(Duration::from_millis(10), early.send(stream)).await;
        };
        soon(async {
            while !early.was_sent() {
                send(&mut stream, &mut early).await;
            }
            socket2::SockRef::from(&host).set_linger(Some(Duration::ZERO)).expect("a socket");
            drop(host);
            while early.said.error.is_none() {
                send(&mut stream, &mut early).await;
            }
        })
        .await;
        assert_eq!(stream, b"once");
        let error = early.said().send(&mut stream).await.expect_err("it was reset");
        assert_eq!((error.kind(), &stream[..]), (io::ErrorKind::ConnectionReset, &b"once"[..]));
    }
}
