//! The explorer of results, opened as a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use headway_test_fixture::process::say_skipped;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::browser::{Browser, SCREENS};
use super::look::{RECORDER, all_is_well, faults_of, numbers};
use crate::HEADWAY;

const EXPERIMENT: &str = r#"
title = "Two axes, and some runs that do not finish"
runs = 5
[sweep]
variant = ["sack", "modern:bbr", "headway"]
delay = ["5ms", "50ms"]
share = ["0%", "20%"]
[scenario]
size = "60KB"
rate = "2mbit"
damage = "random:{share}"
time-limit = "3s"
[figure]
kind = "lines"
x = "delay"
series = "variant"
panels = "share"
measure = "goodput"
"#;

/// Runs an experiment and explores it. The page; `None`, and a word of it, where the libraries cannot be had.
fn explorer(folder: &Path, experiment: &str, options: &[&str]) -> Option<PathBuf> {
    fs::write(folder.join("some.toml"), experiment).expect("written");
    HEADWAY.succeed(folder, &["lab", "run", "some.toml"]);
    explored(folder, &[&["lab", "explore", "results/some"], options].concat())
}

fn explored(folder: &Path, words: &[&str]) -> Option<PathBuf> {
    let output = HEADWAY.run(folder, words);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if ["npm was not found", "npm did not fetch"].iter().any(|why| complaint.contains(why)) {
        say_skipped("npm", &complaint);
        return None;
    }
    assert!(output.status.success(), "{complaint}");
    Some(folder.join("results/some/explorer/index.html"))
}

/// The page with these choices.
fn with(page: &Path, choices: &str) -> PathBuf {
    format!("{}#{choices}", page.display()).into()
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let expression = format!("document.querySelector({}).textContent", json!(selector));
    browser.evaluate(&expression).as_str().expect("text").to_owned()
}

fn count(browser: &mut Browser, selector: &str) -> u64 {
    let expression = format!("document.querySelectorAll({}).length", json!(selector));
    browser.evaluate(&expression).as_u64().expect("a number")
}

/// Clicks the middle of what an expression gives.
fn click(browser: &mut Browser, element: &str) {
    let place = browser.evaluate(&format!(
        "(() => {{ const element = {element}; element.scrollIntoView({{ block: 'center' }}); \
         const {{ left, top, width, height }} = element.getBoundingClientRect(); \
         return [left + width / 2, top + height / 2]; }})()"
    ));
    for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
        let words = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
        browser.call("Input.dispatchMouseEvent", words);
    }
    browser.evaluate("window.ready");
}

#[test]
fn it_looks_well() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(page) = explorer(folder.path(), EXPERIMENT, &[]) else { return };
    all_is_well(&mut browser, &page);
    let sequences = page.parent().expect("a folder").join("sequences");
    let first = fs::read_dir(sequences).expect("sequences").next().expect("a page").expect("a page").path();
    all_is_well(&mut browser, &first);
    // Every kind of picture, with a point and a run beneath it.
    for choices in [
        "a=runs&ly=1",
        "x=axis%3Avariant&c=none&fx=axis%3Ashare&fy=axis%3Adelay&y=retransmissions",
        "x=goodput_bps&y=seconds&a=runs&c=axis%3Ashare&fx=none",
        "x=axis%3Ashare&c=axis%3Avariant&a=mean&lx=1&f.variant=sack~headway&r.seconds=0..2",
        "r=3",
        "y=no-such-column&e=7&x=&p=nonsense&r=99999&f.none=1",
    ] {
        for screen in SCREENS {
            browser.open(&with(&page, choices), screen);
            assert_eq!(faults_of(&mut browser), [""; 0], "{choices}, {screen:?}");
            assert_eq!(browser.complaints(), [""; 0], "{choices}, {screen:?}");
        }
    }
}

/// What stands beside a value of an ordered axis would be read as another one; over names, series stand side by side on
/// the ground of the name. A panel says of what its values are.
#[test]
fn points_stand_where_they_are_read() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(page) = explorer(folder.path(), EXPERIMENT, &["--sequences", "0"]) else { return };
    // How many places to the right points have, and how many of them lie outside of the ground of a name.
    let places = "(() => { const places = new Map(); eachPlace((point, x) => places.set(drawn.points[point].x + ' ' + drawn.points[point].s, Math.round(x))); \
                  const grounds = [...document.querySelectorAll('#picture rect[fill=\"var(--line)\"]')].map((rect) => rect.getBoundingClientRect()); \
                  const isOn = (name, at) => grounds.some(({ left, right }) => left <= at && at <= right); \
                  const strays = [...places].filter(([name, at]) => grounds.length && isOn(name, at) !== name.startsWith(ODD)); \
                  return [new Set(places.values()).size, grounds.length, strays.length]; })()";
    browser.open(&with(&page, "x=axis%3Adelay&c=axis%3Avariant&fx=none"), SCREENS[0]);
    assert_eq!(numbers(&mut browser, &places.replace("ODD", "'x'")), [2.0, 0.0, 0.0], "values");
    browser.open(&with(&page, "x=axis%3Avariant&c=axis%3Adelay&fx=none"), SCREENS[0]);
    assert_eq!(numbers(&mut browser, &places.replace("ODD", "'modern'")), [6.0, 1.0, 0.0], "names");
    browser.open(&page, SCREENS[0]);
    let texts = text(&mut browser, "#picture");
    assert!(texts.contains("share 0%") && texts.contains("share 20%"), "{texts}");
}

