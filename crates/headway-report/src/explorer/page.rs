//! The page of the explorer.

use headway_lab::{CODE, Results};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::{LIBRARIES, data};
use crate::page::{self, palette, series, view};

/// Rules beside those that all pages have.
const STYLE: &str = include_str!("style.css");
/// The script, in the order in which its parts use each other.
const SCRIPT: [&str; 7] = [
    include_str!("script/table.js"),
    include_str!("script/state.js"),
    include_str!("script/points.js"),
    include_str!("script/picture.js"),
    include_str!("script/list.js"),
    include_str!("script/run.js"),
    include_str!("script/main.js"),
];

/// The page over all experiments.
pub(super) fn page(all: &[&Results]) -> String {
    let experiments: Value = all
        .iter()
        .map(|results| json!({ "name": results.manifest.name, "title": results.manifest.title }))
        .collect();
    let known = json!({ "experiments": experiments, "columns": data::all_columns(), "looks": looks(all) });
    // Within a script element, "<" could end it.
    let known = known.to_string().replace('<', "\\u003c");
    let body = html! {
        header {
            h1 id="title" { "Runs of experiments" }
            p.note id="about" {}
        }
        main {
            noscript { p { "The explorer draws with scripts in this folder, which are switched off here." } }
            (choices(all))
            section aria-labelledby="picture-title" {
                figure.explored {
                    figcaption { h2 id="picture-title" {} p id="counted" {} }
                    div.plot id="picture" tabindex="0" role="application" aria-describedby="keys" {}
                    ul.legend id="legend" {}
                    p.tip id="tip" aria-live="polite" {}
                    p.note id="keys" { "Click a point to see its runs, or go from point to point with the arrow keys and press Enter." }
                }
                div id="points" {}
            }
            section id="chosen" {}
            section id="run" {}
        }
        footer {
            p { "Made by headway " (env!("CARGO_PKG_VERSION")) " (code " (CODE) ") with " code { "headway lab explore" }
                ". It is drawn with hyparquet, Observable Plot and D3 (" a href="libraries/LICENCES.txt" { "licences" } ")." }
        }
        script type="application/json" id="known" { (PreEscaped(known)) }
        @for library in LIBRARIES { script src={ "libraries/" (library) } {} }
        script { (PreEscaped(SCRIPT.concat())) }
    };
    let inks: Vec<(String, palette::Ink)> =
        (0..palette::SERIES).map(|place| (format!("series-{place}"), palette::Ink::Series(place))).collect();
    page::page_with_style("Explorer", &format!("{}{STYLE}{}", view::STYLE, view::inks(&inks)), &body)
}

/// A sender looks the same in all figures.
fn looks(all: &[&Results]) -> Value {
    let senders = all.iter().filter_map(|results| results.manifest.axes.get("variant")).flatten();
    let mut names: Vec<&String> = senders.collect();
    names.sort();
    names.dedup();
    names
        .iter()
        .zip(series::looks(&names))
        .map(|(name, look)| ((*name).clone(), json!(look)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// What can be chosen. The script fills the lists.
fn choices(all: &[&Results]) -> Markup {
    html! {
        // The address has the choices: a browser that restores them on reload would choose others.
        form.controls.choices id="choices" autocomplete="off" {
            label hidden[all.len() < 2] { "Experiment " select name="e" {
                @for (place, results) in all.iter().enumerate() { option value=(place) { (results.manifest.name) } }
            } }
            label { "y " select name="y" {} }
            label { "x " select name="x" {} }
            label { "Colour " select name="c" {} }
            label { "Columns " select name="fx" {} }
            label { "Rows " select name="fy" {} }
            label { "Show " select name="a" {
                option value="median" { "median, 10th to 90th percentile" }
                option value="mean" { "mean, 10th to 90th percentile" }
                option value="runs" { "every run" }
            } }
            label { input type="checkbox" name="lx"; " x logarithmic" }
            label { input type="checkbox" name="ly"; " y logarithmic" }
        }
        details id="filters" { summary { "Filters" } div.folded id="filter-list" {} }
        p.buttons { button type="button" id="reset" { "Start again" } button type="button" id="link" { "Copy a link to this view" } }
    }
}
