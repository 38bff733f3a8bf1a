//! What an observer is told of loss recovery.

use headway_tcp::{ConnectionId, Event, LossRecovery, Observer, Profile, RecoveryPhase};
use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts};
use headway_units::{Duration, Instant};

#[derive(Default)]
struct Told(Vec<RecoveryPhase>);

impl Observer for Told {
    fn event(&mut self, _: Instant, _: ConnectionId, event: &Event) {
        if let Event::Recovery(phase) = event {
            self.0.push(*phase);
        }
    }
}

/// The phases of a transfer in which the segments `lost` do not arrive.
fn phases(recovery: LossRecovery, sack: bool, lost: &[usize]) -> Vec<RecoveryPhase> {
    let profile = Profile { recovery, sack, ..Profile::standard() };
    let mut pair = TwoHosts::observed(profile, Told::default(), Duration::from_millis(50));
    pair.write(CLIENT, 100_000);
    pair.run(Duration::from_secs(10), |passing| {
        if passing.data.is_some_and(|place| lost.contains(&place)) { Fate::Lost } else { Fate::Arrives }
    });
    assert_eq!(pair.statistics(CLIENT).unacknowledged, 0);
    pair.into_observer().0
}

#[test]
fn each_recovery_is_told_and_nothing_without_a_loss() {
    for recovery in [LossRecovery::Reno, LossRecovery::Standard, LossRecovery::Linux22, LossRecovery::RackTlp]
    {
        for sack in [false, true] {
            assert_eq!(phases(recovery, sack, &[]), [], "{recovery:?}, SACK {sack}");
            let told = phases(recovery, sack, &[20]);
            assert_eq!(told.last(), Some(&RecoveryPhase::Over), "{recovery:?}, SACK {sack}: {told:?}");
        }
    }
}
