//! The file in which rates are kept across restarts.

use std::fs;

use headway_test_fixture::log::Log;
use headway_trunk::Gateway;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tracing::Level;

use super::pair::{LONG, Pair, server, through};

/// A file that is damaged is written anew, and one that is not is read and used: the gateway starts in both cases.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_measured_is_written_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rates.toml");
    fs::write(&path, "version = [").expect("a file");
    let mut pair = Pair::start("").await;
    pair.near_config.gateway.state_file = Some(path.clone());
    pair.near_config.peers[0].link_rate = None;
    let (listener, address) = server().await;
    for is_used in [false, true] {
        pair.near.take().expect("running").close().await.expect("an end");
        let log = Log::up_to(Level::INFO);
        // Of this thread: a gateway reads the file while it starts.
        let near = tracing::subscriber::with_default(log.clone(), || Gateway::start(&pair.near_config));
        pair.near = Some(near.expect("the near gateway"));
        assert_eq!(log.lines("saved rates are not used").len(), usize::from(!is_used));
        assert_eq!(log.lines("starts from the rate of its last session").len(), usize::from(is_used));
        pair.connected().await;
        pair.socks = pair.near.as_ref().expect("running").entries()[0];
        let mut client = through(pair.socks, address).await.expect("a connection");
        let (mut served, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
        client.write_all(&[7; 100_000]).await.expect("open");
        let mut got = vec![0; 100_000];
        timeout(LONG, served.read_exact(&mut got)).await.expect("in time").expect("open");
    }
    pair.near.take().expect("running").close().await.expect("an end");
    let text = fs::read_to_string(&path).expect("the file");
    let key = &pair.near_config.peers[0].public_key;
    assert!(text.starts_with("version = 1\n") && text.contains(key.as_str()), "{text}");
    assert!(text.contains("bits-per-second") && text.contains("min-rtt-micros"), "{text}");
}
