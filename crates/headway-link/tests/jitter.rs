//! Jitter by a distribution, as of tc-netem: its tables, correlation, order.

use crate::common;

use std::path::PathBuf;

use common::{Tagged, drain, enqueue, us};
use headway_link::{DelayTable, Delivery, JitterModel, Link, LinkConfig};
use headway_test_fixture::process::say_skipped;
use headway_units::{Duration, Rate, Share};

const DELAY: Duration = Duration::from_millis(200);
const JITTER: Duration = Duration::from_millis(10);

fn config(model: JitterModel) -> LinkConfig {
    LinkConfig { delay: DELAY, jitter: JITTER, jitter_model: Some(model), ..LinkConfig::default() }
}

fn free(table: Option<DelayTable>) -> JitterModel {
    JitterModel { table, correlation: Share::ZERO, ordered: false }
}

/// How much later than after the delay each packet arrives, in nanoseconds, of packets that are sent a second apart.
fn deviations(config: LinkConfig, n: usize) -> Vec<f64> {
    let mut link = Link::new(config, 7);
    let mut all = Vec::new();
    for id in 0..n {
        let sent = us(1_000_000 * id as u64);
        enqueue(&mut link, sent, id, 100);
        let [delivery] = &drain(&mut link)[..] else { panic!("one packet") };
        let due = sent + DELAY;
        all.push(delivery.at.as_nanos() as f64 - due.as_nanos() as f64);
    }
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn spread(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The correlation of each value with the one after it.
fn successive(values: &[f64]) -> f64 {
    let (mean, spread) = (mean(values), spread(values));
    let products = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean));
    products.sum::<f64>() / (values.len() - 1) as f64 / (spread * spread)
}

/// The tables of iproute2, where it is installed.
fn tables() -> Vec<(String, DelayTable)> {
    let places = ["/usr/lib/tc".into(), format!("/usr/lib/{}-linux-gnu/tc", std::env::consts::ARCH)];
    let read = |name: &str| {
        let files = places.iter().map(|place| PathBuf::from(place).join(format!("{name}.dist")));
        let text = files.filter_map(|file| std::fs::read_to_string(file).ok()).next()?;
        Some((name.to_owned(), text.parse().expect("a table")))
    };
    ["normal", "pareto", "paretonormal", "experimental"].into_iter().filter_map(read).collect()
}

/// Delays have the mean and the spread that the numbers of the table have, and no delay is in none of them.
#[test]
fn delays_are_distributed_as_the_tables_of_iproute2() {
    let tables = tables();
    if tables.is_empty() {
        say_skipped("iproute2-tables", "");
    }
    for (name, table) in tables {
        assert_eq!(table.values().len(), 4096, "{name}");
        let unit = JITTER.as_nanos() as f64 / 8192.0;
        let expected: Vec<f64> = table.values().iter().map(|value| f64::from(*value) * unit).collect();
        let n = 40_000;
        let measured = deviations(config(free(Some(table))), n);
        let error = spread(&expected) / (n as f64).sqrt();
        let off = (mean(&measured) - mean(&expected)).abs();
        assert!(off < 4.0 * error, "{name}: {} and {}", mean(&measured), mean(&expected));
        let ratio = spread(&measured) / spread(&expected);
        assert!((ratio - 1.0).abs() < 0.05, "{name}: {ratio}");
        // Each is that of a number of the table, to the nanosecond.
        let mut exact: Vec<i64> = expected.iter().map(|value| value.round() as i64).collect();
        exact.sort_unstable();
        for value in &measured {
            let value = *value as i64;
            let near = (-1..=1).any(|off| exact.binary_search(&(value + off)).is_ok());
            assert!(near, "{name}: {value} ns");
        }
        assert!(successive(&measured).abs() < 0.03, "{name}: {}", successive(&measured));
        // A normal distribution is one: its spread is the jitter, and 68 % lie within it.
        if name == "normal" {
            let jitter = JITTER.as_nanos() as f64;
            assert!((spread(&measured) / jitter - 1.0).abs() < 0.02, "{}", spread(&measured));
            let within = measured.iter().filter(|value| value.abs() < jitter).count() as f64 / n as f64;
            assert!((within - 0.6827).abs() < 0.01, "{within}");
        }
    }
}

#[test]
fn every_number_of_a_table_is_as_likely() {
    let table: DelayTable = "-8192 0 4096 8192".parse().unwrap();
    let measured = deviations(config(free(Some(table))), 20_000);
    for value in [-10_000_000.0, 0.0, 5_000_000.0, 10_000_000.0] {
        let count = measured.iter().filter(|measured| **measured == value).count();
        assert!((4_700..5_300).contains(&count), "{value}: {count}");
    }
}

