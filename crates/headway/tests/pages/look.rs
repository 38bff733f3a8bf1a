//! Looks at a page on every screen, and says what is wrong with it.

use std::fs;
use std::path::Path;

use super::browser::{Browser, SCREENS, Screen};

/// What is run in every page before its own scripts.
pub(crate) const RECORDER: &str = include_str!("recorder.js");
const CHECKS: &str = include_str!("checks.js");
/// Opens whatever is folded away.
const UNFOLD: &str = "for (const part of document.querySelectorAll('details')) part.open = true";
/// Gives the share of the tiles of a picture in which there is more than one colour. `PICTURE` is the picture.
const TILES: &str = include_str!("tiles.js");

/// Nothing is wrong with the page on any screen, folded and unfolded. With `HEADWAY_SCREENSHOTS=FOLDER` the pictures
/// of it are left there.
#[track_caller]
pub(crate) fn all_is_well(browser: &mut Browser, page: &Path) {
    all_is_well_in(browser, page, |browser, screen| browser.open(page, screen));
}

/// The same of a page that `open` opens; `page` is its name.
#[track_caller]
pub(crate) fn all_is_well_in(browser: &mut Browser, page: &Path, open: impl Fn(&mut Browser, Screen)) {
    let mut faults = Vec::new();
    for screen in SCREENS {
        open(browser, screen);
        faults.extend(faults_of(browser).into_iter().map(|fault| format!("{}: {fault}", name(screen))));
        let share = share_of_tiles(browser);
        if share < 0.1 {
            faults.push(format!("{}: something is drawn in {share} of the page only", name(screen)));
        }
        keep(browser, page, screen, "");
        browser.evaluate(UNFOLD);
        let unfolded = faults_of(browser);
        faults.extend(unfolded.into_iter().map(|fault| format!("{}, unfolded: {fault}", name(screen))));
        keep(browser, page, screen, "-unfolded");
        faults.extend(
            browser.complaints().into_iter().map(|complaint| format!("{}: {complaint}", name(screen))),
        );
    }
    assert!(faults.is_empty(), "{}:\n{}", page.display(), faults.join("\n"));
}

/// What is wrong with the page as it stands.
pub(crate) fn faults_of(browser: &mut Browser) -> Vec<String> {
    let faults = browser.evaluate(CHECKS);
    let faults = faults.as_array().expect("a list");
    faults.iter().map(|fault| fault.as_str().expect("text").to_owned()).collect()
}

fn share_of_tiles(browser: &mut Browser) -> f64 {
    let picture = browser.picture(Some(900));
    browser.evaluate(&TILES.replace("PICTURE", &picture)).as_f64().expect("a number")
}

fn name(screen: Screen) -> String {
    format!("{} px, {}", screen.width, if screen.is_dark { "dark" } else { "light" })
}

fn keep(browser: &mut Browser, page: &Path, screen: Screen, suffix: &str) {
    let Some(folder) = std::env::var_os("HEADWAY_SCREENSHOTS") else { return };
    let page = page.file_stem().expect("a name").to_string_lossy();
    let scheme = if screen.is_dark { "dark" } else { "light" };
    let path = Path::new(&folder).join(format!("{page}-{}-{scheme}{suffix}.png", screen.width));
    fs::create_dir_all(folder).expect("a folder");
    fs::write(path, decoded(&browser.picture(None))).expect("written");
}

/// Base64 (RFC 4648) as bytes.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len()), 0_u32, 0);
    for value in text.bytes().filter_map(digit) {
        (bits, count) = (bits << 6 | value, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Numbers that an expression gives in the page.
#[track_caller]
pub(crate) fn numbers<const N: usize>(browser: &mut Browser, expression: &str) -> [f64; N] {
    let answer = browser.evaluate(expression);
    let list = answer.as_array().expect("a list");
    let numbers: Vec<f64> = list.iter().map(|number| number.as_f64().expect("a number")).collect();
    numbers.try_into().expect("as many numbers as expected")
}
