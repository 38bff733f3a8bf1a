//! Any bytes as what a gateway reads of its peers and hosts: requests, answers, addresses, IP packets.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use headway_units::Instant;

use crate::packets::{ip_packet, quic::QuicFlows};
use crate::stream::request::{Destination, Outcome, Request};

/// What is read can be written, and is read as the same again; what is refused is so with a message of one line.
pub(crate) fn check_requests(bytes: &[u8]) {
    let mut rest = bytes;
    match ready(Request::read(&mut rest)) {
        Ok(Some(request)) => {
            let (written, len) = (written(&request), bytes.len() - rest.len());
            let again =
                ready(Request::read(&mut &written[..])).expect("what was written").expect("a request");
            // An IPv4 address in the form of IPv6 is written as what it is.
            assert!(written == bytes[..len] || written.len() < len);
            assert_eq!(self::written(&again), written);
        }
        Ok(None) => assert!(bytes.is_empty()),
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
    }
    assert_eq!(ready(Outcome::read(&mut &bytes[..])).is_ok(), !bytes.is_empty());

    let text = String::from_utf8_lossy(bytes);
    if let Some(destination) = Destination::parse(&text) {
        assert_eq!(Destination::parse(&destination.to_string()), Some(destination));
    }

    let mut flows = QuicFlows::default();
    let is_quic = flows.contains(Instant::ZERO, 1, bytes);
    assert!(!is_quic || ip_packet::protocol(bytes) == Some(17));
    assert_eq!(flows.contains(Instant::ZERO, 1, bytes), is_quic);
    assert!(ip_packet::ends(bytes).is_none_or(|(src, dst)| src.is_ipv4() == dst.is_ipv4()));
}

fn written(request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    ready(request.write(&mut bytes)).expect("a vector takes all");
    bytes
}

/// What a future gives that waits for nothing.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("bytes in memory are there"),
    }
}

#[cfg(test)]
#[test]
fn the_corpus_holds() {
    headway_test_fixture::corpus::replay("trunk_requests", check_requests);
}
