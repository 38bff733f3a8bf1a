//! A thousand connections at once, each of which has more to send than its buffers hold.

use std::sync::Arc;

use headway_tcp::Profile;
use headway_test_fixture::pattern::Pattern;
use tokio::io::AsyncReadExt as _;

use super::pair::{Pair, receive, send};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_at_once() {
    const COUNT: u64 = 1000;
    const LEN: usize = 200_000;
    let profile = Profile { receive_buffer: 1 << 16, send_buffer: 1 << 16, ..Profile::modern() };
    let pair = Arc::new(Pair::new(profile));
    let clients: Vec<_> = (0..COUNT)
        .map(|seed| {
            let pair = pair.clone();
            tokio::spawn(async move {
                let mut stream = pair.client.connect(pair.address).await.unwrap();
                let mut bytes = seed.to_be_bytes().to_vec();
                bytes.extend(Pattern(seed as u32).bytes(0, LEN));
                send(&mut stream, &bytes).await.unwrap();
                // The server's FIN confirms that all has arrived.
                assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
            })
        })
        .collect();
    let mut servers = Vec::new();
    for _ in 0..COUNT {
        let (mut stream, _) = pair.listener.accept().await.unwrap();
        servers.push(tokio::spawn(async move {
            let seed = stream.read_u64().await.unwrap();
            let got = receive(&mut stream, Pattern(seed as u32)).await.unwrap();
            assert_eq!(got, LEN, "connection {seed}");
            seed
        }));
    }
    let mut seeds = Vec::new();
    for server in servers {
        seeds.push(server.await.unwrap());
    }
    for client in clients {
        client.await.unwrap();
    }
    seeds.sort_unstable();
    assert!(seeds.into_iter().eq(0..COUNT));
}
