//! What a link has, by the features of its world.

use headway_link::{Aqm, Damage, LinkConfig, Loss, Policer};
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Rate, Share};

use crate::{Feature, Features};

/// Takes away what the world does not have.
pub(crate) fn limit(link: &mut LinkConfig, features: Features) {
    if !features.has(Feature::Rate) {
        link.rate = None;
        link.queue = headway_link::QueueLimit::Unlimited;
    }
    if !features.has(Feature::Jitter) {
        link.jitter = Duration::ZERO;
    }
    if !features.has(Feature::Loss) {
        link.loss = Loss::NONE;
    }
    if !features.has(Feature::Damage) {
        link.damage = Damage::None;
    }
    if !features.has(Feature::HeaderDamage) {
        link.header_hit = Some(Share::ZERO);
    }
    if !features.has(Feature::Duplicate) {
        link.duplicate = Share::ZERO;
    }
    if !features.has(Feature::Reorder) {
        link.reorder = Share::ZERO;
    }
}

/// Draws a queue that is managed, a policer, and a rate and a delay that change. All of it is drawn, whatever the world has:
/// what one feature less leaves is as it was.
pub(crate) fn extend(rng: &mut Rng, link: &mut LinkConfig, features: Features) {
    let aqm = rng.pick(&["codel", "codel:1ms:10ms", "fq-codel", "pie", "red:2:8:10%", "red"]);
    let percent = rng.between(50, 300);
    let bucket = rng.between(3_000, 60_000_u64);
    let slower = rng.between(50, 100);
    let longer = rng.between(0, 50);
    let (first, period) = (rng.between(20, 2_000_u64), rng.between(2_100, 9_000_u64));
    let [has_aqm, has_policer, has_steps] = [(); 3].map(|()| rng.permille(400));
    let rate = link.rate.map(Rate::bits_per_second);
    if has_aqm
        && features.has(Feature::Aqm)
        && rate.is_some()
        && let Ok(aqm) = aqm.parse::<Aqm>()
    {
        link.aqm = aqm;
    }
    if has_policer
        && features.has(Feature::Policer)
        && let Some(rate) = rate
        && let Ok(policer) = format!("{}bit:{bucket}", rate * percent / 100).parse::<Policer>()
    {
        link.policer = Some(policer);
    }
    if has_steps && features.has(Feature::Steps) {
        let at = format!("{first}ms,repeat@{period}ms");
        if let Some(rate) = rate {
            let steps = format!("{rate}bit@0s,{}bit@{at}", (rate * slower / 100).max(1));
            link.rate_steps = steps.parse().ok();
            link.rate = None;
        }
        let delay = link.delay.as_micros();
        let steps = format!("{delay}us@0s,{}us@{at}", delay + delay * longer / 100);
        link.delay_steps = steps.parse().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extension_is_drawn() {
        let mut rng = Rng::new(1);
        let mut drawn = [0; 4];
        for _ in 0..200 {
            let rate = Some(Rate::from_bits_per_second(1_000_000));
            let mut link = LinkConfig { rate, delay: Duration::from_millis(10), ..LinkConfig::default() };
            extend(&mut rng, &mut link, Features::ALL);
            let has = [
                link.aqm != Aqm::None,
                link.policer.is_some(),
                link.rate_steps.is_some(),
                link.delay_steps.is_some(),
            ];
            drawn.iter_mut().zip(has).for_each(|(count, has)| *count += u32::from(has));
            let mut plain = LinkConfig::default();
            extend(&mut rng, &mut plain, Features::NONE);
            assert_eq!(plain, LinkConfig::default());
        }
        assert!(drawn.iter().all(|&count| count > 40), "{drawn:?}");
    }
}
