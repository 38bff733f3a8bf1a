//! Random sequences of signals: the window of a controller remains usable.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use headway_units::{Duration, Instant, Rate};
use proptest::prelude::*;

use super::{Ack, Algorithm, CongestionControl, Loss, LostSegment, RateSample, SavedPath, Setup};

#[derive(Clone, Debug)]
enum Call {
    Sent(u32, bool),
    Ack { delivered: u32, pipe: u32, rtt: Option<u32>, in_recovery: bool, rate: Option<(u32, bool)> },
    Loss(u32),
    SegmentLost(u32, u32),
    Timeout(u32, bool),
    RecoveryEnd,
    Damage(u32),
    Ecn(u32),
    Spurious,
    Idle,
    SynLoss,
    Established(Option<u32>),
    Resume(u32, u32, bool),
    Start(u32),
    Mss(u32),
}

/// Bytes: few, many, and the maximum.
fn bytes() -> impl Strategy<Value = u32> {
    prop_oneof![0..3000_u32, 0..2_000_000_u32, any::<u32>()]
}

fn call() -> impl Strategy<Value = Call> {
    let ack = (bytes(), bytes(), any::<Option<u32>>(), any::<bool>(), any::<Option<(u32, bool)>>());
    prop_oneof![
        3 => (bytes(), any::<bool>()).prop_map(|(pipe, app_limited)| Call::Sent(pipe, app_limited)),
        8 => ack.prop_map(|(delivered, pipe, rtt, in_recovery, rate)| {
            Call::Ack { delivered, pipe, rtt, in_recovery, rate }
        }),
        1 => bytes().prop_map(Call::Loss),
        2 => (bytes(), bytes()).prop_map(|(size, flight)| Call::SegmentLost(size, flight)),
        1 => (bytes(), any::<bool>()).prop_map(|(flight, first)| Call::Timeout(flight, first)),
        1 => Just(Call::RecoveryEnd),
        2 => bytes().prop_map(Call::Damage),
        1 => bytes().prop_map(Call::Ecn),
        1 => Just(Call::Spurious),
        1 => Just(Call::Idle),
        1 => Just(Call::SynLoss),
        1 => any::<Option<u32>>().prop_map(Call::Established),
        1 => (bytes(), any::<u32>(), any::<bool>())
            .prop_map(|(window, micros, filled)| Call::Resume(window, micros, filled)),
        1 => any::<u32>().prop_map(Call::Start),
        1 => (1..65_000_u32).prop_map(Call::Mss),
    ]
}

/// The counters of the sender.
#[derive(Default)]
struct Counts {
    now: Instant,
    delivered: u64,
    lost: u64,
    order: u64,
}

impl Counts {
    fn signal(&mut self, control: &mut dyn CongestionControl, call: &Call) {
        let now = self.now;
        match *call {
            Call::Sent(pipe, app_limited) => control.on_sent(now, pipe, app_limited),
            Call::Ack { delivered, pipe, rtt, in_recovery, rate } => {
                let before = self.delivered;
                self.delivered += u64::from(delivered);
                control.on_ack(&Ack {
                    now,
                    acked: delivered,
                    delivered,
                    prior_pipe: pipe.saturating_add(delivered),
                    pipe,
                    rtt: rtt.map(|micros| Duration::from_micros(micros.into())),
                    in_recovery,
                    duplicate: pipe % 3 == 0,
                    retransmitted: in_recovery,
                    damages: pipe % 5 == 0,
                    asks_for_less: pipe % 7 == 0,
                    alone: pipe % 2 == 0,
                    rate: rate.map(|(micros, app_limited)| RateSample {
                        delivered: u64::from(delivered),
                        interval: Duration::from_micros(u64::from(micros) + 1),
                        app_limited,
                        prior_delivered: before,
                        total_delivered: self.delivered,
                        in_flight: pipe,
                        lost: self.lost,
                    }),
                });
            }
            Call::Loss(flight) => control.on_loss(&Loss { now, flight }),
            Call::SegmentLost(bytes, in_flight) => {
                self.lost += u64::from(bytes);
                self.order += 1;
                control.on_segment_lost(&LostSegment {
                    order: self.order,
                    now,
                    sent_at: now - Duration::from_micros(in_flight.into()),
                    bytes,
                    in_flight,
                    lost: self.lost,
                    total_delivered: self.delivered,
                    prior_delivered: self.delivered,
                    app_limited: false,
                });
            }
            Call::Timeout(flight, first) => control.on_timeout(&Loss { now, flight }, first),
            Call::RecoveryEnd => control.on_recovery_end(&Loss { now, flight: 0 }),
            Call::Damage(bytes) => control.on_damage(now, bytes),
            Call::Ecn(flight) => control.on_ecn(&Loss { now, flight }),
            Call::Spurious => control.on_spurious(),
            Call::Idle => control.on_idle(),
            Call::SynLoss => control.on_syn_loss(),
            Call::Established(rtt) => {
                control.on_established(now, rtt.map(|micros| Duration::from_micros(micros.into())));
            }
            Call::Resume(window, micros, filled) => {
                control.resume(SavedPath::new(window, Duration::from_micros(micros.into()), filled));
            }
            // A configuration has no rate of zero.
            Call::Start(rate) => control.start(Rate::from_bits_per_second(u64::from(rate) + 1)),
            Call::Mss(mss) => control.set_mss(mss, false),
        }
    }
}

fn controllers(seed: u64) -> Vec<Box<dyn CongestionControl>> {
    let modern = Setup {
        initial_window: 10,
        slow_start_limit: None,
        hystart: true,
        pacing: true,
        deliveries: true,
        seed,
        rules_off: crate::rules::RulesOff::NONE,
    };
    let standard = Setup { hystart: false, pacing: false, deliveries: false, ..modern };
    let mut controllers: Vec<_> = Algorithm::NAMES
        .into_iter()
        .flat_map(|(_, algorithm)| [algorithm.build(modern, None), algorithm.build(standard, None)])
        .collect();
    controllers.push(Algorithm::Linux22.build(standard, None));
    controllers
}

proptest! {
    /// No call panics, and the window is never below one segment, or nothing would be sent any more.
    #[test]
    fn no_order_of_calls_breaks_a_controller(
        seed in any::<u64>(),
        calls in prop::collection::vec((call(), 0..10_000_000_u32), 1..200),
    ) {
        for mut control in controllers(seed) {
            let mut mss = 1448;
            control.set_mss(mss, true);
            let mut counts = Counts::default();
            for (call, micros) in &calls {
                counts.now += Duration::from_micros(u64::from(*micros));
                counts.signal(&mut *control, call);
                if let Call::Mss(new) = *call {
                    mss = new;
                }
                prop_assert!(control.window() >= mss, "{call:?} leaves {} to {control:?}", control.window());
                prop_assert!(control.pacing_rate().is_none_or(|rate| rate.bits_per_second() > 0));
            }
        }
    }
}
