//! The box of a run.

use headway_lab::LabError;
use headway_link::LinkConfig;
use headway_net::CaptureFile;
use headway_net::error_delay_box::{BoxConfig, BoxControl, LaneConfig, LiveBox};
use headway_sim::derive_seed;
use headway_sim::race::{FORWARD_LINK, REVERSE_LINK, Scenario};

use crate::interfaces::inside;
use crate::network::{BOXES, RunNetwork};

/// Opens a box in the middle of the network: packets that come are kept until it runs. It takes its random numbers from
/// the seed as the simulator's links do, so the same packets meet the same fates.
pub(crate) fn open(
    network: &RunNetwork,
    scenario: &Scenario,
    seed: u64,
    capture: Option<CaptureFile>,
) -> Result<(LiveBox, BoxControl), LabError> {
    let lane =
        |link: &LinkConfig, purpose| LaneConfig { link: link.clone(), seed: derive_seed(seed, purpose, 0) };
    let config = BoxConfig {
        interfaces: BOXES.map(str::to_owned),
        lanes: [lane(&scenario.forward, FORWARD_LINK), lane(&scenario.reverse, REVERSE_LINK)],
        real_time: true,
        capture,
    };
    inside(&network.between, || LiveBox::open(config).map_err(|error| LabError::RealTime(error.to_string())))
}
