//! The table of a race that the terminal shows.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table};
use headway_link::{Aqm, Damage, LinkConfig};
use headway_report::race::{COLUMNS, Results, groups, notes, row, sent};
use headway_report::{foot_notes, rate_text};
use headway_sim::race::{CrossTraffic, HopRange, Scenario, Summary, rules_name};

/// The most columns of text that the table takes.
const WIDTH: u16 = 120;

pub(super) fn render(results: &Results, summaries: &[Summary]) -> String {
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(COLUMNS);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, u16::from(place + 1 < COLUMNS.len())));
    }
    for (place, group) in groups(summaries).enumerate() {
        if place > 0 {
            table.add_row([""]);
        }
        table.add_rows(group.iter().map(|summary| row(results, summary)));
    }
    let heading = describe(&results.scenario, results.content_len);
    let mut text = format!("{heading}\n\n");
    for line in table.to_string().lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let terms = COLUMNS.into_iter().chain([heading.as_str()]);
    for note in notes(results, summaries).into_iter().chain(foot_notes(terms)) {
        text.push_str(&note);
        text.push('\n');
    }
    text
}

/// The scenario in two lines, and one for each of what is not in every race.
pub(super) fn describe(scenario: &Scenario, size: Option<u64>) -> String {
    let links = scenario.links();
    let over = match links[..] {
        [(link, _)] => of_link(link),
        _ => format!("{} hops", links.len()),
    };
    let mut text = format!(
        "{} over {over}, window {}; profile {}, {} rules",
        sent(scenario, size),
        scenario.window,
        scenario.profile,
        rules_name(scenario.rules),
    );
    if !scenario.features.is_empty() {
        text.push_str(&format!(", {}", scenario.features));
    }
    let hit = format!("{:.1} % of the packets hit", 100.0 * scenario.share_hit());
    match links[..] {
        [(link, reverse)] => {
            text.push_str(&format!("\ndamage {}: {hit}{}", link.damage, in_header(link)));
            text.push_str(&format!("; reverse path: {}; frame check {}", reverse.damage, link.frame_check));
        }
        _ => text.push_str(&format!("\ndamage: {hit}{}", on(scenario.flow_hops))),
    }
    if let Some(bound) = scenario.bound() {
        text.push_str(&format!("; bound {}", rate_text(bound)));
    }
    if let Some(bound) = scenario.bound_of_blocks() {
        text.push_str(&format!(", of intact blocks of {} bytes {}", Scenario::BLOCK, rate_text(bound)));
    }
    for (place, (link, reverse)) in links.iter().enumerate() {
        if links.len() > 1 {
            let hop = place + 1;
            text.push_str(&format!(
                "\nhop {hop}: {}, damage {}{}",
                of_link(link),
                link.damage,
                in_header(link)
            ));
            text.push_str(&format!("; reverse path: {}; frame check {}", reverse.damage, link.frame_check));
        }
        let reverse_delay = reverse.delay_text();
        let reverse_delay =
            (reverse_delay != link.delay_text()).then(|| format!("one-way delay {reverse_delay}"));
        for (name, link, delay) in [("", link, None), ("reverse path: ", reverse, reverse_delay)] {
            let impairments: Vec<String> = delay.into_iter().chain(impairments(link)).collect();
            if !impairments.is_empty() {
                text.push_str(&format!("\n{name}{}", impairments.join(", ")));
            }
        }
    }
    let others = others(scenario);
    if !others.is_empty() {
        text.push_str(&format!("\n{}", others.join("; ")));
    }
    text
}

/// Its rate, delay and queue.
fn of_link(link: &LinkConfig) -> String {
    format!("{}, one-way delay {}, queue {}", rate(link), link.delay_text(), link.queue)
}

/// How many hits are in the header, where that was said.
fn in_header(link: &LinkConfig) -> String {
    let share = link.header_hit.filter(|_| !matches!(link.damage, Damage::None | Damage::Trace(_)));
    share.map_or(String::new(), |share| format!(", {share} of them in the header"))
}

/// How fast a direction of the link is.
fn rate(link: &LinkConfig) -> String {
    match (&link.rate_trace, &link.rate_steps, link.rate) {
        (Some(trace), ..) => format!("rates as recorded in {}", trace.name()),
        (None, Some(steps), _) => steps.to_string(),
        (None, None, Some(rate)) => rate.to_string(),
        (None, None, None) => "no rate limit".into(),
    }
}

/// What else uses the link, and what the packets go through.
fn others(scenario: &Scenario) -> Vec<String> {
    let flows: Vec<String> = scenario
        .companions
        .chunk_by(|one, next| one.sender == next.sender && one.hops == next.hops)
        .map(|alike| match alike {
            [one] => format!("{}{}", one.sender, on(one.hops)),
            _ => format!("{} {}{}", alike.len(), alike[0].sender, on(alike[0].hops)),
        })
        .collect();
    let cross = scenario.cross.as_ref().map(|cross| match cross {
        CrossTraffic::Constant { rate, .. } => format!("cross traffic {rate}{}", on(scenario.cross_hops)),
        CrossTraffic::Replay(trace) => {
            format!("cross traffic as recorded in {}{}", trace.name(), on(scenario.cross_hops))
        }
    });
    let trunk = scenario.trunk.as_ref();
    let trunk = trunk.map(|trunk| format!("through a trunk of {}, {} mode", trunk.sender, trunk.mode.name()));
    [(!flows.is_empty()).then(|| format!("beside {}", flows.join(", "))), cross, trunk]
        .into_iter()
        .flatten()
        .collect()
}

/// Which hops a flow passes, where that was said.
fn on(hops: HopRange) -> String {
    if hops.is_all() { String::new() } else { format!(" on hops {hops}") }
}

/// How the jitter is distributed, where that was said.
fn distribution(link: &LinkConfig) -> String {
    link.jitter_model.as_ref().map_or(String::new(), |model| format!(" {model}"))
}

/// What else a direction of the link does to packets, where it does.
fn impairments(link: &LinkConfig) -> Vec<String> {
    let reordered = || format!("reorder {} by {}", link.reorder, link.reorder_delay);
    [
        (link.aqm != Aqm::None).then(|| format!("queue management {}", link.aqm)),
        link.mark.map(|limit| format!("mark beyond {limit}")),
        link.policer.map(|policer| format!("policer {policer}")),
        (link.overhead > 0).then(|| format!("overhead {} B", link.overhead)),
        (!link.mute.is_empty()).then(|| format!("mute {}", link.mute)),
        (!link.loss.is_zero()).then(|| format!("loss {}", link.loss)),
        (!link.jitter.is_zero()).then(|| format!("jitter {}{}", link.jitter, distribution(link))),
        (!link.duplicate.is_zero()).then(|| format!("duplicate {}", link.duplicate)),
        (!link.reorder.is_zero()).then(reordered),
    ]
    .into_iter()
    .flatten()
    .collect()
}