#[test]
fn a_table_may_have_a_name_and_is_the_same_without() {
    let table: DelayTable = "1 -2 # two\n3".parse().expect("a table");
    assert_eq!((table.name(), table.values()), ("", &[1, -2, 3][..]));
    let named = table.clone().named("a.dist");
    assert_eq!((named.name(), named.values()), ("a.dist", table.values()));
    assert_eq!(named.to_string().parse(), Ok(table));
}

#[test]
fn without_a_table_jitter_is_uniform_to_both_sides() {
    let measured = deviations(config(free(None)), 40_000);
    let jitter = JITTER.as_nanos() as f64;
    assert!(measured.iter().all(|value| value.abs() <= jitter));
    assert!(mean(&measured).abs() < 0.02 * jitter, "{}", mean(&measured));
    assert!((spread(&measured) / jitter - 1.0 / 3.0_f64.sqrt()).abs() < 0.01, "{}", spread(&measured));
}

/// A number is the weighted mean of a new one and of the last: their correlation is the weight.
#[test]
fn packets_that_follow_each_other_are_correlated() {
    for share in [0.0, 0.25, 0.5, 0.9] {
        let model = JitterModel { correlation: Share::new(share).unwrap(), ..free(None) };
        let measured = deviations(config(model), 40_000);
        assert!((successive(&measured) - share).abs() < 0.02, "{share}: {}", successive(&measured));
    }
}

#[test]
fn no_delay_is_below_zero() {
    let table: DelayTable = "-32768 32767".parse().unwrap();
    let config = LinkConfig { delay: Duration::from_millis(1), ..config(free(Some(table))) };
    let mut link = Link::new(config, 3);
    for id in 0..1_000 {
        enqueue(&mut link, us(id), id as usize, 100);
    }
    let deliveries = drain(&mut link);
    assert_eq!(deliveries.len(), 1_000);
    for Delivery { at, packet, .. } in &deliveries {
        let late = at.saturating_since(us(packet.id as u64)).as_nanos();
        assert!(late == 0 || late == 1_000_000 + 39_998_779, "{late}");
    }
}

fn back_to_back(ordered: bool) -> (LinkConfig, Vec<Delivery<Tagged>>) {
    let table: DelayTable = "-16384 -8192 0 8192 16384".parse().unwrap();
    let rate = Some(Rate::from_bits_per_second(10_000_000));
    let model = JitterModel { ordered, ..free(Some(table)) };
    let config = LinkConfig { rate, ..config(model) };
    let mut link = Link::new(config.clone(), 11);
    for id in 0..2_000 {
        enqueue(&mut link, us(0), id, 1500);
    }
    (config, drain(&mut link))
}

#[test]
fn packets_overtake_each_other_unless_ordered() {
    let (_, deliveries) = back_to_back(false);
    assert_eq!(deliveries.len(), 2_000);
    assert!(deliveries.is_sorted_by_key(|delivery| delivery.at), "as they arrive");
    let overtaken = deliveries.windows(2).filter(|two| two[0].packet.id > two[1].packet.id).count();
    assert!(overtaken > 500, "{overtaken}");
    // Each at its time: 1.2 ms to transmit, and one of five delays.
    for Delivery { at, packet, .. } in &deliveries {
        let sent = us(1_200 * (packet.id as u64 + 1));
        let delay = at.saturating_since(sent).as_nanos();
        assert!(
            [180, 190, 200, 210, 220].contains(&(delay / 1_000_000)) && delay % 1_000_000 == 0,
            "{delay}"
        );
    }
    let (_, deliveries) = back_to_back(true);
    assert!(deliveries.is_sorted_by_key(|delivery| (delivery.at, delivery.packet.id)));
    assert!(deliveries.windows(2).all(|two| two[0].packet.id < two[1].packet.id));
}

/// A link that takes the place of another lets nothing arrive before what that has on its way.
#[test]
fn a_succeeding_link_waits_for_the_earlier() {
    let (config, _) = back_to_back(false);
    let mut earlier = Link::new(config.clone(), 11);
    for id in 0..50 {
        enqueue(&mut earlier, us(0), id, 1500);
    }
    let mut later = Link::succeeding(LinkConfig { delay: Duration::ZERO, ..config }, 12, &earlier);
    for id in 50..100 {
        enqueue(&mut later, us(0), id, 1500);
    }
    let last = drain(&mut earlier).last().unwrap().at;
    let first = drain(&mut later)[0].at;
    assert!(first >= last, "{first:?} before {last:?}");
}
