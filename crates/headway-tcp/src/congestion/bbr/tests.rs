use super::super::bbr_common::NO_VOLUME;
use super::super::bbr_common::phases::AckPhase;
use super::super::bottleneck::{Bottleneck, Fate, MSS};
use super::super::testing::{lost, setup};
use super::*;

/// 10 Mbit/s and 100 ms: 125 packets of 1000 bytes fill the path.
fn path(limit: usize) -> Bottleneck<Bbr> {
    Bottleneck::new(Bbr::new(&Setup { pacing: true, deliveries: true, ..setup(10) }), "10mbit", 100, limit)
}

/// The path of `path`, as an earlier connection that filled it with `window` bytes knew it.
fn saved(window: u32) -> SavedPath {
    SavedPath::new(window, Duration::from_millis(100), true)
}

/// One that knows 10 Mbit/s and 100 ms, 125,000 bytes, and has twice as much as its window.
pub(super) fn known(state: State) -> Bbr {
    let mut bbr = Bbr::new(&setup(10));
    bbr.set_mss(MSS, true);
    bbr.model.on_rate(10_000_000, false);
    bbr.model.delay.on_ack(Instant::ZERO, Some(Duration::from_millis(100)));
    bbr.bw = 10_000_000;
    bbr.cwnd = 250_000;
    bbr.full_pipe.reached = true;
    bbr.cycle.down_gain = 90;
    bbr.round_count = 10;
    bbr.total_delivered = 1_000_000;
    bbr.state = state;
    bbr
}

fn mbit(rate: u64) -> u64 {
    rate / 1_000_000
}

#[test]
fn it_finds_bandwidth_and_delay_and_keeps_the_queue_short() {
    let mut path = path(1000);
    path.run(3000);
    let bbr = &path.control;
    assert!(bbr.full_pipe.reached && bbr.state != State::Startup, "{:?}", bbr.state);
    assert!((9_900_000..=10_100_000).contains(&bbr.model.max_bw()), "{}", bbr.model.max_bw());
    // One packet takes 0.8 ms in addition to the 100 ms.
    assert_eq!(bbr.model.delay.min_rtt.map(Duration::as_millis), Some(100));
    path.longest = 0;
    let used = path.run(20_000);
    assert!(used >= 96, "{used} %");
    // A probe ends when it sees that its own queue is long, 62 packets, which it does a round trip after it was.
    assert!(path.longest <= 115, "{} packets", path.longest);
    assert_eq!(path.lost, 0);
}

#[test]
fn startup_leaves_no_queue_behind() {
    let mut path = path(1000);
    path.run(2500);
    let states = &path.control.state;
    assert!(states.probes_bandwidth(), "{states:?}");
    assert!(path.pipe() <= 140 * MSS, "{}", path.pipe());
}

#[test]
fn a_cycle_goes_through_its_states_in_order() {
    let mut path = path(1000);
    path.run(500);
    let mut seen = alloc::vec![path.control.state];
    for _ in 0..12_000 {
        path.run(1);
        if seen.last() != Some(&path.control.state) {
            seen.push(path.control.state);
        }
    }
    // After Drain so little is in flight that Down ends with its first ACK.
    let expected = [State::Drain, State::Cruise, State::Refill, State::Up, State::Down];
    let from = seen.iter().position(|&state| state == State::Drain).expect("Drain");
    assert_eq!(seen[from..from + expected.len()], expected, "{seen:?}");
    assert!(!seen.contains(&State::ProbeRtt), "the queue was empty now and then: {seen:?}");
}

#[test]
fn the_next_probe_knows_how_many_rounds_ago_the_last_one_was() {
    let mut path = path(1000);
    for _ in 0..10_000 {
        if path.control.state == State::Cruise {
            break;
        }
        path.run(1);
    }
    let rounds = |bbr: &Bbr| (bbr.round_count, u64::from(bbr.cycle.rounds_since_probe_up));
    let before = rounds(&path.control);
    path.run(500);
    assert_eq!(path.control.state, State::Cruise);
    let now = rounds(&path.control);
    assert!(now.0 >= before.0 + 3);
    assert_eq!(now.0 - before.0, now.1 - before.1);
}

