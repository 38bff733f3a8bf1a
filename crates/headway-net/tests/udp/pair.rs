//! Two connected stacks, and test data.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use headway_net::{Stack, StackConfig, TcpListener, TcpStream, UdpCarrier, UdpConfig};
use headway_tcp::{Profile, Statistics};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::free_addresses;
use headway_test_fixture::relay::Relay;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Addresses that only the stacks know.
pub(crate) const INNER: [&str; 2] = ["10.77.2.1", "10.77.2.2"];

pub(crate) struct Pair {
    pub(crate) client: Stack,
    pub(crate) server: Stack,
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Pair {
    pub(crate) fn new(profile: Profile) -> Self {
        let [a, b] = free_addresses();
        Self::between(profile, UdpConfig::new(a, b), UdpConfig::new(b, a))
    }

    pub(crate) fn between(profile: Profile, a: UdpConfig, b: UdpConfig) -> Self {
        let start = |config: &UdpConfig| {
            let carrier = UdpCarrier::open(config).unwrap();
            let addresses = vec![carrier.inner_address()];
            let config = StackConfig { addresses, profile: Some(profile.clone()), ..StackConfig::default() };
            Stack::start(carrier, config).unwrap()
        };
        let (client, server) = (start(&a), start(&b));
        let address = SocketAddr::new(b.inner_local.unwrap_or(b.local.ip()), 80);
        let listener = server.listen(address, 4096).unwrap();
        Self { client, server, listener, address }
    }

    /// Two stacks with a relay between them, which makes with `mangle` what becomes of the datagrams of
    /// either: see [`Relay::new`].
    pub(crate) fn across<F>(profile: Profile, mangle: impl Fn(usize) -> F) -> (Self, Relay)
    where
        F: FnMut(&mut [u8], &UdpSocket) -> bool + Send + 'static,
    {
        let [a, b, near_a, near_b] = free_addresses();
        let relay = Relay::new([near_a, near_b], [a, b], mangle);
        // The ends see the relay's addresses outside, so the inner ones are their own.
        let inner = INNER.map(|address| Some(address.parse().unwrap()));
        let config = |local, peer, mine: usize| UdpConfig {
            inner_local: inner[mine],
            inner_peer: inner[1 - mine],
            ..UdpConfig::new(local, peer)
        };
        (Self::between(profile, config(a, near_a, 0), config(b, near_b, 1)), relay)
    }

    /// A connection, from both ends: the client's first.
    pub(crate) async fn connect(&self) -> (TcpStream, TcpStream) {
        let (client, server) = tokio::join!(self.client.connect(self.address), self.listener.accept());
        (client.unwrap(), server.unwrap().0)
    }
}

/// Transfers `len` bytes each way over one connection, and compares all of them. What both ends say of it.
pub(crate) async fn both_ways(pair: &Pair, len: usize) -> [Statistics; 2] {
    let (mut client, mut server) = pair.connect().await;
    let (up, down) = (Pattern(21), Pattern(22));
    let (up_bytes, down_bytes) = (up.bytes(0, len), down.bytes(0, len));
    {
        let ((client_in, client_out), (server_in, server_out)) =
            (tokio::io::split(&mut client), tokio::io::split(&mut server));
        let (sent_up, sent_down, got_up, got_down) = tokio::join!(
            send(client_out, &up_bytes),
            send(server_out, &down_bytes),
            receive(server_in, up),
            receive(client_in, down),
        );
        sent_up.unwrap();
        sent_down.unwrap();
        assert_eq!((got_up.unwrap(), got_down.unwrap()), (len, len));
    }
    [client.statistics().unwrap(), server.statistics().unwrap()]
}

/// Sends all data and a FIN.
pub(crate) async fn send(mut stream: impl AsyncWrite + Unpin, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.shutdown().await
}

/// Reads until the peer's FIN and compares every byte; returns their number.
pub(crate) async fn receive(mut stream: impl AsyncRead + Unpin, pattern: Pattern) -> io::Result<usize> {
    let mut len = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(len),
            n => {
                pattern.check(len, &buffer[..n]);
                len += n;
            }
        }
    }
}
