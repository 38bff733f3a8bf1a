//! Packet trains between two gateways, by which each learns what the link carries before a program needs it.
//!
//! The congestion controller measures the rate at which a train arrives, as it does with the first window of a program
//! (`docs/congestion.md`).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use headway_net::TcpStream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

use super::peer_link::{PAUSE, PeerLink};
use crate::request::Request;

/// Bytes of the first train, which is an initial window of ten segments, and of the second, which follows if that one has raised the
/// window.
const TRAINS: [usize; 2] = [14_000, 112_000];
/// What takes longer shows nothing of use.
const DEADLINE: Duration = Duration::from_secs(60);
/// Where both gateways may begin, the one with the higher address waits so long for the other's trains.
const SECOND: Duration = Duration::from_secs(2);

/// Exchanges trains with the peer once it is there, unless programs have measured the link by then. Of several calls the first does.
pub(crate) async fn exchange(link: Arc<PeerLink>) {
    if !link.begins_trains() {
        return;
    }
    tokio::select! {
        () = link.removed() => {}
        exchanged = when_connected(&link) => if let Err(error) = exchanged {
            tracing::debug!(peer = link.name, %error, "what the link carries was not measured");
        },
    }
}

async fn when_connected(link: &PeerLink) -> io::Result<()> {
    if !link.is_lower() {
        sleep(SECOND).await;
    }
    let stream = loop {
        match link.connect().await {
            Ok(stream) => break stream,
            // There is no session yet, or the link is down.
            Err(_) => sleep(PAUSE).await,
        }
    };
    if link.has_measured() { Ok(()) } else { begin(link, stream).await }
}

async fn begin(link: &PeerLink, mut stream: TcpStream) -> io::Result<()> {
    let window = link.window_to_peer();
    let trains = async {
        Request::Trains.write(&mut stream).await?;
        for train in TRAINS {
            stream.write_all(&vec![0; train]).await?;
            stream.read_exact(&mut vec![0; train]).await?;
            if !shows_more(link, window) {
                break;
            }
        }
        stream.shutdown().await
    };
    timeout(DEADLINE, trains).await?
}

/// Answers each train of the peer with one, in one connection at a time.
pub(crate) async fn answer(link: &PeerLink, mut stream: TcpStream) -> io::Result<()> {
    let Ok(_one) = link.answers.try_acquire() else {
        stream.reset();
        return Ok(());
    };
    let window = link.window_to_peer();
    let trains = async {
        for (place, train) in TRAINS.into_iter().enumerate() {
            // The peer may need no second one.
            if stream.read_exact(&mut vec![0; train]).await.is_err() || place > 0 && !shows_more(link, window)
            {
                break;
            }
            stream.write_all(&vec![0; train]).await?;
        }
        stream.shutdown().await
    };
    timeout(DEADLINE, trains).await?
}

/// Whether another train is of use: the first has raised the window, and no program measures the link.
fn shows_more(link: &PeerLink, before: u32) -> bool {
    link.is_unused() && link.window_to_peer() > before
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::super::linked::{Linked, soon};
    use super::*;

    #[tokio::test]
    async fn one_exchange_is_answered_at_a_time() {
        let linked = Linked::new();
        let (mut first, answering) = linked.connect().await;
        let (mut second, refused) = linked.connect().await;
        let peer = async {
            first.write_all(&[0; TRAINS[0]]).await.expect("open");
            // The first is being answered.
            first.read_exact(&mut [0; TRAINS[0]]).await.expect("a train");
            answer(&linked.far, refused).await.expect("a reset is no error");
            let error = second.read_u8().await.expect_err("a reset");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            first.shutdown().await.expect("open");
        };
        let (answered, ()) = soon(async { tokio::join!(answer(&linked.far, answering), peer) }).await;
        answered.expect("an end");
        assert_eq!(linked.far.answers.available_permits(), 1, "the next may come");
    }

    #[tokio::test]
    async fn a_peer_that_stops_in_the_middle_of_a_train_is_given_up() {
        let linked = Linked::new();
        let (mut stalled, answering) = linked.connect().await;
        stalled.write_all(&[0; 1000]).await.expect("open");
        tokio::time::pause();
        let begun = Instant::now();
        let error = answer(&linked.far, answering).await.expect_err("the deadline");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= DEADLINE);
        assert_eq!(linked.far.answers.available_permits(), 1, "the next may come");
    }
}
