//! What an observer is told of acknowledgements.

use headway_tcp::{ConnectionId, Event, Observer, Profile};
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts};
use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

/// Each `SND.UNA` that the observer was told of.
#[derive(Default)]
struct Told(Vec<SeqNumber>);

impl Observer for Told {
    fn event(&mut self, _: Instant, _: ConnectionId, event: &Event) {
        if let Event::Acknowledged { una } = event {
            self.0.push(*una);
        }
    }
}

/// Data of the peer, and its window updates, bear an acknowledgement number too.
#[test]
fn an_acknowledgement_is_told_once() {
    let mut pair = TwoHosts::observed(Profile::modern(), Told::default(), Duration::from_millis(1));
    for _ in 0..3 {
        pair.write(CLIENT, 1000);
        pair.wait(Duration::from_secs(1));
        pair.write(SERVER, 10_000);
        pair.wait(Duration::from_secs(1));
        pair.read(CLIENT);
        pair.wait(Duration::from_secs(1));
    }
    let told = pair.into_observer().0;
    assert!(told.len() >= 3 && told.windows(2).all(|two| two[0].lt(two[1])), "{told:?}");
}
