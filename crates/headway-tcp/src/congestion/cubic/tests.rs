use super::super::bottleneck::Bottleneck;
use super::super::testing::{ack, loss, sample, setup};
use super::*;

const MSS: u32 = 1000;

fn cubic() -> Cubic {
    let mut cubic = Cubic::new(&Setup { hystart: true, pacing: true, deliveries: true, ..setup(10) });
    cubic.set_mss(MSS, true);
    cubic
}

/// A controller at 100 segments that has just lost one.
fn reduced() -> Cubic {
    let mut cubic = cubic();
    cubic.on_ack(&ack(90 * MSS, 10 * MSS));
    assert_eq!(cubic.window(), 100 * MSS);
    cubic.on_loss(&loss(100 * MSS));
    cubic.on_recovery_end(&loss(70 * MSS));
    cubic
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Acknowledges whole windows, segment by segment, spread evenly over round trips of `rtt`
/// milliseconds from `from` to `to`.
fn acknowledge(cubic: &mut Cubic, rtt: u64, from: u64, to: u64) {
    let mut now = from * 1000;
    while now < to * 1000 {
        let window = cubic.window();
        cubic.on_ack(&Ack {
            now: Instant::ZERO + Duration::from_micros(now),
            rtt: Some(Duration::from_millis(rtt)),
            ..ack(MSS, window)
        });
        now += rtt * 1000 * u64::from(MSS) / u64::from(window);
    }
}

#[test]
fn a_loss_reduces_to_seven_tenths() {
    let cubic = reduced();
    assert_eq!((cubic.window(), cubic.ssthresh()), (70 * MSS, 70 * MSS));
}

#[test]
fn a_reduction_keeps_two_segments_on_loss_and_one_on_ecn() {
    let mut cubic = cubic();
    cubic.on_loss(&loss(MSS));
    assert_eq!((cubic.window(), cubic.ssthresh()), (2 * MSS, 2 * MSS));
    cubic.on_ecn(&loss(MSS));
    assert_eq!((cubic.window(), cubic.ssthresh()), (MSS, 2 * MSS));
}

/// 9438, 4.2 and 4.4: with C = 0.4, `W_max` = 100 and a window of 70, K is 4.217 s. At 600 ms the
/// window is 100 - 0.4 * 3.617^3 = 81.07, at 2 s 95.64, at K 100, 3 s later 110.8. A window
/// that aims one round trip R ahead differs from that by R^2 / 2 times the curve's second
/// derivative: by -0.96 at 2 s, by 1.3 in the end.
#[test]
fn the_window_follows_the_cubic_function() {
    let mut cubic = reduced();
    // Reno with alpha 9/17 would have 70 + 0.53 * t / RTT: at 600 ms the cubic is above it throughout.
    acknowledge(&mut cubic, 600, 0, 600);
    assert_near(cubic.window(), 81_070, 2500);
    acknowledge(&mut cubic, 600, 600, 2000);
    assert_near(cubic.window(), 95_640 - 960, 300);
    acknowledge(&mut cubic, 600, 2000, 4217);
    assert_near(cubic.window(), 100_000, 300);
    acknowledge(&mut cubic, 600, 4217, 7217);
    assert_near(cubic.window(), 110_800 + 1300, 500);
}

fn assert_near(value: u32, expected: u32, tolerance: u32) {
    assert!(value.abs_diff(expected) <= tolerance, "{value} is not {expected} +- {tolerance}");
}

/// 9438, 4.3: at 10 ms Reno grows faster. 70 segments grow by 9/17 per round trip until `W_est` reaches
/// 100, which takes 57 round trips, then by 1.
#[test]
fn the_reno_friendly_region_grows_by_alpha_and_then_by_one() {
    let mut cubic = reduced();
    acknowledge(&mut cubic, 10, 0, 200);
    assert_near(cubic.window(), 70_000 + 20 * 1000 * 9 / 17, 200);
    acknowledge(&mut cubic, 10, 200, 570);
    assert_near(cubic.window(), 100_000, 700);
    acknowledge(&mut cubic, 10, 570, 770);
    assert_near(cubic.window(), 120_000, 1000);
}

/// 9438, 4.7: `W_max` = 80 * (1 + 0.7) / 2 = 68.
#[test]
fn fast_convergence_reduces_w_max() {
    let mut cubic = reduced();
    acknowledge(&mut cubic, 600, 0, 500);
    let cwnd = cubic.window();
    assert!(cwnd < 100 * MSS);
    cubic.on_loss(&loss(cwnd));
    assert_eq!(cubic.state.w_max, Some(share(cwnd, (17, 20))));
    assert_eq!(cubic.state.cwnd_prior, cwnd);
    // Past the plateau the window itself is remembered.
    cubic.on_recovery_end(&loss(cwnd));
    acknowledge(&mut cubic, 600, 1000, 9000);
    let cwnd = cubic.window();
    assert!(cwnd > 68 * MSS);
    cubic.on_loss(&loss(cwnd));
    assert_eq!(cubic.state.w_max, Some(cwnd));
}

/// 9438, 4.8: after a timeout, slow start up to the threshold, then the curve's convex half.
#[test]
fn a_timeout_starts_the_curve_at_its_plateau() {
    let mut cubic = reduced();
    cubic.on_timeout(&loss(70 * MSS), true);
    cubic.on_timeout(&loss(70 * MSS), false);
    assert_eq!((cubic.window(), cubic.ssthresh()), (MSS, 49 * MSS));
    cubic.on_ack(&ack(60 * MSS, MSS));
    assert_eq!(cubic.window(), 49 * MSS, "slow start ends at the threshold");
    acknowledge(&mut cubic, 600, 0, 10);
    let epoch = cubic.state.epoch.unwrap();
    assert_eq!((epoch.k, epoch.w_max), (0, 49 * MSS));
    // 49 + 0.4 * 3^3 = 59.8 after three seconds.
    acknowledge(&mut cubic, 600, 10, 3000);
    assert_near(cubic.window(), 59_800, 1500);
}

/// 9438, 4.10: HyStart++ leaves slow start without a loss.
#[test]
fn leaving_slow_start_without_a_loss_starts_at_the_plateau() {
    let mut cubic = cubic();
    let mut delivered = 0;
    for round in 0..12 {
        let prior = delivered;
        for _ in 0..10 {
            delivered += u64::from(MSS);
            let mut one = ack(MSS, cubic.window());
            one.rate = Some(sample(prior, delivered));
            one.rtt = Some(Duration::from_millis(100 + 20 * round));
            cubic.on_ack(&one);
        }
    }
    let epoch = cubic.state.epoch.expect("congestion avoidance");
    assert_eq!(epoch.k, 0);
    assert_eq!(cubic.state.cwnd_prior, cubic.ssthresh());
}

/// 9438, 4.9.2.
#[test]
fn a_spurious_loss_restores_everything() {
    let mut cubic = reduced();
    acknowledge(&mut cubic, 600, 0, 2000);
    let before = format(&cubic);
    cubic.on_loss(&loss(cubic.window()));
    assert_ne!(format(&cubic), before);
    cubic.on_spurious();
    assert_eq!(format(&cubic), before);
    cubic.on_spurious();
    assert_eq!(format(&cubic), before, "once only");
    cubic.on_timeout(&loss(cubic.window()), true);
    cubic.on_spurious();
    assert_eq!(format(&cubic), before);
}

fn format(cubic: &Cubic) -> alloc::string::String {
    alloc::format!("{:?}", cubic.state)
}

#[test]
fn an_undo_that_comes_late_leaves_a_larger_window() {
    let mut cubic = reduced();
    acknowledge(&mut cubic, 600, 0, 8000);
    let window = cubic.window();
    assert!(window > 100 * MSS);
    cubic.on_spurious();
    assert_eq!(cubic.window(), window);
}

/// 9438, 4.2 and 5.8: time in which the window is not used does not count.
#[test]
fn a_pause_does_not_age_the_curve() {
    let mut cubic = reduced();
    acknowledge(&mut cubic, 600, 0, 600);
    let window = cubic.window();
    // A minute with little to send.
    for step in 0..60 {
        cubic.on_ack(&Ack { now: at(1000 + 1000 * step), ..ack(MSS, MSS) });
    }
    assert_eq!(cubic.window(), window);
    // A minute without sending.
    cubic.on_sent(at(120_000), 0, true);
    acknowledge(&mut cubic, 600, 120_000, 121_000);
    assert_near(cubic.window(), window + 10_000, 4000);
}

#[test]
fn idle_time_leads_back_to_the_initial_window() {
    let mut cubic = reduced();
    acknowledge(&mut cubic, 600, 0, 4000);
    let window = cubic.window();
    cubic.on_idle();
    assert_eq!(cubic.window(), 10 * MSS);
    assert_eq!(cubic.ssthresh(), window / 4 * 3 + window % 4 * 3 / 4);
}

#[test]
fn damage_opens_the_window_and_never_closes_it() {
    let mut cubic = cubic();
    cubic.on_ack(&ack(10 * MSS, 10 * MSS));
    cubic.on_damage(Instant::ZERO, 5 * MSS);
    assert_eq!(cubic.window(), 25 * MSS);
    // In congestion avoidance likewise: half of the bytes arrive corrupted, and the curve does not change.
    let mut cubic = reduced();
    let mut now = 0;
    while now < 4_217_000 {
        let window = cubic.window();
        let moment = Instant::ZERO + Duration::from_micros(now);
        cubic.on_damage(moment, MSS);
        let rtt = Some(Duration::from_millis(600));
        cubic.on_ack(&Ack { now: moment, rtt, ..ack(MSS, window) });
        now += 2 * 600_000 * u64::from(MSS) / u64::from(window);
    }
    assert_near(cubic.window(), 100_000, 300);
}

#[test]
fn a_loss_after_a_jump_returns_to_what_arrived() {
    let mut cubic = cubic();
    cubic.resume(SavedPath::new(800 * MSS, Duration::from_millis(600), true));
    let rtt = Some(Duration::from_millis(600));
    cubic.on_ack(&Ack { rtt, ..ack(10 * MSS, 10 * MSS) });
    assert_eq!(cubic.window(), 400 * MSS, "half of what was remembered");
    cubic.on_ack(&Ack { rtt, ..ack(50 * MSS, 400 * MSS) });
    cubic.on_loss(&loss(400 * MSS));
    assert_eq!((cubic.window(), cubic.ssthresh()), (30 * MSS, 30 * MSS));
    cubic.on_ack(&Ack { rtt, in_recovery: true, ..ack(40 * MSS, 100 * MSS) });
    cubic.on_recovery_end(&loss(0));
    assert_eq!(cubic.ssthresh(), 100 * MSS, "all of the jump that arrived");
}

#[test]
fn a_path_that_is_as_remembered_is_filled_in_two_round_trips() {
    let mut cubic = cubic();
    cubic.resume(SavedPath::new(800 * MSS, Duration::from_millis(600), true));
    let rtt = Some(Duration::from_millis(600));
    cubic.on_ack(&Ack { rtt, ..ack(10 * MSS, 10 * MSS) });
    cubic.on_ack(&Ack { rtt, ..ack(400 * MSS, 400 * MSS) });
    assert_eq!(cubic.window(), 800 * MSS);
    assert!(!cubic.in_slow_start());
}

/// RFC 9406 with RFC 9438, 4.10, on a path of 125 segments. A round has its minimum RTT at its beginning,
/// so a queue is detected in the second round that has one, when the window is 2.5 times the BDP; five
/// rounds with a quarter of the growth make three times that.
#[test]
fn slow_start_ends_without_a_loss() {
    let controller = Cubic::new(&Setup { hystart: true, pacing: true, deliveries: true, ..setup(10) });
    let mut path = Bottleneck::new(controller, "10mbit", 100, 1000);
    path.run(700);
    assert!(path.control.in_slow_start());
    assert!((311 * MSS..350 * MSS).contains(&path.control.window()), "{}", path.control.window());
    path.run(4300);
    assert!(!path.control.in_slow_start());
    assert_eq!(path.lost, 0);
    let left_at = path.control.ssthresh();
    assert!((311 * 3 * MSS..350 * 3 * MSS).contains(&left_at), "{left_at}");
    // Without it only a loss ends slow start.
    let blind = Cubic::new(&Setup { pacing: true, deliveries: true, ..setup(10) });
    let mut path = Bottleneck::new(blind, "10mbit", 100, 1000);
    path.run(5000);
    assert!(path.lost >= 300 * u64::from(MSS), "{}", path.lost);
}

/// Each loss reduces the window by three tenths; between losses the curve restores it.
#[test]
fn a_full_queue_makes_a_sawtooth_that_keeps_the_link_busy() {
    let controller = Cubic::new(&Setup { hystart: true, pacing: true, deliveries: true, ..setup(10) });
    let mut path = Bottleneck::new(controller, "10mbit", 100, 125);
    path.run(10_000);
    let (mut min, mut most) = (u32::MAX, 0);
    for _ in 0..600 {
        path.run(100);
        min = min.min(path.control.window());
        most = most.max(path.control.window());
    }
    // 125 segments in flight and 125 in the queue, and those sent before the loss was detected.
    assert!((250 * MSS..300 * MSS).contains(&most), "{most}");
    assert!(min >= most / 10 * 6, "{min} of {most}");
    let used = path.run(30_000);
    assert!(used >= 98, "{used} %");
}
