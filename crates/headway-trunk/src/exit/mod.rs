//! The far end of streams: connects to where they go.

mod happy_eyeballs;
mod proxy_header;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headway_net::{TcpListener, TcpStream as Stream};
use headway_wire::Dscp;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream as Socket, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::packets::{self, Delivery};
use crate::request::{Destination, Outcome, Request};
use crate::stream::{MOST_SPARE, PeerLink, Said, Side, relay, trains};

/// How long a destination may take to answer, all its addresses together, and its name to be looked up. RFC 1122, 4.2.3.5, has a
/// kernel try for 3 minutes at least: "The application can close the connection (i.e., give up on the open attempt) sooner, of
/// course", and proxies do so after a minute.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the near gateway may take to get a refusal. It resets the stream then.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Accepts the streams of one peer, as long as the stack runs. `delivery` is for its packets, where they are taken.
pub(crate) async fn serve(
    link: Arc<PeerLink>,
    listener: TcpListener,
    delivery: Option<Arc<Delivery>>,
) -> io::Error {
    // A peer that keeps the rules has no more that wait for their request.
    let waiting = Arc::new(Semaphore::new(link.places.most() + MOST_SPARE));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => return error,
        };
        let Ok(place) = waiting.clone().try_acquire_owned() else {
            count_over_limit(&link);
            stream.reset();
            continue;
        };
        let (link, delivery) = (link.clone(), delivery.clone());
        tokio::spawn(async move {
            if let Err(error) = answer(&link, stream, place, delivery.as_deref()).await {
                tracing::debug!(peer = link.name, %error, "a stream ended");
            }
        });
    }
}

fn count_over_limit(link: &PeerLink) {
    link.counters.refused.fetch_add(1, Ordering::Relaxed);
    if let Some(times) = link.counters.over_limit.happened() {
        tracing::warn!(peer = link.name, times, "streams are refused: gateway.max-streams are open");
    }
}

async fn answer(
    link: &PeerLink,
    mut stream: Stream,
    place: OwnedSemaphorePermit,
    delivery: Option<&Delivery>,
) -> io::Result<()> {
    // It may wait for its use for hours: it was opened ahead of need.
    let request = tokio::select! {
        request = Request::read(&mut stream) => request?,
        () = link.removed() => {
            stream.reset();
            return Ok(());
        }
    };
    drop(place);
    let ends = match request {
        None => return Ok(()),
        Some(Request::Stream(ends)) => ends,
        Some(Request::Packets { unordered }) => {
            let Some(delivery) = delivery else {
                tracing::warn!(peer = link.name, "sends packets, and there is no [tun] in the configuration");
                stream.reset();
                return Ok(());
            };
            let replaced = link.replaces_packets(unordered);
            return tokio::select! {
                received = packets::receive(link, stream, delivery, unordered) => received,
                _ = replaced => Ok(()),
            };
        }
        Some(Request::Trains) => return trains::answer(link, stream).await,
    };
    let destination = &ends.destination;
    if !link.places.has_room() {
        count_over_limit(link);
        return refuse(stream, Outcome::Failed).await;
    }
    relay::set_dscp(&stream, ends.dscp);
    let mut half_open = link.places.half_open(Side::Far, ends.client);
    let connected = tokio::select! {
        // The near gateway, or its host, has given up.
        error = stream.failed() => {
            link.counters.abandoned.fetch_add(1, Ordering::Relaxed);
            return Err(error);
        }
        () = half_open.displaced() => {
            link.counters.displaced.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(peer = link.name, %destination, "gives way to others");
            drop(half_open);
            return refuse(stream, Outcome::TimedOut).await;
        }
        connected = timeout(CONNECT_TIMEOUT, connect(link, destination, ends.dscp)) => {
            connected.unwrap_or(Err(Outcome::TimedOut))
        }
    };
    drop(half_open);
    match connected {
        Ok(mut socket) => {
            let Some(place) = link.places.open() else {
                count_over_limit(link);
                return refuse(stream, Outcome::Failed).await;
            };
            let address = socket.peer_addr()?;
            if link.is_told_clients(address.ip()) {
                socket.write_all(&proxy_header::header(ends.client, address)).await?;
            }
            stream.write_u8(Outcome::Connected as u8).await?;
            tracing::debug!(peer = link.name, %destination, "connected");
            link.counters.opened.fetch_add(1, Ordering::Relaxed);
            link.join(socket, Said::default(), (stream, place), ends).await?;
        }
        Err(outcome) => {
            tracing::debug!(peer = link.name, %destination, ?outcome, "not connected");
            link.counters.refused.fetch_add(1, Ordering::Relaxed);
            refuse(stream, outcome).await?;
        }
    }
    Ok(())
}