/// Section 5.3.4: half of the BDP for 200 ms and a round trip, if no sample equalled the minimum for five
/// seconds.
#[test]
fn probe_rtt_measures_the_minimum() {
    let mut path = path(1000);
    path.run(3000);
    path.delay = Duration::from_millis(110);
    let (mut smallest, mut probing, mut before) = (u32::MAX, 0, 0);
    for milli in 0..9000 {
        path.run(1);
        if path.control.state == State::ProbeRtt {
            probing += 1;
            smallest = smallest.min(path.pipe());
        } else if probing == 0 {
            before = milli;
        } else {
            assert_eq!(path.control.state, State::Cruise);
            break;
        }
    }
    assert!((4500..5500).contains(&before), "{before} ms");
    assert!((61 * MSS..=63 * MSS).contains(&smallest), "{smallest}");
    assert!((200..600).contains(&probing), "{probing} ms");
    assert_eq!(path.control.model.delay.min_rtt.map(Duration::as_millis), Some(100), "for ten seconds");
    let window = path.control.window();
    assert!(window >= 240 * MSS, "{window}: as before");
}

#[test]
fn a_path_that_grows_longer_is_noticed() {
    let mut path = path(1000);
    path.run(3000);
    path.delay = Duration::from_millis(200);
    path.run(25_000);
    assert_eq!(path.control.model.delay.min_rtt.map(Duration::as_millis), Some(200));
    let used = path.run(10_000);
    assert!(used >= 94, "{used} %");
}

/// "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached".
#[test]
fn more_bandwidth_is_found() {
    let mut path = path(2000);
    path.run(5000);
    path.rate = Rate::from_bits_per_second(100_000_000);
    // A probe every two to three seconds increases it by at least a quarter.
    path.run(30_000);
    assert!(mbit(path.control.model.max_bw()) >= 95, "{}", path.control.model.max_bw());
}

/// "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down".
#[test]
fn less_bandwidth_is_accepted() {
    let mut path = path(250);
    path.run(5000);
    path.rate = Rate::from_bits_per_second(1_000_000);
    path.run(30_000);
    assert!(path.control.model.max_bw() <= 1_100_000, "{}", path.control.model.max_bw());
    path.longest = 0;
    let used = path.run(10_000);
    assert!(used >= 90, "{used} %");
}

#[test]
fn a_fifth_damaged_costs_a_fifth_and_no_more() {
    let mut path = path(1000);
    path.fate = |number| if number % 5 == 2 { Fate::Damaged } else { Fate::Arrives };
    path.run(3000);
    let used = path.run(30_000);
    // 80 % of the packets that cross the link are intact.
    assert!((77..=80).contains(&used), "{used} %");
    assert!(mbit(path.control.model.max_bw()) >= 9, "{}", path.control.model.max_bw());
}

/// "IsInflightTooHigh": 2 % of losses in a round that probes.
#[test]
fn losses_below_the_threshold_are_borne() {
    let mut path = path(1000);
    path.fate = |number| if number % 100 == 50 { Fate::Lost } else { Fate::Arrives };
    path.run(3000);
    let used = path.run(30_000);
    // In Cruise it reduces the rate by the lost share each round, until it probes again.
    assert!((85..95).contains(&used), "{used} %");
}

#[test]
fn losses_above_the_threshold_slow_it_down() {
    let mut path = path(1000);
    path.run(3000);
    path.fate = |number| if number % 10 == 5 { Fate::Lost } else { Fate::Arrives };
    path.run(10_000);
    let bbr = &path.control;
    assert!(bbr.bounds.inflight_longterm < NO_VOLUME);
    let used = path.run(20_000);
    assert!(used < 50, "{used} %");
    // After the losses end, the rate recovers.
    path.fate = |_| Fate::Arrives;
    path.run(10_000);
    let used = path.run(20_000);
    assert!(used >= 93, "{used} %");
}

