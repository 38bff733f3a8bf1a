//! Which packets are hit: shares, run lengths and headers, against what the models promise.

use crate::common;

use common::{HEADERS, Tagged, damaged_by, flipped, packet, run, share};
use headway_link::{Link, LinkConfig, share_hit};
use headway_units::{Duration, Instant};

const N: usize = 200_000;

/// Which of `N` packets of 1500 bytes, sent back to back, are hit.
fn hits(config: LinkConfig) -> Vec<bool> {
    let (link, deliveries) = run(config, 42, N, 100);
    let hits: Vec<bool> = deliveries.iter().map(|d| d.damage.is_some()).collect();
    assert_eq!(hits.len(), N);
    assert_eq!(link.counters().hit, hits.iter().filter(|hit| **hit).count() as u64);
    hits
}

fn share_of(hits: &[bool]) -> f64 {
    hits.iter().filter(|hit| **hit).count() as f64 / hits.len() as f64
}

/// Lengths of the runs of damaged packets.
fn runs(hits: &[bool]) -> Vec<usize> {
    hits.split(|hit| !hit).map(<[bool]>::len).filter(|len| *len > 0).collect()
}

/// Runs without the last one, which the end may have cut.
fn whole_runs(hits: &[bool]) -> Vec<usize> {
    let mut runs = runs(hits);
    runs.pop();
    assert!(runs.len() > 100);
    runs
}

#[test]
fn shares_are_those_of_the_models() {
    for (damage, relative) in [
        ("none", 0.0),
        ("random:0%", 0.0),
        ("random:100%", 0.0),
        ("random:2%", 0.03),
        ("random:15%", 0.01),
        ("burst:2%:3", 0.03),
        ("burst:5%:5", 0.02),
        ("burst:15%:10", 0.01),
        ("burst:5%:1", 0.02),
        ("gilbert:10%:30%:0.1%:80%", 0.03),
        ("gilbert:0:0:5%:100%", 0.02),
        ("ber:1e-4", 0.02),
        ("ber:1", 0.0),
        ("gilbert-bit:1e-4:1e-3:1e-6:1e-1", 0.03),
    ] {
        let config = damaged_by(damage);
        // 100-byte packets less an IP header of 20.
        let expected = share_hit(&config.damage, 80);
        let found = share_of(&hits(config));
        assert!((found - expected).abs() <= expected * relative, "{damage}: {found}, not {expected}");
    }
}

/// "5 % and 5 hit 20.8 % of packets"
#[test]
fn bursts_of_five_at_five_percent() {
    let hits = hits(damaged_by("burst:5%:5"));
    assert!((share_of(&hits) - 0.208).abs() < 0.003, "{}", share_of(&hits));
    // A burst has 5 packets, and the next one starts at once with 5 %.
    let runs = whole_runs(&hits);
    assert!(runs.iter().all(|run| run % 5 == 0));
    let single = runs.iter().filter(|run| **run == 5).count() as f64 / runs.len() as f64;
    assert!((single - 0.95).abs() < 0.01, "{single}");
    // Undamaged runs are geometric: 19 packets on average, less those of length 0.
    let clean: Vec<usize> = hits.split(|hit| *hit).map(<[bool]>::len).filter(|len| *len > 0).collect();
    let mean = clean.iter().sum::<usize>() as f64 / clean.len() as f64;
    assert!((mean - 20.0).abs() < 0.6, "{mean}");
}

#[test]
fn gilbert_runs_are_geometric() {
    let hits = hits(damaged_by("gilbert:1%:25%:0%:100%"));
    let runs = runs(&hits);
    let mean = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
    assert!((mean - 4.0).abs() < 0.15, "{mean}");
    let ones = runs.iter().filter(|run| **run == 1).count() as f64 / runs.len() as f64;
    assert!((ones - 0.25).abs() < 0.02, "{ones}");
}

