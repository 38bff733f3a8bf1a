//! The table of keys: what is known of each of them, and that nothing is said twice.

mod fuzzed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use headway_scenario::{Defaults, Key, Scope, Settings, Traces, key, keys, parameters, read, unknown_key};
use headway_sim::race::{CrossTraffic, QueueSize, Scenario};
use headway_sim::{Value, ValueKind};
use headway_test_fixture::corpus;
use headway_units::Duration;

/// A value for each key that differs from every default.
const OTHER_VALUES: [(&str, &str); 60] = [
    ("clock", "real"),
    ("profile", "modern"),
    ("rules", "literal"),
    ("variant", "headway:bbr"),
    ("cc", "cubic"),
    ("warm", "on"),
    ("frames", "count"),
    ("carrier", "udp"),
    ("size", "3MiB"),
    ("duration", "90s"),
    ("window", "2MiB"),
    ("mtu", "1400"),
    ("retries", "15"),
    ("time-limit", "2h"),
    ("rate", "200mbit"),
    ("reverse-rate", "1mbit"),
    ("rate-steps", "10mbit@0s,1mbit@10s,repeat@20s"),
    ("reverse-rate-steps", "1mbit@0s,2mbit@1s"),
    ("rate-trace", "tests/data/opportunities.txt"),
    ("reverse-rate-trace", "tests/data/opportunities.txt"),
    ("delay", "3ms"),
    ("delay-steps", "20ms@0s,150ms@10s,repeat@20s"),
    ("reverse-delay-steps", "10ms@0s,20ms@1s"),
    ("queue", "200p"),
    ("mark", "10p"),
    ("aqm", "codel:5ms:50ms"),
    ("policer", "8mbit:64KiB"),
    ("overhead", "38"),
    ("jitter", "1ms"),
    ("jitter-distribution", "tests/data/delays.dist:25%"),
    ("loss", "burst:1%:10"),
    ("reverse-loss", "2%"),
    ("mute", "10s@30s,500ms@45s"),
    ("reverse-mute", "1s@5s"),
    ("duplicate", "2%"),
    ("reorder", "3%"),
    ("reorder-delay", "4ms"),
    ("damage", "random:2%"),
    ("reverse-damage", "burst:1%:3"),
    ("header-hit", "50%"),
    ("hit-zone", "ip+tcp"),
    ("flips", "7"),
    ("frame-check", "drop"),
    ("companions", "sack, sack, modern:cubic undamaged"),
    ("rivals", "modern:bbr"),
    ("cross", "1mbit"),
    ("cross-packet", "576"),
    ("trunk", "headway:bbr"),
    ("trunk-mode", "split"),
    ("trunk-window", "64KiB"),
    ("trunk-queue", "20p"),
    ("trunk-aqm", "codel:5ms:100ms"),
    ("trunk-cost", "2ms"),
    ("edge-rate", "100mbit"),
    ("edge-delay", "1ms"),
    ("rules-off", "allowance+credits"),
    ("told", "200"),
    ("hops", "rate 5mbit delay 20ms; 2 queue 50p; 1"),
    ("flow-hops", "2-3"),
    ("cross-hops", "1"),
];

fn other_value(key: &Key) -> &'static str {
    if key.scope == Scope::Feature {
        return "off";
    }
    let (_, value) = OTHER_VALUES.iter().find(|(name, _)| *name == key.name).expect(key.name);
    value
}

/// The other value of a key, and what it needs to have one.
fn given_alone(key: &Key) -> BTreeMap<&'static str, String> {
    let mut given = BTreeMap::from([(key.name, other_value(key).to_owned())]);
    if key.name == "cross-packet" {
        given.insert("cross", "1mbit".into());
    } else if key.name == "jitter-distribution" {
        given.insert("jitter", "1ms".into());
    } else if key.name.starts_with("trunk-") {
        given.insert("trunk", "sack".into());
    } else if key.name.ends_with("-hops") {
        given.insert("hops", "3".into());
    }
    given
}

fn settings(given: &BTreeMap<&str, String>) -> Settings {
    let traces = Traces::in_folder(Path::new(""));
    read(|name| given.get(name).map(String::as_str), Defaults::Files, &traces).expect("settings")
}