/// Section 5.3.1.3: more than 2 % and six holes within a round end Startup.
#[test]
fn a_shallow_queue_ends_startup_by_its_losses() {
    let mut path = path(20);
    path.run(1200);
    let bbr = &path.control;
    assert!(bbr.full_pipe.reached);
    assert!(bbr.bounds.inflight_longterm < 400 * MSS, "{}", bbr.bounds.inflight_longterm);
    path.run(5000);
    let (used, lost) = (path.run(20_000), path.lost);
    assert!(used >= 85, "{used} %");
    path.run(20_000);
    // Probing sometimes overflows the queue of 20 packets.
    let share = (path.lost - lost) * 1000 / (20_000 * 1250);
    assert!(share <= 20, "{share} per mille");
}

/// A path whose sender ends Startup with the first losses.
fn hasty() -> Bottleneck<Bbr> {
    let mut path = path(1000);
    path.control.rules_off = RulesOff::NONE.with(Rule::Growth);
    path
}

/// One packet of nine is lost before anything is known of damage, and after.
#[test]
fn the_first_damage_begins_startup_again_that_losses_ended() {
    let mut path = hasty();
    path.fate = |number| match number {
        _ if number % 9 == 4 => Fate::Lost,
        _ if number >= 300 && number % 5 == 2 => Fate::Damaged,
        _ => Fate::Arrives,
    };
    while path.control.state == State::Startup {
        path.run(1);
    }
    let found = mbit(path.control.model.max_bw());
    while path.control.state != State::Startup {
        path.run(1);
        assert!(path.delivered < 500 * u64::from(MSS), "Startup did not begin again");
    }
    assert_eq!(path.control.bounds.inflight_longterm, NO_VOLUME);
    path.run(1000);
    let again = mbit(path.control.model.max_bw());
    assert!(found < 6 && again >= 9, "{found} and {again} of 10 Mbit/s");
}

/// One packet of nine is lost, and no damage seen.
#[test]
fn losses_do_not_end_startup_while_the_rate_grows() {
    let found = |rules_off| {
        let mut path = path(1000);
        path.control.rules_off = rules_off;
        path.fate = |number| if number % 9 == 4 { Fate::Lost } else { Fate::Arrives };
        while path.control.state == State::Startup {
            path.run(1);
        }
        mbit(path.control.model.max_bw())
    };
    let (with, without) = (found(RulesOff::NONE), found(RulesOff::NONE.with(Rule::Growth)));
    assert!(with >= 9 && without < 6, "{with} and {without} of 10 Mbit/s");
}

/// A probe was under way: its losses are doubted like those before, and no recovery leads back to it.
#[test]
fn startup_that_begins_again_ends_a_probe() {
    let mut path = hasty();
    path.fate = |number| if number % 9 == 4 { Fate::Lost } else { Fate::Arrives };
    while path.control.state != State::Up || !path.control.cycle.is_probe_sample {
        path.run(1);
    }
    path.control.undo.state = Some(State::Up);
    path.control.reconsider_startup();
    let bbr = &mut path.control;
    assert_eq!((bbr.state, bbr.cycle.is_probe_sample), (State::Startup, false));
    bbr.on_spurious();
    assert_eq!((bbr.state, bbr.bounds.inflight_longterm), (State::Startup, NO_VOLUME));
}

/// A mark is no loss.
#[test]
fn startup_that_a_mark_ended_does_not_begin_again() {
    let mut path = path(1000);
    path.fate = |number| if number % 9 == 4 { Fate::Lost } else { Fate::Arrives };
    path.run(300);
    assert_eq!(path.control.state, State::Startup);
    path.control.on_ecn(&Loss { now: path.now, flight: path.pipe() });
    assert_ne!(path.control.state, State::Startup);
    path.control.reconsider_startup();
    assert_ne!(path.control.state, State::Startup);
}

/// Losses are judged a round trip after they happened: those before the first damage are no more proof than those before.
#[test]
fn losses_just_before_the_first_damage_do_not_end_startup() {
    const LOST: u64 = 166;
    let found = |fate| {
        let mut path = hasty();
        path.fate = fate;
        while path.control.state == State::Startup {
            path.run(1);
        }
        mbit(path.control.model.max_bw())
    };
    let without = found(|number| if number % 9 == 4 && number < LOST { Fate::Lost } else { Fate::Arrives });
    let with = found(|number| match number {
        _ if number % 9 == 4 && number < LOST => Fate::Lost,
        LOST => Fate::Damaged,
        _ => Fate::Arrives,
    });
    assert!(without < 6 && with >= 9, "{without} and {with} of 10 Mbit/s");
}

