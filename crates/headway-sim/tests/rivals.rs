//! Whether flows of `headway` whose packets are damaged leave others, who are spared, what `modern` with the same
//! controller would leave them undamaged. `beyond/fair-*.toml` has every queue; here are two that were hard.

use headway_link::{Aqm, Damage, HitZone, QueueLimit};
use headway_sim::Content;
use headway_sim::race::{Companion, Scenario, TcpSender, run};
use headway_tcp::Variant;
use headway_tcp::congestion::Algorithm;
use headway_units::{Duration, Share, Size};

const SEEDS: [u64; 7] = [1, 2, 3, 4, 5, 6, 7];
const BBR: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Bbr) };
const HEADWAY: TcpSender = TcpSender { variant: Variant::Headway, congestion: None };

const CODEL: Aqm = Aqm::Codel { target: Duration::from_millis(5), interval: Duration::from_millis(100) };

/// 10 Mbit/s, RTT 100 ms, and a queue of `packets`; the bandwidth-delay product is 83.5.
fn scenario(aqm: Aqm, packets: u32) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.jitter = Duration::from_millis(1);
    scenario.forward.delay = Duration::from_millis(50);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.queue = QueueLimit::Packets(packets);
    scenario.forward.aqm = aqm;
    scenario.forward.header_hit = Some(Share::new(0.4).expect("a share"));
    scenario.forward.hit_zone = HitZone::IpAndTcpHeader;
    scenario.window = Size::from_bytes(16 << 20);
    scenario.duration = Some(Duration::from_secs(60));
    scenario
}

/// What `flows` undamaged rivals with BBR have beside `flows` damaged flows of `headway`, as a share of what they have beside
/// undamaged ones with BBR; the medians of all seeds.
fn share_kept(mut scenario: Scenario, flows: usize) -> f64 {
    let rival = Companion { damaged: false, rival: true, ..Companion::new(BBR) };
    let [beside_headway, beside_bbr] =
        [(HEADWAY, Damage::Random { p: Share::new(0.02).expect("a share") }), (BBR, Damage::None)].map(
            |(sender, damage)| {
                scenario.forward.damage = damage;
                scenario.companions = [vec![Companion::new(sender); flows - 1], vec![rival; flows]].concat();
                let mut kept = SEEDS.map(|seed| {
                    let outcome = run(&scenario, sender, &Content::generated(200 << 20), seed, false)
                        .expect("an explicable run");
                    let rivals = outcome.companions.iter().filter(|flow| flow.rival);
                    rivals.map(|flow| flow.goodput_bps).sum::<f64>()
                });
                kept.sort_by(f64::total_cmp);
                kept[SEEDS.len() / 2]
            },
        );
    beside_headway / beside_bbr
}

/// CoDel marks new data and drops retransmissions. Of blocks they are short: while their bytes counted, the rivals kept
/// 0.69.
#[test]
fn lost_blocks_are_signs_of_congestion() {
    let kept = share_kept(scenario(CODEL, 334), 4);
    assert!(kept >= 0.9, "the rivals keep {kept:.3}");
}

/// Where the path loses 1 % in silence too, BBR slows down beside others: while `headway` took these losses for damage, the
/// rival kept 0.81.
#[test]
fn silent_losses_that_bbr_tolerates_are_answered_beside_others() {
    let mut scenario = scenario(CODEL, 84);
    scenario.forward.loss = Share::new(0.01).expect("a share").into();
    let kept = share_kept(scenario, 1);
    assert!(kept >= 0.9, "the rival keeps {kept:.3}");
}