/// Every key that has a value to show, with it.
fn shown(settings: &Settings) -> BTreeMap<&'static str, String> {
    let shown = keys().iter().map(|key| (key.name, key.show(settings)));
    shown.filter(|(_, value)| !value.is_empty()).collect()
}

#[test]
fn names_are_unique_and_can_be_written_everywhere() {
    let names: BTreeSet<&str> = keys().iter().map(|key| key.name).collect();
    assert_eq!(names.len(), keys().len());
    for key in keys() {
        let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(is_plain(key.name), "{}", key.name);
        assert!(!key.help.is_empty() && !key.help.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn what_is_shown_reads_back() {
    let none = settings(&BTreeMap::new());
    assert_eq!(shown(&settings(&shown(&none))), shown(&none), "the defaults");
    for key in keys() {
        let given = given_alone(key);
        let settings_of_key = settings(&given);
        assert_eq!(key.show(&settings_of_key), other_value(key), "{}", key.name);
        assert_ne!(key.show(&none), other_value(key), "{}", key.name);
        let mut again = shown(&settings_of_key);
        if key.name != "size" {
            again.remove("size");
        }
        assert_eq!(settings(&again).scenario, settings_of_key.scenario, "{}", key.name);
        assert_eq!(shown(&settings(&again)), shown(&settings_of_key), "{}", key.name);
    }
}

#[test]
fn any_text_is_read_or_refused() {
    corpus::replay("scenario_keys", fuzzed::check_keys);
}

/// The seeds that fuzzing starts from; `HEADWAY_UPDATE=1` writes them anew.
#[test]
fn seeds_are_the_keys_of_today() {
    for key in keys() {
        let given = given_alone(key);
        let mut seed: String = given.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
        if let Some(file) = given[key.name].strip_prefix("tests/data/") {
            let file = Path::new("tests/data").join(file.split(':').next().unwrap_or_default());
            seed += "\n";
            seed.extend(
                std::fs::read_to_string(file).expect("a file").lines().take(20).flat_map(|line| [line, "\n"]),
            );
        }
        corpus::check_stored(
            &corpus::folder("scenario_keys").join(format!("key-{}", key.name)),
            seed.as_bytes(),
        );
    }
}

#[test]
fn every_key_has_a_column_that_shows_its_value() {
    let none = settings(&BTreeMap::new());
    for key in keys() {
        let column = parameters()
            .iter()
            .find(|column| match key.scope {
                Scope::Feature => column.scope == Some(Scope::Feature),
                _ => column.name == key.column(),
            })
            .expect(key.name);
        let value = column.value(&settings(&given_alone(key)));
        assert_ne!(value, column.value(&none), "{}", key.name);
        let kind = match value {
            Value::Flag(_) => ValueKind::Flag,
            Value::Integer(_) => ValueKind::Integer,
            Value::Number(_) => ValueKind::Number,
            Value::Text(_) => ValueKind::Text,
            Value::Nothing => panic!("{}: nothing", key.name),
        };
        assert_eq!(kind, column.kind, "{}", key.name);
    }
    let names: BTreeSet<&str> = parameters().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names.len(), parameters().len());
}

/// The seeds of runs derive from these keys in this order.
#[test]
fn the_channel_key_stays_what_it_was() {
    let names: Vec<&str> =
        keys().iter().filter(|key| key.scope.is_in_channel_key()).map(|key| key.name).collect();
    let before = "size duration window mtu retries time-limit rate reverse-rate rate-steps reverse-rate-steps rate-trace reverse-rate-trace \
                  delay delay-steps reverse-delay-steps queue mark aqm policer overhead jitter jitter-distribution \
                  loss reverse-loss mute reverse-mute duplicate reorder reorder-delay damage reverse-damage header-hit hit-zone flips \
                  frame-check companions rivals cross cross-packet hops flow-hops cross-hops";
    assert_eq!(names.join(" "), before);
}

#[test]
fn a_race_without_options_is_the_papers_headline_cell() {
    let traces = Traces::in_folder(Path::new(""));
    let settings = read(|_| None, Defaults::Commands, &traces).expect("settings");
    let mut headline = Scenario::default();
    for link in [&mut headline.forward, &mut headline.reverse] {
        link.reorder_delay = Duration::from_millis(10);
    }
    headline.reverse.header_hit = headline.forward.header_hit;
    assert_eq!(settings.scenario, headline);
}

#[test]
fn queues_in_bandwidth_delay_products_count_the_path_that_was_given() {
    let given = [("rate", "200mbit"), ("delay", "3ms"), ("queue", "2bdp"), ("mark", "1bdp")];
    let settings = settings(&given.map(|(name, value)| (name, value.to_owned())).into());
    let limit = |text: &str| {
        let size: QueueSize = text.parse().expect("a size");
        size.limit(settings.scenario.forward.rate, Duration::from_millis(6), 1500)
    };
    assert_eq!(settings.scenario.forward.queue, limit("2bdp"));
    assert_eq!(settings.scenario.reverse.mark, Some(limit("1bdp")));
}

#[test]
fn steps_of_the_delay_are_of_both_directions_unless_the_reverse_path_has_others() {
    let both = |given: &[(&'static str, &str)]| {
        let given = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let Scenario { forward, reverse, .. } = settings(&given).scenario;
        [forward.delay_text(), reverse.delay_text()]
    };
    let (steps, others) = ("20ms@0s,150ms@10s", "10ms@0s,5ms@1s");
    assert_eq!(both(&[("delay-steps", steps)]), [steps, steps]);
    assert_eq!(both(&[("delay-steps", steps), ("reverse-delay-steps", others)]), [steps, others]);
    assert_eq!(both(&[("delay", "3ms"), ("reverse-delay-steps", others)]), ["3ms", others]);
    let constant = [("delay", "3ms"), ("delay-steps", steps), ("reverse-delay-steps", "none")];
    assert_eq!(both(&constant), [steps, "3ms"]);
}

/// A queue in bandwidth-delay products is that of the first delay, on both paths.
#[test]
fn queues_of_a_delay_that_changes_are_those_of_its_first() {
    let queue = |given: &[(&'static str, &str)]| {
        let given = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        settings(&given).scenario.forward.queue
    };
    let expected = queue(&[("delay", "20ms"), ("queue", "1bdp")]);
    assert_eq!(queue(&[("delay-steps", "20ms@0s,150ms@10s"), ("queue", "1bdp")]), expected);
    let reverse = [("delay", "30ms"), ("reverse-delay-steps", "10ms@0s,150ms@10s"), ("queue", "1bdp")];
    assert_eq!(queue(&reverse), expected);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (name, value, expected) in [
        ("clock", "tomorrow", "expected virtual or real"),
        ("profile", "linux99", "expected a profile"),
        ("rules", "strict", "expected literal or default"),
        ("variant", "tahoe", "expected one of newreno,"),
        ("cc", "vegas", "reno (or newreno), cubic, bbr, draft-bbr, copa or vivace"),
        ("tlp", "maybe", "expected on or off"),
        ("frames", "keep", "expected drop or count"),
        ("carrier", "pigeon", "expected ip or udp"),
        ("size", "0B", "expected at least one byte"),
        ("duration", "0s", "such as 60s"),
        ("window", "2GiB", "expected between 1B and 1GiB"),
        ("mtu", "100", "expected at least 128 bytes"),
        ("mtu", "70000", "65535"),
        ("retries", "few", "expected a whole number"),
        ("time-limit", "0s", "such as 24h"),
        ("rate", "0mbit", "expected a rate above zero"),
        ("reverse-rate", "fast", "expected a rate"),
        ("queue", "100q", "1bdp"),
        ("aqm", "red:15:5", "codel:5ms:100ms"),
        ("policer", "8mbit", "8mbit:64KiB"),
        ("loss", "200%", "expected a share"),
        ("loss", "burst:1%", "burst:1%:10"),
        ("mute", "10s", "10s@30s"),
        ("rate-steps", "10mbit", "10mbit@0s,1mbit@10s"),
        ("delay-steps", "20ms", "20ms@0s,150ms@10s"),
        ("reverse-delay-steps", "20ms@1s", "20ms@0s,150ms@10s"),
        ("rate-trace", "tests/data/missing.txt", "cannot be read"),
        ("rate-trace", "Cargo.toml", "line 1: "),
        ("damage", "sometimes", "expected none, random"),
        ("header-hit", "101%", "expected a share"),
        ("flips", "0", "expected at least one bit"),
        ("companions", "3000 sack", "expected at most 2000 flows"),
        ("cross", "0mbit", "expected a rate above zero"),
        ("cross", "pcap:tests/data/missing.pcap", "cannot be read"),
        ("cross", "pcap:Cargo.toml", "expected the magic number of a pcap"),
        ("cross", "pcap:", "expected pcap:FILE"),
        (
            "cross",
            "pcap:../headway-trace/tests/data/linux-cubic-veth-gso.pcap",
            "at most 1500 bytes, the MTU",
        ),
        ("trunk", "tahoe", "expected one of newreno,"),
        ("trunk-mode", "both", "expected packets or split"),
        ("trunk-window", "2GiB", "expected between 1B and 1GiB"),
        ("trunk-queue", "1bdp", "expected a queue limit"),
        ("trunk-aqm", "tail", "codel:5ms:100ms"),
        ("trunk-cost", "long", "expected"),
        ("edge-rate", "0mbit", "expected a rate above zero"),
        ("edge-delay", "far", "expected"),
        ("told", "0", "expected at least 1, or none"),
        ("told", "all", "expected a whole number"),
        (
            "rules-off",
            "luck",
            "expected none, all, names joined by +, or all-except: and names, of allowance",
        ),
    ] {
        let traces = Traces::in_folder(Path::new(""));
        let error = read(|key| (key == name).then_some(value), Defaults::Files, &traces).expect_err(name);
        assert_eq!(error.key, name);
        let named = value.strip_prefix("pcap:").filter(|file| !file.is_empty()).unwrap_or(value);
        assert!(error.problem.contains(named) && error.problem.contains(expected), "{error}");
    }
}

/// A capture as cross traffic is shown as it was named, with its mean rate in the column.
#[test]
fn captures_are_cross_traffic() {
    let data = "pcap:../headway-trace/tests/data/";
    let given = |file: &str| BTreeMap::from([("cross", format!("{data}{file}"))]);
    for (file, packets) in [
        ("linux-reno-veth.pcap", 144),
        ("linux-cubic-receiver.pcap", 172),
        // The link header counts for nothing.
        ("linux-cubic-sll2.pcap", 92),
        ("linux-reno-nosack-ipv6.pcap", 176),
        ("sim-sack.pcapng:to=10.0.2.1", 0),
    ] {
        let settings = settings(&given(file));
        let Some(CrossTraffic::Replay(trace)) = &settings.scenario.cross else { panic!("{file}: no trace") };
        assert!(packets == 0 || trace.packets().len() == packets, "{file}: {}", trace.packets().len());
        assert!(trace.packets().iter().any(|packet| packet.len == 1500), "{file}");
        assert_eq!(trace.check(1500), Ok(()), "{file}");
        let key = key("cross").expect("the key");
        assert_eq!(key.show(&settings), format!("{data}{file}"));
        assert_eq!(key.value(&settings), Value::Integer(trace.mean_rate().bits_per_second()));
        let again = shown(&settings);
        assert!(!again.contains_key("cross-packet"), "{file}: the lengths are those of the capture");
    }
    // The two directions are all there is.
    let count = |file: &str| match settings(&given(file)).scenario.cross {
        Some(CrossTraffic::Replay(trace)) => trace.packets().len(),
        other => panic!("{other:?}"),
    };
    let [all, to, from] =
        ["", ":to=10.0.2.1", ":from=10.0.2.1"].map(|way| count(&format!("sim-sack.pcapng{way}")));
    assert!(to > from && from > 0 && all == to + from, "{all}: {to} and {from}");
}

#[test]
fn a_misspelt_name_gets_the_nearest() {
    let names = || keys().iter().map(|key| key.name);
    assert!(key("dealy").is_none());
    let problem = unknown_key("dealy", names());
    assert!(problem.starts_with("unknown key (did you mean delay?): expected one of clock, "), "{problem}");
    let problem = unknown_key("colour", names());
    assert!(problem.starts_with("unknown key: expected one of"), "{problem}");
}
