//! The parameters of an experiment, in a box.

use headway_lab::{LINK_AXIS, Manifest};
use maud::{Markup, html};

use super::words::short;
use crate::terms::explained;

/// The box: what varies, what is the same in all cells, how many runs there are of each.
pub(super) fn parameters(manifest: &Manifest) -> Markup {
    html! {
        dl.parameters aria-label={ "Parameters of " (manifest.name) } {
            @for (name, value) in rows(manifest) {
                div { dt { (explained(&name)) } dd { (value) } }
            }
        }
    }
}

fn rows(manifest: &Manifest) -> Vec<(String, String)> {
    let draw = manifest.draw.iter();
    let links = draw.clone().map(|draw| ("links, drawn at random".into(), draw.links.to_string()));
    let drawn = draw.clone().flat_map(|draw| draw.keys.clone());
    // Numbers say nothing of links.
    let is_said = |axis: &str| axis == LINK_AXIS && manifest.draw.is_some();
    let axes = manifest.axes.iter().filter(|(axis, _)| !is_said(axis)).map(|(axis, values)| {
        let values: Vec<String> = values.iter().map(|value| short(value)).collect();
        (axis.clone(), values.join(", "))
    });
    let settings = manifest.cells.first().into_iter().flat_map(|cell| &cell.settings);
    let fixed = settings
        .filter(|(key, _)| !manifest.axes.contains_key(key.as_str()))
        .filter(|(key, _)| !draw.clone().any(|draw| draw.keys.contains_key(key.as_str())))
        .map(|(key, _)| (key.clone(), values_of(manifest, key)));
    let runs = [("runs of each cell", u64::from(manifest.runs)), ("seed", manifest.seed)];
    links
        .chain(drawn)
        .chain(axes)
        .chain(fixed)
        .chain(runs.map(|(name, value)| (name.into(), value.to_string())))
        .collect()
}

/// The values of a key: an axis may be a part of one. Of many the first and the last.
fn values_of(manifest: &Manifest, key: &str) -> String {
    const MOST: usize = 3;
    let mut values: Vec<&str> = Vec::new();
    for value in manifest.cells.iter().filter_map(|cell| cell.settings.get(key)) {
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    match &values[..] {
        [first, .., last] if values.len() > MOST => format!("{first} to {last}"),
        few => few.join(", "),
    }
}