#[test]
fn a_spurious_loss_that_ended_a_probe_is_taken_back() {
    let mut path = path(1000);
    path.run(3000);
    while path.control.state != State::Up || path.control.cycle.ack_phase != AckPhase::ProbeFeedback {
        path.run(1);
    }
    let window = path.control.cwnd;
    let now = path.now;
    let total = path.delivered;
    for order in 0..10 {
        path.control.on_segment_lost(&LostSegment {
            order,
            now,
            sent_at: now,
            bytes: MSS,
            in_flight: 150 * MSS,
            lost: u64::from(MSS) * (order + 1),
            total_delivered: total,
            prior_delivered: total,
            app_limited: false,
        });
    }
    path.control.on_loss(&Loss { now, flight: 150 * MSS });
    assert_eq!(path.control.state, State::Down);
    assert!(path.control.bounds.inflight_longterm < NO_VOLUME);
    path.control.on_spurious();
    assert_eq!(path.control.state, State::Refill);
    assert_eq!(path.control.bounds.inflight_longterm, NO_VOLUME);
    assert!(path.control.cwnd >= window);
}

#[test]
fn a_timeout_leaves_one_segment_and_the_window_returns() {
    let mut path = path(1000);
    path.run(3000);
    let window = path.control.cwnd;
    let loss = Loss { now: path.now, flight: path.pipe() };
    path.control.on_timeout(&loss, true);
    assert_eq!(path.control.window(), MSS);
    path.run(1000);
    assert!(path.control.window() >= window / 10 * 9, "{}", path.control.window());
}

#[test]
fn ecn_marks_slow_it_down() {
    let mut path = path(1000);
    path.run(3000);
    while path.control.state != State::Cruise {
        path.run(1);
    }
    let before = path.control.window();
    for _ in 0..5 {
        path.control.on_ecn(&Loss { now: path.now, flight: path.pipe() });
        path.run(110);
    }
    assert!(path.control.window() < before, "{} of {before}", path.control.window());
    // The first mark ends Startup.
    let mut bbr = Bbr::new(&setup(10));
    bbr.on_ecn(&Loss { now: Instant::ZERO, flight: MSS });
    assert_eq!(bbr.state, State::Drain);
}

/// 5.4.1: "if (C.inflight == 0 and C.app_limited)".
#[test]
fn only_a_pause_of_the_application_restarts_from_idle() {
    let mut path = path(1000);
    path.run(3000);
    while path.control.state != State::Up {
        path.run(1);
    }
    let (now, rate) = (path.now, path.control.pacing_rate);
    let bbr = &mut path.control;
    bbr.on_sent(now, 0, false);
    assert!(!bbr.idle_restart && bbr.pacing_rate == rate, "all was lost, or arrived damaged: {rate}");
    bbr.on_sent(now, 0, true);
    assert!(bbr.idle_restart && bbr.pacing_rate < rate, "{} of {rate}", bbr.pacing_rate);
}

/// As where a transfer is aborted: nothing that was in the network is acknowledged.
#[test]
fn a_probe_rtt_that_a_pause_interrupts_is_over() {
    let mut path = path(1000);
    path.run(3000);
    path.delay = Duration::from_millis(110);
    while path.control.state != State::ProbeRtt {
        path.run(1);
    }
    let (now, bbr) = (path.now, &mut path.control);
    bbr.on_sent(now, 0, true);
    assert_eq!(bbr.state, State::ProbeRtt, "the pause is too short to drain a queue");
    bbr.on_idle();
    bbr.on_sent(now, 0, true);
    assert_eq!(bbr.state, State::Cruise);
}