/// The command that the page gives for a run gives the numbers that the page shows of it, all of them.
#[track_caller]
fn the_command_gives_the_numbers(browser: &mut Browser, page: &Path) {
    browser.open(page, SCREENS[0]);
    click(browser, "document.querySelector('#picture svg [aria-label=dot] :is(path, circle)')");
    assert_eq!(count(browser, "#chosen tbody tr"), 5, "the runs of the point");
    click(browser, "document.querySelector('#chosen tbody tr:nth-child(2) button')");
    let shown = browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#run dd[data-value]')].map((dd) => [dd.dataset.measure, Number(dd.dataset.value)]))",
    );
    let shown = shown.as_object().expect("numbers");
    assert!(shown.len() > 15 && shown.contains_key("goodput_bps"), "{shown:?}");
    let command = text(browser, "#command");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_headway"));
    let path = format!("{}:{}", program.parent().expect("a folder").display(), env!("PATH"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).env("PATH", path).current_dir(page.parent().expect("a folder"));
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let made: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let run = &made["runs"][0];
    for (measure, value) in shown {
        let again =
            run[measure].as_f64().or_else(|| run[measure].as_bool().map(|flag| f64::from(u8::from(flag))));
        assert_eq!(again, value.as_f64(), "{measure} of {command}");
    }
    assert_eq!(made["runs"].as_array().map(Vec::len), Some(1), "{command}");
}

#[test]
fn a_point_leads_to_the_command_that_gives_its_number() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(page) = explorer(folder.path(), EXPERIMENT, &["--sequences", "0"]) else { return };
    the_command_gives_the_numbers(&mut browser, &page);
    let python = text(&mut browser, "#command-python");
    assert!(python.starts_with("headway.run(headway.Scenario(") && python.contains("delay=\""), "{python}");
    assert_eq!(count(&mut browser, "iframe"), 0, "no sequences were asked for");
}

#[test]
fn a_recorded_link_is_in_the_folder() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    fs::write(folder.path().join("fates.txt"), "ok 20\nlost\nok 5\nhit payload 3\nhit header 1\n")
        .expect("written");
    fs::write(folder.path().join("rate trace.txt"), "2\n5\n5\n9\n").expect("written");
    fs::write(folder.path().join("my.dist"), "-8192 -4096 0 0 4096 8192 12000\n").expect("written");
    let experiment = "title = \"t\"\nruns = 5\n[sweep]\nvariant = [\"modern\", \"headway\"]\n[scenario]\nsize = \"50KB\"\n\
                      damage = \"trace:fates.txt\"\nrate-trace = \"rate trace.txt\"\ntlp = \"off\"\nwarm = \"on\"\n\
                      jitter = \"2ms\"\njitter-distribution = \"my.dist:25%:ordered\"\n";
    let Some(page) = explorer(folder.path(), experiment, &["--sequences", "1"]) else { return };
    // Nothing outside of the explorer's folder is needed.
    for name in ["fates.txt", "rate trace.txt", "my.dist"] {
        fs::remove_file(folder.path().join(name)).expect("removed");
    }
    the_command_gives_the_numbers(&mut browser, &page);
}

/// Who has just run an experiment sees that one.
#[test]
fn the_newest_experiment_is_the_first() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let quick = "title = \"QUICK\"\nruns = 1\n[sweep]\nvariant = [\"headway\"]\n[scenario]\nsize = \"2KB\"\n";
    for name in ["some", "again", "other"] {
        fs::write(folder.path().join(format!("{name}.toml")), quick.replace("QUICK", name)).expect("written");
        HEADWAY.succeed(folder.path(), &["lab", "run", &format!("{name}.toml")]);
    }
    // Some systems' files have the time of a tick only.
    for (name, at) in [("some", 2), ("again", 1), ("other", 3)] {
        let journal =
            fs::File::options().append(true).open(folder.path().join(format!("results/{name}/runs.jsonl")));
        let at = UNIX_EPOCH + Duration::from_secs(at);
        journal.and_then(|file| file.set_modified(at)).expect("another time");
    }
    let words = ["lab", "explore", "results", "--sequences", "0", "--out", "results/some/explorer"];
    let Some(page) = explored(folder.path(), &words) else { return };
    browser.open(&page, SCREENS[0]);
    assert_eq!(text(&mut browser, "#title"), "other");
    let names = browser.evaluate("[...document.forms[0].elements.e.options].map(({ text }) => text)");
    assert_eq!(names, json!(["other", "some", "again"]));
}

