//! A tap ends a run in its middle, and changes nothing of one that it does not end.

use headway_sim::race::{RunError, RunSettings, Scenario, run, run_recorded};
use headway_sim::{Content, Passing, Tap};
use headway_tcp::Variant;

/// Ends the run at this packet.
struct StopAt(u64);

impl Tap for StopAt {
    fn pass(&mut self, _passing: &Passing<'_>) {
        self.0 = self.0.saturating_sub(1);
    }

    fn is_stopped(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_tap_ends_a_run_or_leaves_it_as_it_is() {
    let mut scenario = Scenario::default();
    scenario.forward.damage = "burst:5%:5".parse().expect("a model");
    let content = Content::generated(200_000);
    let whole = run(&scenario, Variant::Headway, &content, 1, false).expect("a run");
    let with = |tap: Option<StopAt>| {
        let settings = RunSettings { scenario: &scenario, content: &content, seed: 1, hash: false };
        run_recorded(settings, Variant::Headway, || (), tap)
    };
    for at in [0, 1, 100] {
        assert!(matches!(with(Some(StopAt(at))), Err(RunError::Stopped)), "at packet {at}");
    }
    let left = with(Some(StopAt(u64::MAX))).expect("a run");
    assert_eq!(left.outcome.metrics, whole.metrics);
    let packets = u64::MAX - left.tap.expect("the tap").0;
    assert!(packets > 300, "{packets}");
    // The last packets are those of the close, after the result: a run that is stopped there has none either.
    assert!(matches!(with(Some(StopAt(packets))), Err(RunError::Stopped)));
    assert_eq!(with(None).expect("a run").outcome.metrics, whole.metrics);
}