#[test]
fn what_a_probe_tolerates_lowers_no_bound_where_no_one_else_uses_the_path() {
    let used = |alone, fate| {
        let mut path = path(1000);
        path.run(3000);
        (path.alone, path.fate) = (alone, fate);
        path.run(20_000)
    };
    let [one, four]: [fn(u64) -> Fate; 2] = [
        |number| if number.is_multiple_of(100) { Fate::Lost } else { Fate::Arrives },
        |number| if number.is_multiple_of(25) { Fate::Lost } else { Fate::Arrives },
    ];
    let [alone, beside, more] = [used(true, one), used(false, one), used(true, four)];
    assert!(alone >= 95 && beside <= 90 && more <= 80, "{alone}, {beside} and {more} %");
}

#[test]
fn losses_by_chance_end_no_probe_where_no_one_else_uses_the_path() {
    let after = |change: fn(&mut Bbr)| {
        let mut bbr = known(State::Up);
        bbr.cycle.is_probe_sample = true;
        bbr.is_alone = true;
        bbr.bounds.on_delivered(400_000, MSS);
        change(&mut bbr);
        bbr.on_segment_lost(&lost(1, 100_000, 5000));
        bbr.state
    };
    assert_eq!(after(|_| ()), State::Up);
    assert_eq!(after(|bbr| bbr.queued = true), State::Down, "the queue may have dropped them");
    assert_eq!(after(|bbr| bbr.is_alone = false), State::Down);
    let lose = |bbr: &mut Bbr| (0..8).for_each(|_| bbr.on_segment_lost(&lost(1, 100_000, 1000)));
    assert_eq!(after(lose), State::Down, "9 of 408");
}

#[test]
fn a_mark_and_a_timeout_exceed_what_is_tolerated() {
    let signals: [fn(&mut Bbr, &Loss); 2] =
        [|bbr, loss| bbr.on_ecn(loss), |bbr, loss| bbr.on_timeout(loss, true)];
    for signal in signals {
        let mut path = path(1000);
        path.run(3000);
        let loss = Loss { now: path.now, flight: path.pipe() };
        assert!(path.control.bounds.tolerate());
        signal(&mut path.control, &loss);
        assert!(!path.control.bounds.tolerate());
    }
}

/// 2 % are lost. Less than half of what the path carries is in flight until the question is answered, and losses are not answered meanwhile.
#[test]
fn what_is_asked_for_less_sends_less_than_half() {
    let mut path = path(1000);
    path.asks_for_less = true;
    path.run(300);
    assert_eq!(path.control.state, State::Startup, "what the path carries is not known");
    path.asks_for_less = false;
    path.run(2700);
    path.fate = |number| if number.is_multiple_of(50) { Fate::Lost } else { Fate::Arrives };
    // As losses have left them.
    path.control.bounds.bw_shortterm = 4_000_000;
    path.control.bounds.inflight_shortterm = 30 * MSS;
    path.asks_for_less = true;
    path.run(500);
    for _ in 0..2000 {
        path.run(1);
        assert_eq!(path.control.state, State::ProbeRtt);
        assert!((48 * MSS..=51 * MSS).contains(&path.control.window()), "{}", path.control.window());
    }
    path.fate = |_| Fate::Arrives;
    path.run(300);
    path.asks_for_less = false;
    path.run(50);
    assert_eq!(path.control.state, State::Cruise);
    let used = path.run(2000);
    assert!(used >= 90, "{used} %");
}

#[test]
fn before_anything_is_known_the_initial_window_sets_the_rate() {
    let mut bbr = Bbr::new(&setup(10));
    bbr.set_mss(MSS, true);
    assert_eq!((bbr.window(), bbr.pacing_rate()), (10 * MSS, None));
    bbr.init_pacing_rate(Duration::from_millis(100));
    // 2.77 * 10,000 bytes / 100 ms.
    assert_eq!(bbr.pacing_rate(), Some(Rate::from_bits_per_second(2_216_000)));
}

#[test]
fn a_remembered_path_is_filled_sooner() {
    let full = |window: u32| {
        let mut path = path(1000);
        if window > 0 {
            path.control.resume(saved(window));
        }
        let mut millis = 0;
        while path.intact < 500_000 {
            path.run(10);
            millis += 10;
        }
        (millis, path.lost)
    };
    let (cold, _) = full(0);
    let (warm, lost) = full(125 * MSS);
    assert!(warm + 90 <= cold, "{warm} and {cold} ms");
    assert_eq!(lost, 0);
}