/// On a busy link a burst of L packet times hits L packets; it passes by while nothing is sent.
#[test]
fn timed_bursts_run_out_while_idle() {
    let config =
        LinkConfig { rate: Some("12mbit".parse().unwrap()), overhead: 500, ..damaged_by("burst:5%:5:time") };
    // 2000 bytes with overhead: 1.333... ms, rounded up.
    let packet_time = 1_333_334;
    let send = |gap: u64, len: usize| {
        let mut link = Link::new(config.clone(), 42);
        let mut hits = Vec::new();
        for id in 0..20_000 {
            let now = Instant::from_nanos(gap * id);
            let _ = link.enqueue(now, packet(id as usize, len), len, HEADERS, true);
            hits.extend(
                std::iter::from_fn(|| link.poll(now))
                    .map(|d: headway_link::Delivery<Tagged>| d.damage.is_some()),
            );
        }
        hits
    };
    let busy = send(packet_time, 1500);
    assert!((share_of(&busy) - 0.208).abs() < 0.015, "{}", share_of(&busy));
    assert!(whole_runs(&busy).iter().all(|run| run % 5 == 0));
    // At half the rate a burst covers packets 0, 2 and 4 packet times after its start.
    let half = send(2 * packet_time, 1500);
    assert!(whole_runs(&half).iter().all(|run| run % 3 == 0));
    // With longer gaps than bursts every hit stands alone.
    let sparse = send(5 * packet_time, 1500);
    assert!((share_of(&sparse) - 0.05).abs() < 0.005, "{}", share_of(&sparse));
}

#[test]
fn header_hit_is_the_share_of_hits_in_the_header() {
    for h in [0.0, 0.05, 0.4, 0.95, 1.0] {
        for damage in
            ["random:10%", "burst:5%:5", "gilbert:1%:20%:0%:80%", "ber:1e-4", "gilbert-bit:1e-4:1e-3:0:1e-1"]
        {
            let config = LinkConfig { header_hit: Some(share(h)), ..damaged_by(damage) };
            let (link, deliveries) = run(config, 7, 60_000, 100);
            let c = link.counters();
            let found = c.hit_in_header as f64 / c.hit as f64;
            // Three standard deviations; none for never and always.
            let tolerance = 3.0 * (h * (1.0 - h) / c.hit as f64).sqrt();
            assert!(c.hit > 2_000 && (found - h).abs() <= tolerance, "{damage} at {h}: {found} of {}", c.hit);
            for hit in deliveries.iter().filter(|d| d.damage.is_some()) {
                let damage = hit.damage.unwrap();
                let bits = flipped(&hit.packet.bytes);
                let in_header = bits.iter().any(|bit| bit / 8 < 52);
                let in_data = bits.iter().any(|bit| bit / 8 >= 52);
                assert_eq!((damage.flips as usize, damage.header), (bits.len(), in_header));
                // One flip is in either part, several are in the data in any case.
                assert_eq!(in_data, bits.len() > 1 || !in_header);
            }
        }
    }
}

/// Without `header_hit` the header gets its part of the bits.
#[test]
fn single_flips_are_uniform() {
    let (link, deliveries) = run(damaged_by("random:100%"), 7, 80_000, 100);
    let c = link.counters();
    // 32 of 80 bytes.
    assert!((c.hit_in_header as f64 / c.hit as f64 - 0.4).abs() < 0.006);
    let mut by_bit = [0u32; 800];
    deliveries.iter().for_each(|d| by_bit[flipped(&d.packet.bytes)[0]] += 1);
    assert!(by_bit[..160].iter().all(|n| *n == 0));
    // 125 each: chi-squared with 639 degrees of freedom, whose standard deviation is 36.
    let chi: f64 = by_bit[160..].iter().map(|n| (f64::from(*n) - 125.0).powi(2) / 125.0).sum();
    assert!((chi - 639.0).abs() < 120.0, "{chi}");
}

#[test]
fn silent_loss_comes_true() {
    let config =
        LinkConfig { loss: share(0.03).into(), delay: Duration::from_millis(1), ..LinkConfig::default() };
    let (link, deliveries) = run(config, 42, N, 40);
    assert_eq!(link.counters().lost as usize + deliveries.len(), N);
    assert!((link.counters().lost as f64 / N as f64 - 0.03).abs() < 0.001);
}
