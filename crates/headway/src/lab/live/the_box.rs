//! The box of a run.

use headway_lab::LabError;
use headway_net::CaptureFile;
use headway_net::error_delay_box::{BoxConfig, BoxControl, BoxEnd, LaneConfig, LiveBox};
use headway_sim::derive_seed;
use headway_sim::race::{FORWARD_LINK, REVERSE_LINK, Scenario};

use super::testbed::{BOXES, Testbed, inside};

/// A box that carries packets between the hosts of a testbed.
pub(super) struct TheBox {
    open: LiveBox,
    control: BoxControl,
}

impl TheBox {
    /// Opens it in the middle of the testbed: packets that come are kept until it runs. It takes its chance
    /// from the seed as the simulator's links do, so the same packets meet the same fates.
    pub(super) fn open(
        testbed: &Testbed,
        scenario: &Scenario,
        seed: u64,
        capture: Option<CaptureFile>,
    ) -> Result<Self, LabError> {
        let lane = |link: &headway_link::LinkConfig, purpose| LaneConfig {
            link: link.clone(),
            seed: derive_seed(seed, purpose, 0),
        };
        let config = BoxConfig {
            interfaces: BOXES.map(str::to_owned),
            lanes: [lane(&scenario.forward, FORWARD_LINK), lane(&scenario.reverse, REVERSE_LINK)],
            real_time: true,
            capture,
        };
        let opened = inside(&testbed.between, || {
            LiveBox::open(config).map_err(|error| LabError::Live(error.to_string()))
        });
        opened.map(|(open, control)| Self { open, control })
    }

    /// What stops it, from any thread.
    pub(super) fn control(&self) -> BoxControl {
        self.control.clone()
    }

    /// Carries packets until it is stopped.
    pub(super) fn run(self) -> BoxEnd {
        self.open.run()
    }
}