/// What is chosen with the lists is in the address; the address gives the same view again.
#[test]
fn a_view_is_in_its_address() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let Some(page) = explorer(folder.path(), EXPERIMENT, &["--sequences", "1"]) else { return };
    browser.open(&page, SCREENS[0]);
    let before = text(&mut browser, "#picture-title");
    for (name, value) in [
        ("y", "retransmissions"),
        ("x", "axis:variant"),
        ("c", "axis:share"),
        ("a", "mean"),
        ("fx", "axis:delay"),
    ] {
        browser.evaluate(&format!(
            "(() => {{ const select = document.forms[0].elements['{name}']; select.value = '{value}'; \
             select.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        ));
        browser.evaluate("window.ready");
    }
    let all = count(&mut browser, "#points tbody tr");
    click(&mut browser, "document.querySelector('#filters summary')");
    click(&mut browser, "document.querySelector('#filter-list input[value=\"sack\"]')");
    let filtered = count(&mut browser, "#points tbody tr");
    assert!((all, filtered) == (12, 8), "{all} points, {filtered} without one of three senders");
    // The second column, from the largest down.
    for _ in 0..2 {
        click(&mut browser, "document.querySelectorAll('#points thead button')[3]");
    }
    click(&mut browser, "document.querySelector('#points tbody button')");
    click(&mut browser, "document.querySelector('#chosen tbody button')");
    let view = "[document.querySelector('#picture').innerHTML.replaceAll(/plot-[0-9a-z]+/g, ''), document.querySelector('#points').innerText, \
                document.querySelector('#chosen').innerText, document.querySelector('#run').innerText]";
    let (seen, address) = (browser.evaluate(view), browser.evaluate("location.href"));
    assert_ne!(text(&mut browser, "#picture-title"), before);
    assert_eq!(count(&mut browser, "#points [aria-sort=descending]"), 1);
    assert!(seen[3].as_str().is_some_and(|run| run.contains("headway race")), "{}", seen[3]);
    let address = address.as_str().and_then(|address| address.strip_prefix("file://")).expect("a file");
    browser.open(Path::new("/"), SCREENS[0]);
    browser.open(Path::new(address), SCREENS[0]);
    let again = browser.evaluate(view);
    for part in 1..4 {
        assert_eq!(again[part], seen[part], "{address}");
    }
    // The ring around the point too.
    assert_eq!(again[0], seen[0], "{address}");
    // Back to the beginning.
    click(&mut browser, "document.querySelector('#reset')");
    assert_eq!(text(&mut browser, "#picture-title"), before);
}

/// All can be done with keys; a point of thousands that are drawn as pixels is found too.
#[test]
fn points_are_found_by_pointer_and_keys() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let folder = tempdir().expect("a directory");
    let experiment = EXPERIMENT.replace("runs = 5", "runs = 300").replace("60KB", "2KB");
    let Some(page) = explorer(folder.path(), &experiment, &["--sequences", "0"]) else { return };
    browser.open(&page, SCREENS[0]);
    browser.evaluate("document.getElementById('picture').focus()");
    for key in ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "Enter"] {
        browser.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key }));
    }
    browser.evaluate("window.ready");
    assert!(text(&mut browser, "#chosen").contains("300 runs"), "the second point is chosen");
    assert_eq!(count(&mut browser, "#chosen tbody tr"), 25, "of a long table the beginning is shown");
    click(&mut browser, "document.querySelector('#chosen .more')");
    assert_eq!(count(&mut browser, "#chosen tbody tr"), 100);

    browser.open(&with(&page, "a=runs&y=seconds"), SCREENS[0]);
    let counted = text(&mut browser, "#counted");
    assert!(counted.starts_with("3600 runs"), "{counted}");
    assert!(count(&mut browser, "#picture image") > 0, "as pixels");
    assert_eq!(count(&mut browser, "#picture [aria-label=dot] :is(path, circle)"), 0);
    assert_eq!(faults_of(&mut browser), [""; 0]);
    // Where a run is drawn, a click finds it, or one that is drawn in the same place: pointers are at whole pixels.
    let place = browser.evaluate(
        "(() => { window.places = new Map(); eachPlace((point, x, y) => places.set(point, [x, y])); return places.get(1000); })()",
    );
    for kind in ["mousePressed", "mouseReleased"] {
        let words = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
        browser.call("Input.dispatchMouseEvent", words);
    }
    browser.evaluate("window.ready");
    let found = browser
        .evaluate("places.get(drawn.points.findIndex((point) => nameOf(point) === state.p)) ?? 'none'");
    let far = |side: usize| Some((found[side].as_f64()? - place[side].as_f64()?).abs());
    for side in 0..2 {
        assert!(far(side).is_some_and(|far| far <= 1.5), "{found} is found at {place}");
    }
    assert!(
        text(&mut browser, "#command").starts_with("headway race "),
        "one run leads to its command at once"
    );
}