async fn refuse(mut stream: Stream, outcome: Outcome) -> io::Result<()> {
    stream.write_u8(outcome as u8).await?;
    stream.shutdown().await?;
    // What the host said early is read, for as long as the answer may take: left unread it would reset the stream before the answer.
    let _ = timeout(REFUSAL_TIMEOUT, tokio::io::copy(&mut stream, &mut tokio::io::sink())).await;
    Ok(())
}

async fn connect(link: &PeerLink, destination: &Destination, dscp: Dscp) -> Result<Socket, Outcome> {
    if !link.has_memory() {
        return Err(Outcome::Failed);
    }
    let mut addresses = match destination {
        Destination::Address(address) => vec![*address],
        Destination::Name(name, port) => look_up(link, name, *port).await?,
    };
    if addresses.is_empty() {
        return Err(Outcome::UnknownName);
    }
    addresses.retain(|address| link.allows(address.ip()));
    match happy_eyeballs::connect(addresses, move |address| connect_to(address, dscp)).await {
        Ok(socket) => {
            relay::set_up(&socket);
            Ok(socket)
        }
        Err(None) => Err(Outcome::NotAllowed),
        Err(Some((address, error))) => {
            let outcome = Outcome::of(&error);
            if outcome == Outcome::Failed
                && let Some(times) = link.counters.failed.happened()
            {
                tracing::warn!(peer = link.name, times, %address, %error, "streams are refused");
            }
            Err(outcome)
        }
    }
}

async fn look_up(link: &PeerLink, name: &str, port: u16) -> Result<Vec<SocketAddr>, Outcome> {
    let Ok(place) = link.lookups.clone().acquire_owned().await else { return Err(Outcome::Failed) };
    let name = name.to_owned();
    // The thread that looks it up goes on when this is given up, and has its place until then.
    let found = tokio::spawn(async move {
        let found = lookup_host((name.as_str(), port)).await.map(Iterator::collect);
        drop(place);
        found
    });
    found.await.ok().and_then(Result::ok).ok_or(Outcome::UnknownName)
}

/// A connection whose SYN has the DSCP too.
async fn connect_to(address: SocketAddr, dscp: Dscp) -> io::Result<Socket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    relay::mark(&socket, address.ip(), dscp);
    socket.connect(address).await
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::log::Log;
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::config::{Destinations, Rules};
    use crate::stream::linked::{Linked, soon};

    #[tokio::test]
    async fn a_destination_that_refuses_is_no_failure_of_the_gateway() {
        let log = Log::up_to(tracing::Level::WARN);
        let _guard = tracing::subscriber::set_default(log.clone());
        let link = Linked::new().far;
        let texts = ["127.0.0.1/32", "fe80::/10"].map(String::from);
        let destinations = Destinations::parse(&texts).expect("prefixes");
        link.set_rules(Rules { destinations, link_rate: None, proxy_protocol: Vec::new() });
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr();
        // No interface is named, and the kernel asks for one.
        let impossible = "[fe80::1]:9".parse().expect("an address");
        for (to, outcome, warnings) in
            [(closed.expect("an address"), Outcome::Refused, 0), (impossible, Outcome::Failed, 1)]
        {
            let connected = connect(&link, &Destination::Address(to), Dscp::DEFAULT).await;
            assert_eq!(connected.map(drop), Err(outcome));
            assert_eq!(log.lines("streams are refused").len(), warnings, "{to}");
        }
    }

    #[tokio::test]
    async fn a_refusal_arrives_though_what_was_said_early_is_unread() {
        let (mut near, mut far) = Linked::new().connect().await;
        near.write_all(&[7; 4096]).await.expect("open");
        far.read_u8().await.expect("the rest has arrived too");
        let near = async {
            let outcome = Outcome::read(&mut near).await.expect("an answer");
            near.reset();
            outcome
        };
        let (outcome, refused) = soon(async { tokio::join!(near, refuse(far, Outcome::Refused)) }).await;
        refused.expect("sent");
        assert_eq!(outcome, Outcome::Refused);
    }
}
