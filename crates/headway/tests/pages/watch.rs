//! Live pages, while commands run and after them.

use std::path::Path;

use headway_test_fixture::live_page::LivePage;
use headway_test_fixture::namespace::{Namespace, Running};
use headway_test_fixture::process::is_installed;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::browser::{Browser, SCREENS, Screen};
use super::gateways::Gateways;
use super::look::{RECORDER, all_is_well_in, faults_of};
use crate::HEADWAY;

/// Keeps its promise when an expression of the page has become true, and what is drawn is on the screen.
const WHEN: &str = "new Promise((done) => { let turns = 1000; const look = () => { if (CONDITION) \
                    requestAnimationFrame(() => requestAnimationFrame(() => done(true))); \
                    else if (--turns) setTimeout(look, 50); else done(false); }; look(); })";

#[track_caller]
fn wait_for(browser: &mut Browser, condition: &str) {
    let has_become = browser.evaluate(&WHEN.replace("CONDITION", condition));
    assert_eq!(has_become, true, "{condition}: not in a minute; {:?}", browser.complaints());
}

const STATE: &str = "document.getElementById('state').textContent";

fn visit(browser: &mut Browser, page: &LivePage, screen: Screen, state: &str) {
    browser.visit(&format!("http://{}/", page.address()), screen);
    wait_for(browser, &format!("{STATE}.startsWith({})", json!(state)));
}

/// The texts of what a selector finds.
fn texts(browser: &mut Browser, selector: &str) -> Vec<String> {
    let found = browser.evaluate(&format!(
        "[...document.querySelectorAll({})].map((element) => element.textContent)",
        json!(selector)
    ));
    let list = found.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

fn press(browser: &mut Browser, key: &str) {
    for kind in ["keyDown", "keyUp"] {
        let words = if key.len() == 1 {
            json!({ "type": kind, "key": key, "text": key })
        } else {
            json!({ "type": kind, "key": key })
        };
        browser.call("Input.dispatchKeyEvent", words);
    }
}

/// The values of the first picture's table in this column, sender by sender.
fn column(browser: &mut Browser, number: usize) -> Vec<String> {
    texts(browser, &format!("#panels figure:first-child tbody td:nth-child({})", number + 1))
}

/// The span of time that the first picture shows, in seconds.
fn span(browser: &mut Browser) -> f64 {
    let seconds = browser.evaluate("charts[0].plot.scales.x.max - charts[0].plot.scales.x.min");
    seconds.as_f64().expect("a number")
}

const RACE: [&str; 12] = [
    "race",
    "--variant",
    "sack,modern:bbr,headway",
    "--runs",
    "3",
    "--size",
    "300KB",
    "--delay",
    "20ms",
    "--queue",
    "30p",
    "--watch",
];
const ENDED: &str = "The race has ended.";

#[test]
fn a_race() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(page) = LivePage::start(HEADWAY.command(folder.path(), &RACE)) else { return };
    all_is_well_in(&mut browser, Path::new("watch-race"), |browser, screen| {
        visit(browser, &page, screen, ENDED);
    });
    assert_eq!(texts(&mut browser, "#progress"), ["9 of 9 runs are over."]);
    assert_eq!(texts(&mut browser, "#groups tbody th"), ["sack", "modern:bbr", "headway"]);
    // Nothing comes from elsewhere.
    let strangers = browser.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => name)\
         .filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))",
    );
    assert_eq!(strangers, json!([]));
    // Every line of every picture has points.
    let empty = browser.evaluate(
        "charts.filter(({ lines }) => !lines.length || lines.some(({ values }) => values.length < 20))\
         .map(({ panel }) => panel.title)",
    );
    assert_eq!(empty, json!([]));
    // On a wide screen no table has to be scrolled.
    visit(&mut browser, &page, SCREENS[0], ENDED);
    let cut = "[...document.querySelectorAll('#panels .scroll')].filter((box) => box.scrollWidth > box.clientWidth).length";
    assert_eq!(browser.evaluate(cut), json!(0));
}

