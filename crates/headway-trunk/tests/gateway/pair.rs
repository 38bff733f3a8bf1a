//! Two gateways on the loopback, and a relay between them that damages datagrams.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headway_test_fixture::process::free_addresses;
use headway_test_fixture::relay::Relay;
use headway_test_fixture::rng::Rng;
use headway_trunk::{Config, Gateway};
use headway_trunk_proto::SecretKey;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// No step of a test takes longer on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What the relay does to datagrams.
#[derive(Debug, Default)]
pub(crate) struct Road {
    /// The number of datagrams in 1000 that have a flipped bit, anywhere.
    pub(crate) damaged: AtomicU32,
    /// The number in 1000 that are dropped.
    pub(crate) dropped: AtomicU32,
    /// How many datagrams of each end had a bit flipped.
    pub(crate) hits: [AtomicU32; 2],
}

pub(crate) struct Pair {
    pub(crate) near: Option<Gateway>,
    pub(crate) far: Option<Gateway>,
    pub(crate) near_config: Config,
    pub(crate) far_config: Config,
    pub(crate) road: Arc<Road>,
    /// The SOCKS server of the near gateway.
    pub(crate) socks: SocketAddr,
    _relay: Relay,
    _folder: tempfile::TempDir,
}

pub(crate) fn key_file(folder: &Path, name: &str, key: &SecretKey) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, key.to_base64()).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    path
}

impl Pair {
    /// Two gateways, connected; `more` is added to the near end's configuration.
    pub(crate) async fn start(more: &str) -> Self {
        Self::start_limited(more, 4096).await
    }

    /// As [`Pair::start`], with that many streams of the far gateway at most.
    pub(crate) async fn start_limited(more: &str, most_streams: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [near_at, far_at, inlet, outlet] = free_addresses();
        let road = Arc::new(Road::default());
        let relay = {
            let road = road.clone();
            Relay::new([inlet, outlet], [near_at, far_at], move |end| {
                let (road, mut rng) = (road.clone(), Rng::new(end as u64 + 1));
                move |datagram, _| {
                    if rng.below(1000_u32) < road.dropped.load(Ordering::Relaxed) {
                        return false;
                    }
                    if rng.below(1000_u32) < road.damaged.load(Ordering::Relaxed) {
                        let bit = rng.below(8 * datagram.len());
                        datagram[bit / 8] ^= 1 << (bit % 8);
                        road.hits[end].fetch_add(1, Ordering::Relaxed);
                    }
                    true
                }
            })
        };
        let keys = [1, 2].map(|byte| SecretKey::from_bytes([byte; 32]));
        key_file(folder.path(), "near.key", &keys[0]);
        key_file(folder.path(), "far.key", &keys[1]);
        let path = folder.path().join("gateway.toml");
        let read = |text: &str| Config::parse(text, &path).expect("a configuration");
        let near_config = read(&format!(
            "gateway = {{ key-file = 'near.key', listen = '{near_at}' }}\n\
             [[peer]]\nname = 'far'\npublic-key = '{}'\nendpoint = '{inlet}'\nlink-rate = '100mbit'\n\
             [[socks]]\nlisten = '127.0.0.1:0'\n{more}",
            keys[1].public()
        ));
        let far_config = read(&format!(
            "gateway = {{ key-file = 'far.key', listen = '{far_at}', max-streams = {most_streams} }}\n\
             [[peer]]\nname = 'near'\npublic-key = '{}'\ndestinations = ['127.0.0.1/32']\n",
            keys[0].public()
        ));
        let far = Gateway::start(&far_config).expect("the far gateway");
        let near = Gateway::start(&near_config).expect("the near gateway");
        // Forwards come before SOCKS.
        let socks = *near.entries().iter().find(|_| true).expect("an entry");
        let socks = near.entries().get(near_config.forwards.len()).copied().unwrap_or(socks);
        let pair = Self {
            near: Some(near),
            far: Some(far),
            near_config,
            far_config,
            road,
            socks,
            _relay: relay,
            _folder: folder,
        };
        pair.connected().await;
        pair
    }

    /// Waits until both ends have a session.
    pub(crate) async fn connected(&self) {
        let is_connected = |gateway: &Option<Gateway>| {
            gateway.as_ref().is_some_and(|gateway| gateway.status().peers.iter().all(|peer| peer.connected))
        };
        wait_until("a session", || is_connected(&self.near) && is_connected(&self.far)).await;
    }
}

/// Waits until it is so, as `process::wait_until` of the fixture does, while other tasks go on.
pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, waiting).await.unwrap_or_else(|_| panic!("{what}: not in a minute"));
}

/// A SOCKS5 client (RFC 1928): the connection, or the reply code.
pub(crate) async fn through(socks: SocketAddr, to: SocketAddr) -> Result<TcpStream, u8> {
    let SocketAddr::V4(v4) = to else { panic!("an IPv4 address") };
    let [a, b, c, d] = v4.ip().octets();
    let [high, low] = to.port().to_be_bytes();
    request(socks, &[5, 1, 0, 1, a, b, c, d, high, low]).await
}

/// As [`through`], with the request as it is.
pub(crate) async fn request(socks: SocketAddr, request: &[u8]) -> Result<TcpStream, u8> {
    let mut stream = TcpStream::connect(socks).await.expect("the SOCKS server");
    let (mut method, mut reply) = ([0; 2], [0; 10]);
    stream.write_all(&[5, 1, 0]).await.expect("open");
    stream.read_exact(&mut method).await.expect("a method");
    assert_eq!(method, [5, 0]);
    stream.write_all(request).await.expect("open");
    timeout(LONG, stream.read_exact(&mut reply)).await.expect("in time").expect("a reply");
    if reply[1] == 0 { Ok(stream) } else { Err(reply[1]) }
}

/// A server at a free port of the loopback.
pub(crate) async fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}
