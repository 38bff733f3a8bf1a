//! A stream and a kernel's connection, joined.

use std::io;
use std::time::Duration;

use headway_net::TcpStream as Stream;
use socket2::SockRef;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream as Socket;

/// Bytes that wait between the two in each direction, beside their own buffers.
const BUFFER: usize = 64 << 10;

/// Copies in both directions until both have ended. Each end passes on by itself (half-close); an error of one side
/// resets the other.
pub(crate) async fn join(mut socket: Socket, mut stream: Stream) -> io::Result<(u64, u64)> {
    let copied = copy_bidirectional_with_sizes(&mut socket, &mut stream, BUFFER, BUFFER).await;
    if copied.is_err() {
        reset(socket);
        stream.reset();
    }
    copied
}

/// Closes a connection with a RST.
pub(crate) fn reset(socket: Socket) {
    // It fails only if the connection is gone already.
    let _ = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
}
