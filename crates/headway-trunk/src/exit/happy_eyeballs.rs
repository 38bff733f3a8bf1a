//! Connecting to one of several addresses (RFC 8305): the next one is tried while the one before has not answered.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// RFC 8305, 8: "Connection Attempt Delay [...] Recommended to be 250 milliseconds".
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Addresses that are tried: each has a descriptor while it does not answer.
const MOST_ATTEMPTS: usize = 8;

/// Connects, by `attempt`, to the address that answers first; the others are given up. The order of `addresses` is that of
/// preference. The error is the last one, and its address; `None` if there are no addresses. It waits as long as an attempt does.
pub(crate) async fn connect<A>(
    addresses: Vec<SocketAddr>,
    attempt: impl Fn(SocketAddr) -> A,
) -> Result<TcpStream, Option<(SocketAddr, io::Error)>>
where
    A: Future<Output = io::Result<TcpStream>> + Send + 'static,
{
    let mut left = interleaved(addresses).into_iter().take(MOST_ATTEMPTS);
    let (mut attempts, mut failed) = (JoinSet::new(), None);
    loop {
        if let Some(address) = left.next() {
            let attempt = attempt(address);
            attempts.spawn(async move { attempt.await.map_err(|error| (address, error)) });
        }
        // RFC 8305, 5: a new attempt follows when the one before has failed, or after the delay.
        let ended = if left.len() == 0 {
            attempts.join_next().await
        } else {
            match timeout(ATTEMPT_DELAY, attempts.join_next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            }
        };
        match ended {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => failed = Some(error),
            Some(Err(_)) => {}
            None => return Err(failed),
        }
    }
}

/// RFC 8305, 4: "the client should modify the ordered list to interleave address families", with the family of the first
/// address first.
fn interleaved(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = addresses.first().map(SocketAddr::is_ipv4) else { return addresses };
    let (ours, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv4() == first);
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut order = Vec::new();
    while ours.len() + others.len() > 0 {
        order.extend(ours.next());
        order.extend(others.next());
    }
    order
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use headway_test_fixture::silent::Silent;
    use tokio::net::TcpListener;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn families_take_turns() {
        let of = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| SocketAddr::new(text.parse().expect("an address"), 9)).collect()
        };
        for (given, expected) in [
            (&["::1", "::2", "::3", "10.0.0.1"][..], &["::1", "10.0.0.1", "::2", "::3"][..]),
            (&["10.0.0.1", "10.0.0.2", "::1", "::2"], &["10.0.0.1", "::1", "10.0.0.2", "::2"]),
            (&["10.0.0.2", "10.0.0.1"], &["10.0.0.2", "10.0.0.1"]),
            (&[], &[]),
        ] {
            assert_eq!(interleaved(of(given)), of(expected));
        }
    }

    /// Without the next attempt it would take as long as the kernel tries, two minutes.
    #[tokio::test]
    async fn a_silent_address_is_not_waited_for() {
        let silent = Silent::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let live = listener.local_addr().expect("an address");
        let addresses = vec![silent.address(), silent.address(), live];
        let stream = timeout(LONG, connect(addresses, TcpStream::connect))
            .await
            .expect("in time")
            .expect("a connection");
        assert_eq!(stream.peer_addr().expect("connected"), live);
    }

    #[tokio::test]
    async fn what_fails_is_followed_by_the_next_at_once_and_the_last_error_is_told() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let live = listener.local_addr().expect("an address");
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let refusing = closed.local_addr().expect("an address");
        drop(closed);
        let stream = connect(vec![refusing, refusing, live], TcpStream::connect).await.expect("a connection");
        assert_eq!(stream.peer_addr().expect("connected"), live);
        let (address, error) =
            connect(vec![refusing; 2], TcpStream::connect).await.expect_err("refused").expect("an error");
        assert_eq!((address, error.kind()), (refusing, io::ErrorKind::ConnectionRefused));
        assert!(connect(Vec::new(), TcpStream::connect).await.expect_err("no address").is_none());
    }
}
