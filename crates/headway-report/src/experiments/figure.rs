//! A figure: its drawings, its tables, what one needs to read them.

use maud::Markup;

use super::grid::Grid;
use crate::page::series::Key;

/// What is drawn of an experiment.
#[derive(Default)]
pub(super) struct Figure {
    /// A drawing for each panel.
    pub(super) drawings: Vec<Drawing>,
    /// A table for each panel, in figures of that kind.
    pub(super) grids: Vec<Grid>,
    /// Names of the lines and bars.
    pub(super) legend: Vec<Key>,
    /// What has to be said beneath.
    pub(super) notes: Vec<String>,
    /// How many drawings make a row, where that is not their number.
    pub(super) across: Option<usize>,
}

/// One drawing.
pub(super) struct Drawing {
    /// Which panel it is; empty where there is only one.
    pub(super) title: String,
    /// As SVG.
    pub(super) svg: String,
    /// What it shows, for those who do not see it.
    pub(super) label: String,
    /// How it stands on a page, where that is more than the drawing.
    pub(super) markup: Option<Markup>,
}

impl Figure {
    /// Whether its drawings stand side by side.
    pub(super) fn is_small(&self) -> bool {
        self.drawings.len() > 1 && self.drawings.iter().all(|drawing| drawing.markup.is_none())
    }

    /// How many drawings stand side by side where there is room.
    pub(super) fn columns(&self) -> usize {
        match self.across.unwrap_or(self.drawings.len()) {
            _ if !self.is_small() => 1,
            across if across > 0 && across.is_multiple_of(3) => 3,
            1 => 1,
            _ => 2,
        }
    }
}