/// Beside one that takes a hundred times as long a quick sender has more than an upright line.
#[test]
fn a_quick_sender_is_seen_beside_a_slow_one() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let words = ["race", "--variant", "newreno,headway", "--runs", "1", "--size", "500KB", "--watch"];
    let Some(page) = LivePage::start(HEADWAY.command(folder.path(), &words)) else { return };
    visit(&mut browser, &page, SCREENS[0], ENDED);
    let width = "(() => { const { plot, lines } = charts[0], { times } = lines.at(-1); \
                 const [from, to] = [Math.max(times[0], plot.scales.x.min), times.at(-1)].map((at) => plot.valToPos(at, 'x')); \
                 return (to - from) / plot.over.clientWidth; })()";
    let logarithmic = browser.evaluate(width).as_f64().expect("a share");
    assert!(logarithmic > 0.15, "headway has {logarithmic} of the width");
    assert_eq!(faults_of(&mut browser), [""; 0]);
    browser.evaluate("controls.elements.logarithmic.click()");
    let linear = browser.evaluate(width).as_f64().expect("a share");
    assert!(linear < 0.05, "headway has {linear} of the width");
}

#[test]
fn a_race_is_explored_by_keys() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(page) = LivePage::start(HEADWAY.command(folder.path(), &RACE)) else { return };
    visit(&mut browser, &page, SCREENS[0], ENDED);
    browser.evaluate("controls.elements.logarithmic.checked && controls.elements.logarithmic.click()");
    assert_eq!(column(&mut browser, 2), ["–"; 3], "no line yet");
    let all = span(&mut browser);
    browser.evaluate("document.querySelector('.picture').focus()");
    press(&mut browser, "ArrowLeft");
    // A line is somewhere in the middle of the longest run, and of that perhaps alone.
    let values = column(&mut browser, 2);
    assert!(values.iter().any(|value| value.ends_with("bit/s")), "{values:?}");
    // The pictures share the line.
    let others = texts(&mut browser, "#panels figure:nth-child(3) tbody td:nth-child(3)");
    assert!(others.iter().any(|value| value.ends_with(" ms")), "{others:?}");
    press(&mut browser, "+");
    assert!((span(&mut browser) / all - 0.5).abs() < 0.01, "half of {all}");
    press(&mut browser, "0");
    assert_eq!(span(&mut browser), all);
    // A run of each sender, those that are shown alone.
    let choose = "(() => { const { run } = controls.elements; run.value = '2'; run.dispatchEvent(new Event('change')); })()";
    browser.evaluate(choose);
    assert_eq!(texts(&mut browser, "#groups tbody td[data-label=seed]"), ["2"; 3]);
    browser.evaluate("document.querySelector('#groups input').click()");
    assert_eq!(column(&mut browser, 1).len(), 2);
    assert_eq!(texts(&mut browser, "#panels figure:first-child tbody th"), ["modern:bbr", "headway"]);
    browser.evaluate("document.querySelector('#groups input').click()");
    assert_eq!(column(&mut browser, 1).len(), 3);
    let shortest = "(() => { const { span } = controls.elements; span.value = 'first'; span.dispatchEvent(new Event('change')); })()";
    browser.evaluate(shortest);
    assert!(span(&mut browser) < all);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Many browsers see a race go on; when it is killed, they say so.
#[test]
fn a_race_goes_on_before_the_eyes() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let Some(mut other) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let words = [
        "race",
        "--variant",
        "headway",
        "--runs",
        "1",
        "--damage",
        "random:1%",
        "--rate",
        "1gbit",
        "--delay",
        "5ms",
    ];
    let lasting = ["--duration", "1h", "--watch", "127.0.0.1:0"];
    let command = HEADWAY.command(folder.path(), &[&words[..], &lasting].concat());
    let Some(page) = LivePage::start(command) else { return };
    let last = "timesOf([...feed.sources.values()][0]).at(-1)";
    for browser in [&mut browser, &mut other] {
        visit(browser, &page, SCREENS[0], "Running.");
        wait_for(browser, "feed.sources.size === 1");
        let before = browser.evaluate(last).as_f64().expect("a time");
        wait_for(browser, &format!("{last} > {before} && Number(document.body.dataset.drawn) > 2"));
    }
    assert_eq!(browser.complaints(), [""; 0]);
    drop(page);
    for browser in [&mut browser, &mut other] {
        wait_for(browser, &format!("{STATE}.startsWith('The connection to the program is lost')"));
        assert_eq!(
            browser.evaluate("document.getElementById('state').className"),
            Value::from("state failed")
        );
    }
}

