//! Ten thousand idle connections. Its own process, since it measures the process's memory.

#[expect(dead_code, reason = "shared with the tests over UDP")]
#[path = "udp/pair.rs"]
mod pair;

use std::sync::Arc;

use headway_net::TcpStream;
use headway_tcp::{Profile, Variant};
use headway_test_fixture::process::resident;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use pair::Pair;

const COUNT: usize = 10_000;

/// The limit of memory for each end of a connection in bytes, without its buffers, with its stream and
/// table entries. `headway` has 2530: its controller keeps a model of the path, 500 bytes more than CUBIC.
const LIMIT: usize = 2560;

/// The buffers that remain after a short exchange: one for each direction.
const BUFFERS: usize = 2 * 512;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections() {
    let mut all = Vec::new();
    let senders = [("standard", Profile::standard()), ("headway", Variant::Headway.apply(Profile::modern()))];
    for (name, profile) in senders {
        let pair = Arc::new(Pair::new(profile));
        let before = resident();
        let (clients, servers) = open(&pair).await;
        let cost = (resident() - before) / COUNT / 2 - BUFFERS;
        eprintln!("{name}: {cost} bytes for each end of an idle connection");
        assert!(cost <= LIMIT, "{name}: {cost} bytes for each end of an idle connection, at most {LIMIT}");
        // The next connections must not reuse this memory.
        all.push((pair, clients, servers));
    }
    // They are open: the first and the last transfer data.
    for (_, clients, servers) in &mut all {
        for index in [0, COUNT - 1] {
            let port = clients[index].local_addr().unwrap();
            clients[index].write_all(b"hello").await.unwrap();
            let server = servers.iter_mut().find(|stream| stream.peer_addr().unwrap() == port).unwrap();
            let mut received = [0; 5];
            server.read_exact(&mut received).await.unwrap();
            assert_eq!(&received, b"hello");
        }
    }
}

async fn open(pair: &Arc<Pair>) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let accepting = tokio::spawn({
        let pair = pair.clone();
        async move {
            let mut streams = Vec::with_capacity(COUNT);
            while streams.len() < COUNT {
                let mut stream = pair.listener.accept().await.unwrap().0;
                let mut received = [0; 5];
                stream.read_exact(&mut received).await.unwrap();
                stream.write_all(&received).await.unwrap();
                streams.push(stream);
            }
            streams
        }
    });
    let mut clients = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let mut stream = pair.client.connect(pair.address).await.unwrap();
        let mut received = [0; 5];
        stream.write_all(b"hello").await.unwrap();
        stream.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"hello");
        clients.push(stream);
    }
    (clients, accepting.await.unwrap())
}
