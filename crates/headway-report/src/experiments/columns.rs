//! A table of which no column is empty.

use maud::{Markup, html};

use crate::terms::explained;

/// A column.
pub(super) struct Column {
    head: Markup,
    kind: CellKind,
    cells: Vec<Markup>,
}

/// How the cells of a column look.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CellKind {
    /// They name their rows.
    Name,
    /// Sentences.
    Words,
    /// Short values; on a narrow page the head stands before each.
    Labelled(String),
    /// Short values that need no head.
    Plain,
}

impl Column {
    /// Names of rows.
    pub(super) fn names(head: &str) -> Self {
        Self::of(html! { (head) }, CellKind::Name)
    }

    /// Sentences.
    pub(super) fn words(head: &str) -> Self {
        Self::of(html! { (head) }, CellKind::Words)
    }

    /// Short values.
    pub(super) fn labelled(head: &'static str) -> Self {
        Self::of(html! { (head) }, CellKind::Labelled(head.to_owned()))
    }

    /// Short values, with terms of the head explained.
    pub(super) fn explained(head: &str) -> Self {
        Self::of(explained(head), CellKind::Labelled(head.to_owned()))
    }

    /// Short values that say themselves what they are.
    pub(super) fn plain(head: Markup) -> Self {
        Self::of(head, CellKind::Plain)
    }

    fn of(head: Markup, kind: CellKind) -> Self {
        Self { head, kind, cells: Vec::new() }
    }

    /// Adds a cell beneath the others.
    pub(super) fn push(&mut self, cell: Markup) {
        self.cells.push(cell);
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.0.is_empty())
    }

    fn cell(&self, row: usize) -> Markup {
        let Some(cell) = self.cells.get(row) else { return html! { td {} } };
        match self.kind {
            CellKind::Name => html! { th scope="row" { (cell) } },
            CellKind::Words => html! { td.says { (cell) } },
            CellKind::Labelled(ref label) => html! { td data-label=(label) { (cell) } },
            CellKind::Plain => html! { td { (cell) } },
        }
    }
}

/// The table: its classes, its name for those who do not see it, its columns, and which rows are marked as unfinished.
pub(super) fn table(
    classes: &str,
    name: &str,
    columns: &[Column],
    is_unfinished: impl Fn(usize) -> bool,
) -> Markup {
    let columns: Vec<&Column> = columns.iter().filter(|column| !column.is_empty()).collect();
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table class=(classes) {
                thead { tr { @for column in &columns { th scope="col" { (column.head) } } } }
                tbody {
                    @for row in 0..rows {
                        tr.unfinished[is_unfinished(row)] { @for column in &columns { (column.cell(row)) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out() {
        let mut columns = [Column::names("a"), Column::labelled("b"), Column::words("c")];
        for (name, word) in [("x", ""), ("y", "z")] {
            columns[0].push(html! { (name) });
            columns[1].push(html! {});
            columns[2].push(html! { (word) });
        }
        let table = table("", "t", &columns, |row| row == 1).into_string();
        assert!(table.contains("<th scope=\"col\">a</th><th scope=\"col\">c</th>"), "{table}");
        assert!(
            table.contains("<tr class=\"unfinished\"><th scope=\"row\">y</th><td class=\"says\">z</td></tr>")
        );
    }
}
