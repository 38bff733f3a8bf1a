//! What the race was run over, in a sentence and in a table.

use headway_link::{Damage, LinkConfig};
use headway_sim::race::{Scenario, rules_name};
use headway_units::{Rate, Size};
use maud::{Markup, html};

use super::Results;
use super::summary::sent;
use crate::quantities::{rate_text, short_rate};
use crate::terms::explained;

/// The scenario as a sentence.
pub(super) fn sentence(results: &Results, runs: usize) -> String {
    let scenario = &results.scenario;
    let links = scenario.links();
    let senders = results.first_runs.len();
    let over = match links[..] {
        [(link, _)] => format!("a link{} with a one-way delay of {}", rate(link), delay(link)),
        _ => format!("{} links in a row", links.len()),
    };
    let mut text = format!(
        "{} sent over {over}, by {senders} sender{} in {runs} run{} each. ",
        spaced(&sent(scenario, results.content_len)),
        if senders == 1 { "" } else { "s" },
        if runs == 1 { "" } else { "s" },
    );
    let [(link, reverse)] = links[..] else {
        text.push_str(&format!("Damage hits {:.1} % of the data packets.", 100.0 * scenario.share_hit()));
        return text;
    };
    if link.damage == Damage::None {
        text.push_str("Nothing damages the data");
    } else {
        let share = 100.0 * scenario.share_hit();
        text.push_str(&format!("Damage ({}) hits {share:.1} % of the data packets", link.damage));
        match link.header_hit {
            _ if matches!(link.damage, Damage::Trace(_)) => text.push_str(", each where the trace says"),
            Some(share) => text.push_str(&format!(", {share} of these in the header")),
            None => text.push_str(", in the header or not as the bits fall"),
        }
    }
    if !link.loss.is_zero() {
        text.push_str(&format!("; {} of all packets are lost", link.loss));
    }
    match &reverse.damage {
        Damage::None => text.push_str("; nothing damages the ACKs."),
        damage => text.push_str(&format!("; on the reverse path: {damage}.")),
    }
    text
}

/// The rate, if there is one.
fn rate(link: &LinkConfig) -> String {
    link.nominal_rate()
        .map_or(String::new(), |rate| format!(" of {}", short_rate(rate.bits_per_second() as f64)))
}

/// The one-way delay, and that it changes.
fn delay(link: &LinkConfig) -> String {
    let first = spaced(&link.nominal_delay().to_string());
    match &link.delay_steps {
        None => first,
        Some(steps) => format!("{first} at first ({steps})"),
    }
}

/// A quantity with a space between number and unit, as one writes it in a sentence.
fn spaced(quantity: &str) -> String {
    match quantity.find(|c: char| c.is_ascii_alphabetic()) {
        Some(unit) => format!("{}\u{a0}{}", &quantity[..unit], &quantity[unit..]),
        None => quantity.into(),
    }
}

/// Every parameter.
pub(super) fn table(results: &Results) -> Markup {
    let scenario = &results.scenario;
    let links = scenario.links();
    let is_alone = links.len() == 1;
    let headings = (1..).map(|hop| if is_alone { "link".to_owned() } else { format!("hop {hop}") });
    // Regions have names of their own.
    let of = |heading: &str| if is_alone { String::new() } else { format!(": {heading}") };
    html! {
        @for (heading, (forward, reverse)) in headings.zip(links) {
            div.scroll tabindex="0" role="region" aria-label={ "Parameters of the scenario" (of(&heading)) } {
                table {
                    thead { tr { th scope="col" { (heading) } th scope="col" { "forward path" } th scope="col" { "reverse path" } } }
                    tbody {
                        @for (name, value) in link_rows() {
                            tr { th scope="row" { (explained(name)) } td { (value(forward)) } td { (value(reverse)) } }
                        }
                    }
                }
            }
        }
        div.scroll tabindex="0" role="region" aria-label="Parameters of the senders" {
            table {
                thead { tr { th scope="col" { "ends" } th scope="col" { "value" } } }
                tbody {
                    @for (name, value) in end_rows(scenario, results.content_len) {
                        tr { th scope="row" { (explained(name)) } td { (value) } }
                    }
                }
            }
        }
    }
}

type LinkRow = (&'static str, fn(&LinkConfig) -> String);

fn link_rows() -> [LinkRow; 16] {
    [
        ("rate", |link| match (&link.rate_trace, &link.rate_steps, link.rate) {
            (Some(trace), ..) => format!("as recorded in {}", trace.name()),
            (None, Some(steps), _) => steps.to_string(),
            (None, None, rate) => rate.map_or("unlimited".into(), |rate: Rate| rate.to_string()),
        }),
        ("one-way delay", LinkConfig::delay_text),
        ("queue", |link| link.queue.to_string()),
        ("queue management", |link| link.aqm.to_string()),
        ("policer", |link| link.policer.map_or("none".into(), |policer| policer.to_string())),
        ("layer-2 overhead", |link| format!("{} B", link.overhead)),
        ("jitter", jitter),
        ("loss", |link| link.loss.to_string()),
        ("mute", |link| if link.mute.is_empty() { "never".into() } else { link.mute.to_string() }),
        ("duplicates", |link| link.duplicate.to_string()),
        ("reordered", |link| {
            if link.reorder.is_zero() {
                link.reorder.to_string()
            } else {
                format!("{} by {}", link.reorder, link.reorder_delay)
            }
        }),
        ("damage", |link| link.damage.to_string()),
        ("header hit", |link| link.header_hit.map_or("as the bits fall".into(), |share| share.to_string())),
        ("headers that can be hit", |link| link.hit_zone.to_string()),
        ("bits flipped", |link| {
            link.flips.or(link.damage.default_flips()).map_or("-".into(), |flips| flips.to_string())
        }),
        ("frame check", |link| link.frame_check.to_string()),
    ]
}

fn end_rows(scenario: &Scenario, size: Option<u64>) -> [(&'static str, String); 9] {
    let content = match size {
        Some(size) => format!("{} ({size} B)", Size::from_bytes(size)),
        None => sent(scenario, size),
    };
    let features = if scenario.features.is_empty() { "none".into() } else { scenario.features.to_string() };
    [
        ("content", content),
        ("profile of the papers' senders", scenario.profile.to_string()),
        ("features turned on or off", features),
        ("rules for special ACKs", rules_name(scenario.rules).into()),
        ("receiver's window", scenario.window.to_string()),
        ("largest packet", format!("{} B", scenario.mtu)),
        ("timeouts before giving up", scenario.retries.map_or("unlimited".into(), |count| count.to_string())),
        ("time limit", scenario.time_limit.to_string()),
        ("bound on goodput", bounds(scenario)),
    ]
}

fn bounds(scenario: &Scenario) -> String {
    let whole = scenario.bound().map_or("none".into(), rate_text);
    let of_blocks = |bound| format!("; of intact blocks of {} bytes {}", Scenario::BLOCK, rate_text(bound));
    whole + &scenario.bound_of_blocks().map_or(String::new(), of_blocks)
}

fn jitter(link: &LinkConfig) -> String {
    let model = link.jitter_model.as_ref().map_or(String::new(), |model| format!(", {model}"));
    format!("{}{model}", link.jitter)
}
