//! Graphs that can be zoomed: a script in the page draws them, and handles mouse, touch and keys.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::palette::Ink;

/// The rules for the graphs.
pub(crate) const STYLE: &str = include_str!("view/style.css");

const SCALE: &str = include_str!("view/scale.js");
const MARKS: &str = include_str!("view/marks.js");
const VIEW: &str = include_str!("view/view.js");

/// What the reader chooses from, and the place of the graphs.
pub(crate) struct View<'a> {
    /// What stands before the list.
    pub(crate) label: &'a str,
    /// What can be chosen.
    pub(crate) entries: Vec<String>,
    /// What is said where points were left out.
    pub(crate) thinned: &'a str,
    /// What is said before the graphs.
    pub(crate) note: Markup,
}

impl View<'_> {
    /// The list, the buttons and the place of the graphs.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            noscript { p.note { "The graphs that can be zoomed are drawn by a script in this page, which is switched off here." } }
            form.controls {
                label { (self.label)
                    select id="direction" {
                        @for (place, entry) in self.entries.iter().enumerate() { option value=(place) { (entry) } }
                    }
                }
                span.buttons {
                    button type="button" data-do="in" title="Zoom in (+)" { "Zoom in" }
                    button type="button" data-do="out" title="Zoom out (-)" { "Zoom out" }
                    button type="button" data-do="left" title="Earlier (left arrow)" { "Earlier" }
                    button type="button" data-do="right" title="Later (right arrow)" { "Later" }
                    button type="button" data-do="all" title="Show all (0)" { "Show all" }
                }
            }
            p.note { "Turn the wheel or pinch to zoom, drag to move, hold Shift and drag to choose a span, "
                "double-click to show all. The graphs share their time axis; heights follow the visible points." }
            (self.note)
            div.view id="panels" {}
            p.note id="thinned" hidden { (self.thinned) }
        }
    }
}

/// The data of each entry, and the script; `graphs` says which series there are and how they are drawn.
pub(crate) fn script(data: &Value, graphs: &str) -> Markup {
    // Within a script element, "<" could end it.
    let data = data.to_string().replace('<', "\\u003c");
    html! {
        script type="application/json" id="data" { (PreEscaped(data)) }
        script { (PreEscaped([SCALE, MARKS, graphs, VIEW].concat())) }
    }
}

/// Rules that name colours for the script.
pub(crate) fn inks(named: &[(String, Ink)]) -> String {
    let rules = |shade: fn(Ink) -> String| -> String {
        named.iter().map(|(name, ink)| format!("--{name}: {}; ", shade(*ink))).collect()
    };
    format!(
        ":root {{ {}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {}}} }}\n",
        rules(Ink::hex),
        rules(Ink::dark_hex)
    )
}