#[test]
fn a_gateway() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(gateways) = Gateways::start(folder.path()) else { return };
    const BYTES: usize = 3_000_000;
    gateways.send(BYTES);
    visit(&mut browser, &gateways.page, SCREENS[0], "Running.");
    let last = "[...feed.sources.values()][0]?.columns[1]?.at(-1)";
    wait_for(&mut browser, &format!("{last} === {BYTES}"));
    assert_eq!(texts(&mut browser, "#groups tbody th"), ["shore"]);
    let known = texts(&mut browser, "#progress");
    assert!(known[0].starts_with("shore: connected, 0 streams open"), "{known:?}");
    // The window and the round-trip time of the path are known.
    for panel in [3, 5] {
        let latest = texts(&mut browser, &format!("#panels figure:nth-child({panel}) tbody td:nth-child(2)"));
        assert_ne!(latest, ["–"], "picture {panel}");
    }
    gateways.send(BYTES);
    wait_for(&mut browser, &format!("{last} === {}", 2 * BYTES));
    all_is_well_in(&mut browser, Path::new("watch-gateway"), |browser, screen| {
        visit(browser, &gateways.page, screen, "Running.");
        wait_for(browser, "charts[0].lines[0]?.values.length > 2");
    });
    // The gateway ends, and says so.
    gateways.page.interrupt();
    wait_for(&mut browser, &format!("{STATE} === 'The gateway has ended.'"));
}

/// Two hosts with a box between them; one pings the other.
struct Hosts {
    middle: Namespace,
    _ping: Running,
    _ends: [Namespace; 2],
}

impl Hosts {
    /// `None`, with a message, where there can be no namespaces, or there is no `ping`.
    fn new() -> Option<Self> {
        if !is_installed("ping", "-V") {
            return None;
        }
        let [left, middle, right] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        for (end, host, address) in [("hwa", &left, "10.78.0.1/24"), ("hwb", &right, "10.78.0.2/24")] {
            middle.ip(&["link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", host.name()]);
            middle.ip(&["link", "set", end, "up"]);
            host.ip(&["addr", "add", address, "dev", "eth0"]);
            host.ip(&["link", "set", "eth0", "up"]);
        }
        let ping = left.start("ping", &["-q", "-i", "0.01", "-s", "1000", "10.78.0.2"]);
        Some(Self { middle, _ping: ping, _ends: [left, right] })
    }
}

#[test]
fn a_box() {
    // Inside there is no network to fetch the libraries from: the page of a race fetches them.
    let folder = tempdir().expect("a directory");
    if LivePage::start(HEADWAY.command(folder.path(), &RACE)).is_none() {
        return;
    }
    let Some(hosts) = Hosts::new() else { return };
    let Some(mut browser) = Browser::start_in(&hosts.middle, RECORDER) else { return };
    let words = ["box", "hwa", "hwb", "--rate", "10mbit", "--delay", "5ms", "--damage", "random:20%"];
    let watch = ["--interval", "100ms", "--watch", "127.0.0.1:0"];
    let command = hosts.middle.command(env!("CARGO_BIN_EXE_headway"), &[&words[..], &watch].concat());
    let Some(page) = LivePage::start(command) else { return };
    all_is_well_in(&mut browser, Path::new("watch-box"), |browser, screen| {
        visit(browser, &page, screen, "Running.");
        wait_for(browser, "charts[0].lines[0]?.values.length > 20");
    });
    assert_eq!(texts(&mut browser, "#groups tbody th"), ["hwa to hwb", "hwb to hwa"]);
    // What is damaged on its way is counted, and shown.
    let hit = "[...feed.sources.values()][0].columns[11].at(-1)";
    wait_for(&mut browser, &format!("{hit} > 10"));
    page.interrupt();
    wait_for(&mut browser, &format!("{STATE} === 'The box has ended.'"));
}
