//! Files that describe a link alone.

use std::path::Path;

use headway_lab::load_links;
use headway_link::{Aqm, Damage, FrameCheck, HitZone, JitterModel, LinkConfig, Mutes, QueueLimit};
use headway_scenario::keys;
use headway_units::{Duration, Rate, Share};

fn load(text: &str) -> Result<[LinkConfig; 2], String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("three.fates"), "ok 2\nhit 1\n").unwrap();
    load_links(&path, 1500)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "link.toml"))
}

/// Every key, with another value than the default.
const EVERYTHING: &str = r#"
rate = "200mbit"
reverse-rate = "1mbit"
rate-steps = "none"
reverse-rate-steps = "8mbit@0s,1mbit@5s"
rate-trace = "none"
reverse-rate-trace = "none"
delay = "3ms"
delay-steps = "none"
reverse-delay-steps = "5ms@0s,50ms@2s"
queue = "2bdp"
mark = "10p"
aqm = "none"
policer = "8mbit:64KiB"
overhead = 38
jitter = "1ms"
jitter-distribution = "uniform:25%:ordered"
loss = "burst:1%:3"
reverse-loss = "2%"
mute = "10s@30s"
reverse-mute = "none"
duplicate = 0.02
reorder = "3%"
reorder-delay = "4ms"
damage = "random:2%"
reverse-damage = "burst:1%:3"
header-hit = "50%"
hit-zone = "ip+tcp"
flips = 7
frame-check = "drop"
"#;

#[test]
fn every_key_says_what_it_says_in_an_experiment() {
    let share = |value| Share::new(value).unwrap();
    let forward = LinkConfig {
        rate: Some(Rate::from_bits_per_second(200_000_000)),
        rate_steps: None,
        rate_trace: None,
        delay: Duration::from_millis(3),
        delay_steps: None,
        queue: QueueLimit::Packets(267),
        mark: Some(QueueLimit::Packets(10)),
        aqm: Aqm::None,
        policer: Some("8mbit:64KiB".parse().unwrap()),
        overhead: 38,
        jitter: Duration::from_millis(1),
        jitter_model: Some(JitterModel { table: None, correlation: share(0.25), ordered: true }),
        loss: "burst:1%:3".parse().unwrap(),
        mute: "10s@30s".parse().unwrap(),
        duplicate: share(0.02),
        reorder: share(0.03),
        reorder_delay: Duration::from_millis(4),
        damage: "random:2%".parse().unwrap(),
        header_hit: Some(share(0.5)),
        hit_zone: HitZone::IpAndTcpHeader,
        flips: Some(7),
        frame_check: FrameCheck::Drop,
    };
    let reverse = LinkConfig {
        rate: Some(Rate::from_bits_per_second(1_000_000)),
        rate_steps: Some("8mbit@0s,1mbit@5s".parse().unwrap()),
        delay_steps: Some("5ms@0s,50ms@2s".parse().unwrap()),
        loss: share(0.02).into(),
        mute: Mutes::default(),
        damage: "burst:1%:3".parse().unwrap(),
        ..forward.clone()
    };
    assert_eq!(load(EVERYTHING), Ok([forward.clone(), reverse.clone()]));
    assert_eq!(load(&format!("[scenario]\n{EVERYTHING}")), Ok([forward, reverse]));
    for key in keys().iter().filter(|key| key.scope.is_of_link()) {
        assert!(EVERYTHING.contains(&format!("\n{} = ", key.name)), "{}", key.name);
    }
}

#[test]
fn what_is_not_said_has_the_defaults_of_experiments() {
    let [forward, reverse] = load("").unwrap();
    assert_eq!(forward.rate, Some(Rate::from_bits_per_second(10_000_000)));
    assert_eq!((forward.delay, forward.queue), (Duration::from_millis(300), QueueLimit::Packets(100)));
    assert_eq!((&forward.damage, forward.header_hit), (&Damage::None, None));
    assert_eq!(forward, reverse);
}

#[test]
fn traces_are_looked_for_beside_the_file() {
    let [forward, _] = load("damage = \"trace:three.fates\"").unwrap();
    assert!(matches!(forward.damage, Damage::Trace(_)));
}

#[test]
fn mistakes_name_file_line_key_and_what_is_allowed() {
    for (text, expected) in [
        ("rate = ", "link.toml:1: "),
        ("delay = \"1ms\"\nrate = \"fast\"", "link.toml:2: rate: \"fast\": expected"),
        ("rate = \"0mbit\"", "rate: \"0mbit\": expected a rate above zero"),
        ("\nspeed = 3", "link.toml:2: speed: unknown key: expected one of rate, reverse-rate, rate-steps"),
        ("variant = \"sack\"", "variant: is not about the link: expected one of rate,"),
        ("rate = true", "rate: a value of the kind boolean: expected a number, or a text such as"),
        ("rate = [\"1mbit\"]", "rate: a value of the kind array: expected"),
        ("damage = \"sometimes\"", "link.toml:1: damage: \"sometimes\": expected"),
        ("loss = \"200%\"", "link.toml:1: loss: \"200%\""),
        (
            "rate = \"1mbit\"\n[scenario]\ndelay = \"1ms\"",
            "scenario: expected a table of a link's keys, and nothing",
        ),
        ("scenario = 3", "scenario: expected a table"),
        ("damage = \"trace:missing\"", "missing: cannot be read"),
        ("jitter-distribution = \"uniform\"", "expected some jitter, such as 10ms, beside it"),
        (
            "jitter = \"1ms\"\njitter-distribution = \"gauss\"",
            "link.toml:2: jitter-distribution: gauss: no such file, and no",
        ),
    ] {
        let error = load(text).expect_err(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let error = load_links(Path::new("/no/such/link.toml"), 1500).unwrap_err().to_string();
    assert!(error.contains("/no/such/link.toml"), "{error}");
}
