//! What the peer of a stream sees that is dropped.

use std::io;
use std::time::Duration;

use headway_tcp::Profile;
use headway_test_fixture::process::wait_until;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::pair::Pair;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abortive_stream_that_is_dropped_is_reset() {
    let pair = Pair::new(Profile::modern());
    let cases = [(false, false, 0), (true, false, 0), (true, true, 0), (true, false, 1), (false, false, 2)];
    // A second reset may come before the first is sent, or after.
    let mut open = Vec::new();
    for (abortive, again, resets) in cases.into_iter().cycle().take(20) {
        let (mut client, mut server) = pair.connect().await;
        client.set_abortive(abortive);
        client.write_all(b"some of it").await.expect("open");
        server.read_exact(&mut [0; 10]).await.expect("open");
        open.push((client, server, (abortive, again, resets)));
    }
    // The peers have no delayed ACK left to send that a RST would answer.
    wait_until("everything is acknowledged", || {
        open.iter().all(|(client, ..)| client.statistics().expect("open").unacknowledged == 0)
    });
    for (client, mut server, (abortive, again, resets)) in open {
        if again {
            client.set_abortive(false);
        }
        (0..resets).for_each(|_| client.reset());
        drop(client);
        let end = timeout(Duration::from_secs(60), server.read(&mut [0; 10])).await.expect("in time");
        let end = end.map_err(|error| error.kind());
        let is_reset = abortive && !again || resets > 0;
        assert_eq!(end, if is_reset { Err(io::ErrorKind::ConnectionReset) } else { Ok(0) });
    }
}
