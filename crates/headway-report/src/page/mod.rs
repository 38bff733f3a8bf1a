//! What the pages with results have in common: one file each that needs nothing else, the same bytes
//! for the same results.

pub(crate) mod axis;
pub(crate) mod canvas;
pub(crate) mod layers;
pub(crate) mod marks;
pub(crate) mod palette;
pub(crate) mod sequence;
pub(crate) mod sequence_figure;
pub(crate) mod series;
pub(crate) mod view;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::terms::explanations;

/// The style sheet, except for the colours of the drawings.
pub(crate) const STYLE: &str = include_str!("style.css");

/// A whole page that has rules of its own behind the common ones.
pub(crate) fn page_with_style(title: &str, style: &str, body: &Markup) -> String {
    let body = body.clone().into_string();
    // The colours of drawings, not those that a script draws with.
    let dark = palette::dark_rules(".plot ", &body);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(dark)) (PreEscaped(style)) }
            }
            body { (PreEscaped(&body)) (explanations(&body)) }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}