#[test]
fn startup_ends_where_it_ended_before() {
    let queue = |window: u32| {
        let mut path = path(1000);
        if window > 0 {
            path.control.resume(saved(window));
        }
        path.run(2500);
        assert!(path.control.state.probes_bandwidth(), "{:?}", path.control.state);
        assert!(path.control.model.max_bw() >= 9_300_000, "{}", path.control.model.max_bw());
        path.longest
    };
    let (cold, warm) = (queue(0), queue(125 * MSS));
    assert!(warm < cold, "{warm} and {cold} packets");
    // ProbeBW finds that the path has become four times as fast.
    let mut path = path(1000);
    path.control.resume(saved(125 * MSS / 4));
    path.run(15_000);
    assert!(path.control.model.max_bw() >= 9_900_000, "{}", path.control.model.max_bw());
}

#[test]
fn a_jump_that_is_too_far_retreats() {
    let mut path = path(20);
    path.control.resume(saved(2000 * MSS));
    path.run(150);
    assert_eq!(path.control.window(), 1000 * MSS);
    path.run(150);
    assert!(path.control.window() <= 300 * MSS, "{}", path.control.window());
    path.run(5000);
    let used = path.run(10_000);
    assert!(used >= 85, "{used} %");
}
/// Bandwidth probes queue most of a second of data on a long path.
#[test]
fn a_long_path_stays_full() {
    let bbr = Bbr::new(&Setup { pacing: true, deliveries: true, ..setup(10) });
    let mut path = Bottleneck::new(bbr, "10mbit", 600, 750);
    path.run(10_000);
    let mut least_queue = u32::MAX;
    let mut used = u64::MAX;
    for _ in 0..60 {
        used = used.min(path.run(1000));
        least_queue = least_queue.min(path.pipe());
        assert_ne!(path.control.state, State::ProbeRtt);
    }
    assert!(used >= 97, "{used} %");
    assert!(least_queue <= 750 * MSS, "{least_queue}: the queue is empty now and then");
}

/// 10 Mbit/s and 600 ms, a queue of half of what the path holds, with this rate told.
fn told(rate: &str) -> Bottleneck<Bbr> {
    let bbr = Bbr::new(&Setup { pacing: true, deliveries: true, ..setup(10) });
    let mut path = Bottleneck::new(bbr, "10mbit", 600, 375);
    path.control.start(rate.parse().expect("a rate"));
    path
}

#[test]
fn a_told_rate_that_the_initial_window_arrives_at_is_used_in_the_next_round_trip() {
    let mut path = told("10mbit");
    path.run(590);
    assert_eq!((path.control.window(), path.pipe()), (10 * MSS, 10 * MSS));
    path.run(30);
    // With the time that the first segment takes to be sent.
    assert_eq!(path.control.window(), 751 * MSS);
    assert_eq!(path.control.pacing_rate().map(|rate| mbit(rate.bits_per_second())), Some(10));
    path.run(600);
    let used = path.run(570);
    assert!(used >= 97, "{used} %");
    assert_eq!(
        (path.control.window(), path.control.state),
        (751 * MSS, State::Startup),
        "not all is validated"
    );
    path.run(40);
    assert_eq!(
        (path.control.state, path.control.pacing_gain()),
        (State::Startup, 144),
        "it searches for more at once"
    );
    let used = path.run(10_000);
    // The search fills the queue, which holds half of the path's window: Startup's gain is 1.5 then.
    assert!(used >= 95 && path.lost <= u64::from(20 * MSS), "{used} %, {} bytes lost", path.lost);
}

