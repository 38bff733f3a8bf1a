//! A stream and a host's connection, joined.

use std::io;
use std::time::Duration;

use headway_net::TcpStream as Stream;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::TcpStream as Socket;

/// Bytes that wait between the two in each direction, beside their own buffers.
const BUFFER: usize = 64 << 10;

/// A connection to a host.
pub(crate) trait HostEnd: AsyncRead + AsyncWrite + Unpin {
    /// Makes it end with a RST.
    fn reset(&self);
}

/// With the kernel's TCP.
impl HostEnd for Socket {
    fn reset(&self) {
        // It fails only if the connection is gone already.
        let _ = SockRef::from(self).set_linger(Some(Duration::ZERO));
    }
}

/// With our own, through a TUN.
impl HostEnd for Stream {
    fn reset(&self) {
        Self::reset(self);
    }
}

/// Copies in both directions until both have ended. Each end passes on by itself (half-close); an error of one side
/// resets the other.
pub(crate) async fn join(mut host: impl HostEnd, mut stream: Stream) -> io::Result<(u64, u64)> {
    let copied = copy_bidirectional_with_sizes(&mut host, &mut stream, BUFFER, BUFFER).await;
    if copied.is_err() {
        host.reset();
        stream.reset();
    }
    copied
}
