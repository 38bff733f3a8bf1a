//! Two connected stacks, and test data.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

use headway_net::{Stack, StackConfig, TcpListener, TcpStream, UdpCarrier, UdpConfig};
use headway_tcp::Profile;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Addresses that are unused and not used by other tests: their ports are outside the system's ephemeral
/// range.
pub(crate) fn free_ports<const N: usize>() -> [SocketAddr; N] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let free = || loop {
        let number = std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 10_000 + (number % 20_000) as u16));
        if UdpSocket::bind(address).is_ok() {
            return address;
        }
    };
    [(); N].map(|()| free())
}

pub(crate) struct Pair {
    pub(crate) client: Stack,
    pub(crate) server: Stack,
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Pair {
    pub(crate) fn new(profile: Profile) -> Self {
        let [a, b] = free_ports();
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

    /// A connection, from both ends: the client's first.
    pub(crate) async fn connect(&self) -> (TcpStream, TcpStream) {
        let (client, server) = tokio::join!(self.client.connect(self.address), self.listener.accept());
        (client.unwrap(), server.unwrap().0)
    }
}

/// `len` pseudo-random bytes of a seed.
pub(crate) fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Sends all data and a FIN.
pub(crate) async fn send(mut stream: impl AsyncWrite + Unpin, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.shutdown().await
}

/// Reads until the peer's FIN; returns the length and the digest.
pub(crate) async fn receive(mut stream: impl AsyncRead + Unpin) -> io::Result<(usize, [u8; 32])> {
    let (mut digest, mut len) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok((len, digest.finalize().into())),
            n => {
                digest.update(&buffer[..n]);
                len += n;
            }
        }
    }
}
