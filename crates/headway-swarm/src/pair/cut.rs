//! A schedule with the features of its world, and no others.

use headway_test_fixture::rng::Rng;

use super::plan::Plan;
use crate::side::plan::{Closes, Style};
use crate::{Case, Feature, links};

/// Takes out of a plan what its world does not have, and adds what only worlds have.
pub(crate) fn cut(plan: &mut Plan, case: &Case) {
    let features = case.features();
    let has = |feature| features.has(feature);
    let mut rng = Rng::new(case.seed ^ 0x6375_7400);
    plan.harsh = case.shortened(plan.harsh);
    for link in &mut plan.links {
        links::limit(link, features);
        links::extend(&mut rng, link, features);
    }
    for adversary in &mut plan.adversaries {
        if !has(Feature::Aim) {
            adversary.treatments.clear();
        }
        if !has(Feature::Duplicate) {
            adversary.treatments.iter_mut().for_each(|treatment| treatment.duplicate = 0);
        }
        if !has(Feature::Reorder) {
            adversary.treatments.iter_mut().for_each(|treatment| treatment.hold = 0);
        }
        if !has(Feature::Mute) {
            adversary.blackouts.clear();
        }
        if !has(Feature::Truncate) {
            adversary.truncate = 0;
        }
        if !has(Feature::Undetected) {
            (adversary.swap_payload, adversary.flip_header) = (0, 0);
        }
    }
    if !has(Feature::Mtu) {
        plan.mtu_changes.clear();
    }
    for side in plan.flows.iter_mut().flat_map(|flow| &mut flow.sides) {
        if !has(Feature::Slow)
            && let Style::Timed { .. } = side.style
        {
            side.style = Style::Told;
        }
        if !has(Feature::Abort) {
            side.aborts = None;
        }
        if !has(Feature::Leave) && side.closes == Closes::Leaves {
            side.closes = Closes::Written;
        }
        if !has(Feature::Change) {
            side.changes = None;
        }
    }
    let mut number = 0;
    plan.flows.retain(|_| {
        number += 1;
        case.has_flow(number - 1)
    });
}
