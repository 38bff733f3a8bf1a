//! The far end of streams: connects to where they go.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headway_net::{TcpListener, TcpStream as Stream};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpStream as Socket, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::link::{Link, MOST_SPARE};
use crate::packets::{self, Delivery};
use crate::proxy_header;
use crate::relay;
use crate::request::{Destination, Outcome, Request};

/// How long a destination may take to answer: what the kernel's TCP takes to give up (RFC 1122, 4.2.3.5, asks for 3
/// minutes at least) is more than people wait.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(130);

/// Accepts the streams of one peer, as long as the stack runs. At most `most` of all peers are open. `delivery` is for its
/// packets, where they are taken.
pub(crate) async fn serve(
    link: Arc<Link>,
    listener: TcpListener,
    (streams, most): (Arc<Semaphore>, usize),
    delivery: Option<Arc<Delivery>>,
) -> io::Error {
    // A peer that keeps the rules has no more that wait for their request.
    let waiting = Arc::new(Semaphore::new(most + MOST_SPARE));
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
        let (link, streams, delivery) = (link.clone(), streams.clone(), delivery.clone());
        tokio::spawn(async move {
            if let Err(error) = answer(&link, stream, (place, streams), delivery.as_deref()).await {
                tracing::debug!(peer = link.name, %error, "a stream ended");
            }
        });
    }
}

fn count_over_limit(link: &Link) {
    link.counters.refused.fetch_add(1, Ordering::Relaxed);
    if let Some(times) = link.counters.over_limit.happened() {
        tracing::warn!(peer = link.name, times, "streams are refused: gateway.max-streams are open");
    }
}

async fn answer(
    link: &Link,
    mut stream: Stream,
    (place, streams): (OwnedSemaphorePermit, Arc<Semaphore>),
    delivery: Option<&Delivery>,
) -> io::Result<()> {
    // It may wait for its use for hours: it was opened ahead of need.
    let request = Request::read(&mut stream).await?;
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
    };
    let Ok(_permit) = streams.try_acquire_owned() else {
        count_over_limit(link);
        return refuse(stream, Outcome::Failed).await;
    };
    let destination = &ends.destination;
    match connect(link, destination).await {
        Ok(mut socket) => {
            let address = socket.peer_addr()?;
            if link.is_told_clients(address.ip()) {
                socket.write_all(&proxy_header::header(ends.client, address)).await?;
            }
            stream.write_u8(Outcome::Connected as u8).await?;
            tracing::debug!(peer = link.name, %destination, "connected");
            link.counters.opened.fetch_add(1, Ordering::Relaxed);
            link.join(socket, stream, ends).await?;
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
    stream.shutdown().await
}

async fn connect(link: &Link, destination: &Destination) -> Result<Socket, Outcome> {
    if !link.has_memory() {
        return Err(Outcome::Failed);
    }
    let addresses: Vec<SocketAddr> = match destination {
        Destination::Address(address) => vec![*address],
        Destination::Name(name, port) => {
            let found = lookup_host((name.as_str(), *port)).await.map_err(|_| Outcome::UnknownName)?;
            found.collect()
        }
    };
    let mut outcome = if addresses.is_empty() { Outcome::UnknownName } else { Outcome::NotAllowed };
    for address in addresses {
        if !link.allows(address.ip()) {
            continue;
        }
        match timeout(CONNECT_TIMEOUT, Socket::connect(address)).await {
            Ok(Ok(socket)) => {
                relay::set_up(&socket);
                return Ok(socket);
            }
            Ok(Err(error)) => {
                outcome = Outcome::of(&error);
                if outcome == Outcome::Failed
                    && let Some(times) = link.counters.failed.happened()
                {
                    tracing::warn!(peer = link.name, times, %address, %error, "streams are refused");
                }
            }
            Err(_) => outcome = Outcome::TimedOut,
        }
    }
    Err(outcome)
}
