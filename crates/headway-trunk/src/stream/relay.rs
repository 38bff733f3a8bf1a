//! A stream and a host's connection, joined.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use headway_net::TcpStream as Stream;
use headway_wire::Dscp;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};
use tokio::net::TcpStream as Socket;

use super::Said;
use crate::status::Meter;

/// Bytes that wait between the two in each direction, beside their own buffers.
const BUFFER: usize = 64 << 10;
/// What [`join`] allocates for a stream, bytes.
pub(crate) const MEMORY: usize = 2 * BUFFER;

/// A connection to a host.
pub(crate) trait HostEnd: AsyncRead + AsyncWrite + Unpin {
    /// Whether it ends with a RST if it is dropped, or this process killed.
    fn set_abortive(&self, abortive: bool);
}

/// With the kernel's TCP.
impl HostEnd for Socket {
    fn set_abortive(&self, abortive: bool) {
        // It fails only if the connection is gone already.
        let _ = SockRef::from(self).set_linger(abortive.then_some(Duration::ZERO));
    }
}

/// Prepares a connection of the kernel's TCP to a host.
pub(crate) fn set_up(socket: &Socket) {
    // Until it is known what becomes of it.
    socket.set_abortive(true);
    let socket = SockRef::from(socket);
    // Delays of small writes belong to the program at the other end. A host that is gone without a word keeps no stream open for
    // ever: it is found out after as long as the kernel says.
    for result in [socket.set_tcp_nodelay(true), socket.set_keepalive(true)] {
        if let Err(error) = result {
            tracing::debug!(%error, "an option of a connection");
        }
    }
}

/// The DSCP with which a host opened a connection, which what is sent to it gets too.
pub(crate) fn answer_with_dscp(socket: &Socket) -> Dscp {
    let dscp = headway_net::syn_dscp(socket).unwrap_or_default();
    if let Ok(peer) = socket.peer_addr() {
        mark(socket, peer.ip(), dscp);
    }
    dscp
}

/// Gives what is sent to `peer` over a socket of the kernel a DSCP.
pub(crate) fn mark(socket: &impl AsFd, peer: IpAddr, dscp: Dscp) {
    if dscp != Dscp::DEFAULT
        && let Err(error) = headway_net::set_dscp(socket, peer, dscp)
    {
        tracing::debug!(%error, "the DSCP of a connection");
    }
}

/// Gives the packets of a stream a host's DSCP, which datagrams copy where the configuration says so.
pub(crate) fn set_dscp(stream: &Stream, dscp: Dscp) {
    if dscp != Dscp::DEFAULT
        && let Err(error) = stream.set_dscp(dscp)
    {
        tracing::debug!(%error, "the DSCP of a stream");
    }
}

/// With our own, through a TUN.
impl HostEnd for Stream {
    fn set_abortive(&self, abortive: bool) {
        Self::set_abortive(self, abortive);
    }
}

/// Copies in both directions until both have ended, and counts what passes. Each end passes on by itself (half-close); an
/// error of one side resets the other.
pub(crate) async fn join(
    mut host: impl HostEnd,
    mut said: Said,
    stream: Stream,
    meter: &Meter<'_>,
) -> io::Result<()> {
    let mut stream = Metered { stream, meter };
    // Neither side must take what it has for all, should this not come to its end: both are dropped here.
    host.set_abortive(true);
    stream.stream.set_abortive(true);
    meter.count_sent(said.sent());
    said.send(&mut stream).await?;
    let copied = copy_bidirectional_with_sizes(&mut host, &mut stream, BUFFER, BUFFER).await;
    if copied.is_ok() {
        host.set_abortive(false);
        stream.stream.set_abortive(false);
    }
    copied.map(drop)
}

/// A stream whose bytes are counted as they pass.
struct Metered<'a> {
    stream: Stream,
    meter: &'a Meter<'a>,
}

impl AsyncRead for Metered<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.meter.count_received(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data))?;
        self.meter.count_sent(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use headway_net::CaptureFile;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::stream::linked::{Linked, soon};

    /// What is seen of the end of a connection whose other end is dropped.
    async fn end_of(mut left: impl AsyncRead + Unpin) -> Result<usize, io::ErrorKind> {
        soon(left.read(&mut [0; 1])).await.map_err(|error| error.kind())
    }

    #[tokio::test]
    async fn a_host_sees_a_reset_unless_its_connection_came_to_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        for (is_over, seen) in [(false, Err(io::ErrorKind::ConnectionReset)), (true, Ok(0))] {
            let client = Socket::connect(address).await.expect("a connection");
            let (served, _) = listener.accept().await.expect("a connection");
            set_up(&served);
            if is_over {
                served.set_abortive(false);
            }
            drop(served);
            assert_eq!(end_of(client).await, seen);
        }
    }

    /// What is written is in all copies.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("a test").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn the_packets_of_a_stream_have_the_dscp_of_its_host() {
        for (dscp, traffic_class) in [(Dscp::DEFAULT, 0), (Dscp::EF, 46 << 2)] {
            let written = Written::default();
            let capture = CaptureFile::new(Box::new(written.clone()), &["near"]).expect("a capture");
            let linked = Linked::captured(Some(capture));
            let (mut near, mut far) = linked.connect().await;
            set_dscp(&near, dscp);
            near.write_all(b"with its DSCP").await.expect("open");
            soon(far.read_u8()).await.expect("a byte");
            drop((near, far));
            // It is written at the end.
            soon(linked.stacks[0].clone().close(Duration::from_secs(5))).await.expect("an end");
            let captured = written.0.lock().expect("a test").clone();
            let end = |at: usize| at + usize::from(u16::from_be_bytes([captured[at + 2], captured[at + 3]]));
            let payload =
                captured.windows(13).position(|bytes| bytes == b"with its DSCP").expect("the segment");
            // IPv4 without options, as long as it says.
            let header = (0..payload).find(|&at| captured[at] == 0x45 && end(at) == payload + 13);
            assert_eq!(captured[header.expect("a header") + 1] & !3, traffic_class);
        }
    }

    #[tokio::test]
    async fn a_host_behind_a_tun_does_too() {
        let linked = Linked::new();
        for (is_over, seen) in [(false, Err(io::ErrorKind::ConnectionReset)), (true, Ok(0))] {
            let (host, stream) = linked.connect().await;
            HostEnd::set_abortive(&stream, true);
            if is_over {
                HostEnd::set_abortive(&stream, false);
            }
            drop(stream);
            assert_eq!(end_of(host).await, seen);
        }
    }
}