#[test]
fn a_told_rate_that_the_path_does_not_carry_is_left() {
    let plain = {
        let bbr = Bbr::new(&Setup { pacing: true, deliveries: true, ..setup(10) });
        let mut path = Bottleneck::new(bbr, "10mbit", 600, 375);
        path.run(10_000);
        path
    };
    for rate in ["20mbit", "100mbit"] {
        let mut path = told(rate);
        path.run(620);
        assert!(path.control.window() <= 20 * MSS, "{}", path.control.window());
        path.run(1800);
        assert!(path.control.resume.rate().is_none(), "three windows did not arrive at it");
        path.run(10_000 - 2420);
        assert!(path.lost <= plain.lost, "{} and {}", path.lost, plain.lost);
        assert!(path.intact * 20 >= plain.intact * 19, "{} and {}", path.intact, plain.intact);
    }
}

#[test]
fn more_than_what_was_told_is_found() {
    let mut path = told("5mbit");
    path.run(8000);
    let used = path.run(8000);
    assert!(used >= 90, "{used} %");
}

/// The path carries a tenth, and its queue is short, by the time that the jump arrives.
#[test]
fn a_jump_that_most_of_is_lost_ends_startup() {
    let mut path = told("10mbit");
    path.run(650);
    assert_eq!(path.control.window(), 751 * MSS);
    path.rate = "1mbit".parse().expect("a rate");
    path.limit = 40;
    path.run(2300);
    assert!(path.lost > 0 && path.control.resume.rate().is_none());
    assert_eq!(path.control.state, State::Drain);
    assert!(path.control.window() <= 250 * MSS, "{}", path.control.window() / MSS);
    path.run(5000);
    assert!(path.control.window() <= 150 * MSS, "{}", path.control.window() / MSS);
}

#[test]
fn a_told_rate_is_used_where_most_of_the_initial_window_arrives() {
    for (lost, used) in [(1, true), (2, true), (3, false)] {
        let mut path = told("10mbit");
        // The first segments of the window, so that its end shows the loss.
        path.fate = match lost {
            1 => |number| if number == 4 { Fate::Lost } else { Fate::Arrives },
            2 => |number| if (4..6).contains(&number) { Fate::Lost } else { Fate::Arrives },
            _ => |number| if (4..7).contains(&number) { Fate::Lost } else { Fate::Arrives },
        };
        path.run(1300);
        let is_used = path.control.window() > 500 * MSS;
        assert_eq!(is_used, used, "{lost} lost: {}", path.control.window() / MSS);
    }
}

#[test]
fn what_was_told_is_still_to_be_tested_after_a_pause() {
    let mut bbr = Bbr::new(&setup(10));
    bbr.start("10mbit".parse().expect("a rate"));
    bbr.on_idle();
    assert!(bbr.resume.rate().is_some());
    bbr.on_timeout(&Loss { now: Instant::ZERO, flight: MSS }, true);
    assert!(bbr.resume.rate().is_none());
}

/// The initial window is sent in an eighth of a round trip. What it arrives at then is the window, and the first sample.
#[test]
fn the_first_train_shows_what_a_long_path_carries() {
    let found = |rate: &str, round_trip: u64, is_on: bool| {
        let rules_off = if is_on { RulesOff::NONE } else { RulesOff::NONE.with(Rule::FirstTrain) };
        let bbr = Bbr::new(&Setup { pacing: true, deliveries: true, rules_off, ..setup(10) });
        let mut path = Bottleneck::new(bbr, rate, round_trip, 375);
        path.control.on_established(Instant::ZERO, Some(Duration::from_millis(round_trip)));
        path.run(round_trip * 3 / 2 + 5);
        let model = &path.control.model;
        [path.control.window(), model.bdp(model.max_bw(), 100).expect("a sample")].map(|bytes| bytes / MSS)
    };
    let [window, sampled] = found("10mbit", 600, false);
    assert!(window == 20 && sampled <= 10, "slow start: {window}, {sampled}");
    let [window, sampled] = found("10mbit", 600, true);
    // Slow start goes on with the last of the train.
    assert!(
        (80..=84).contains(&window) && (78..=80).contains(&sampled),
        "eight windows: {window}, {sampled}"
    );
    let [window, sampled] = found("500kbit", 600, true);
    assert!((30..45).contains(&window) && sampled < 45, "all that the path carries: {window}, {sampled}");
    assert_eq!(found("10mbit", 40, true), found("10mbit", 40, false), "a short path");
}
