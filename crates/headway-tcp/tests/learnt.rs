//! What a host learns of a path from the packets of two hosts.

use headway_tcp::{Profile, Variant};
use headway_test_fixture::two_hosts::{CLIENT, Fate, SERVER, TwoHosts, address};
use headway_units::Duration;

/// Two hosts, 50 ms from each other.
fn pair(profile: Profile) -> TwoHosts {
    TwoHosts::observed(profile, (), Duration::from_millis(50))
}

#[test]
fn that_packets_overtake_each_other_is_remembered() {
    for (late, reordering) in [(None, false), (Some(30), true)] {
        let mut pair = pair(Profile::modern());
        pair.write(CLIENT, 60_000);
        pair.run(Duration::from_secs(5), |passing| match passing.data {
            Some(place) if late == Some(place) => Fate::Late(Duration::from_millis(10)),
            _ => Fate::Arrives,
        });
        let path = pair.hosts[CLIENT].path(address(CLIENT), address(SERVER)).expect("it is in use");
        assert_eq!(path.memory.expect("a window was measured").reordering, reordering);
    }
}

/// Of a few segments at a time one is lost in silence, again and again: in between the path carries more than these, or does not.
#[test]
fn losses_of_little_show_that_a_path_damages_packets() {
    for (carried, damages) in [(7000, false), (60_000, true)] {
        let mut pair = pair(Variant::Headway.apply(Profile::modern()));
        for _ in 0..20 {
            pair.write(CLIENT, 7000);
            pair.run(Duration::from_secs(1), |passing| {
                if passing.data == Some(1) { Fate::Lost } else { Fate::Arrives }
            });
            pair.write(CLIENT, carried);
            pair.wait(Duration::from_secs(1));
        }
        let path = pair.hosts[CLIENT].path(address(CLIENT), address(SERVER)).expect("it is in use");
        assert_eq!(path.ledger.attributed().damage > 0, damages, "{:?}", path.ledger.attributed());
    }
}
