//! The graphs of each sender's first run, with what one needs to read them.

use headway_sim::race::Entrant;
use headway_tcp::Variant;
use maud::{Markup, html};

use super::{FirstRun, Results, runs};
use crate::error::ReportError;
use crate::page::layers::Layers;
use crate::page::sequence::Graph;
use crate::page::sequence_figure::graphs;
use crate::quantities::{rate_text, seconds_text};

/// One figure for each sender.
pub(super) fn figures(results: &Results) -> Result<Markup, ReportError> {
    let figures = results.first_runs.iter().map(figure).collect::<Result<Vec<_>, _>>()?;
    Ok(html! { @for figure in figures { (figure) } })
}

fn figure(first: &FirstRun) -> Result<Markup, ReportError> {
    let outcome = &first.outcome;
    let name = first.sender.to_string();
    let words = format!(
        "seed {}, {}, {}, {}",
        outcome.seed,
        runs::end(outcome),
        seconds_text(outcome.metrics.seconds),
        rate_text(outcome.metrics.goodput_bps),
    );
    let drawn = match &first.sequence {
        Some(sequence) => {
            let layers = Layers::observed(sequence);
            graphs(&name, &Graph::new(&layers, outcome.size, outcome.metrics.seconds))?
        }
        None => html! { p { "Nothing was recorded of this run." } },
    };
    Ok(html! {
        figure.run id={ "run-" (name) } {
            figcaption {
                h3 { (name) }
                p { (meaning(first.sender)) ". First run: " (words) "." }
            }
            (drawn)
        }
    })
}

fn meaning(sender: Entrant) -> &'static str {
    let Entrant::Tcp(sender) = sender else {
        return "Not a TCP: knows of every hit at once, never reducing, up to one bandwidth-delay product";
    };
    match sender.variant {
        Variant::NewReno => "Cumulative ACKs only (NewReno, RFC 6582)",
        Variant::Sack => "Selective acknowledgements (RFC 2018)",
        Variant::Hack => "HACK on NewReno: special ACKs name the segment that arrived damaged",
        Variant::HackSack => "HACK together with selective acknowledgements",
        Variant::Xhack => "Extended HACK on NewReno: special ACKs list several damaged segments",
        Variant::XhackSack => "Extended HACK together with selective acknowledgements",
        Variant::Modern => "Today's TCP: RACK-TLP, PRR, pacing",
        Variant::ModernHack => "Today's TCP with Extended HACK as published",
        Variant::Headway => "Today's TCP with HACK v2, the cause ledger and header repair",
    }
}
