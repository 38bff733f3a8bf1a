//! The live page of a command: what it loads, except uPlot, which draws its pictures, and the samples.
//!
//! The server gives them under these paths: the page at `/`, [`style`] at `/page.css`, [`script`] at `/page.js`, uPlot
//! at `/uPlot.js` and `/uPlot.css`, the licences at `/licences.txt`, and server-sent events at `/events`. Nothing is in
//! the page itself that runs, so that the server can forbid it.

use maud::{DOCTYPE, html};

use crate::page::{self, palette, view};

/// Rules beside those that all pages have.
const STYLE: &str = include_str!("style.css");
/// In the order in which the parts use each other.
const SCRIPT: [&str; 4] = [
    include_str!("script/samples.js"),
    include_str!("script/numbers.js"),
    include_str!("script/chart.js"),
    include_str!("script/main.js"),
];

/// The page.
pub fn page(title: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                // Without one, browsers ask for /favicon.ico.
                link rel="icon" href="data:,";
                link rel="stylesheet" href="uPlot.css";
                link rel="stylesheet" href="page.css";
                script src="uPlot.js" defer {}
                script src="page.js" defer {}
            }
            body {
                header {
                    h1 { (title) }
                    p.note { code id="command" {} }
                    p.state id="state" role="status" { "Connecting." }
                    p.state id="progress" {}
                    noscript { p { "The page draws with scripts, which are switched off here." } }
                }
                main {
                    form.controls id="controls" autocomplete="off" {
                        label id="run-choice" hidden { "Run " select name="run" {} }
                        label { "Time " select name="span" {} }
                        label id="logarithmic-choice" hidden { input type="checkbox" name="logarithmic"; "logarithmic" }
                        span.buttons {
                            button type="button" id="pause" aria-pressed="false" { "Pause" }
                            button type="button" id="all" { "Show all" }
                        }
                    }
                    div id="groups" {}
                    div.panels id="panels" {}
                    p.note {
                        em { "At the pointer" } ": the values at the time over which the pointer stands in a picture. Drag there to "
                        "choose a span of time, double-click to show all. With keys: the arrows move that time, + and - zoom, 0 shows all."
                    }
                }
                footer {
                    p { "Made by headway " (env!("CARGO_PKG_VERSION")) " with uPlot (" a href="licences.txt" { "licences" } ")." }
                }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

/// The style sheet of the page.
pub fn style() -> String {
    let colours: Vec<(String, palette::Ink)> =
        (0..palette::SERIES).map(|place| (format!("series-{place}"), palette::Ink::Series(place))).collect();
    [page::STYLE, view::STYLE, STYLE, &view::inks(&colours)].concat()
}

/// The script of the page.
pub fn script() -> String {
    SCRIPT.concat()
}

/// How groups with these names look beside each other, as in other pages.
pub fn looks(names: &[impl AsRef<str>]) -> Vec<usize> {
    page::series::looks(names)
}
