//! A frame: the peers, the losses of the selected one by cause, its goodput over time, its streams.

use headway_command::output::one_line;
use headway_trunk::{PathStatus, PeerStatus, StreamStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table, TableState, Wrap};

use super::view::{Goodput, View};
use crate::status::{checksums, duration, percent, rate, size};

/// No more lines for peers than that; the selected one is scrolled into view.
const MOST_PEERS: usize = 8;

/// Titles and numbers are whole from 100 columns on.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View) {
    let peers = view.status().peers.len().clamp(1, MOST_PEERS) as u16;
    let advice = view.selected().1.and_then(|peer| peer.advice);
    let [head, table, advised, middle, streams, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(peers + 3),
        Constraint::Length(if advice.is_some() { 2 } else { 0 }),
        Constraint::Length(8),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(heading(view), head);
    draw_peers(frame, view, table);
    let advice = advice.map_or_else(String::new, |advice| advice.to_string());
    frame.render_widget(Paragraph::new(advice).wrap(Wrap { trim: true }).fg(Color::Yellow), advised);
    let [losses, history] = Layout::horizontal([Constraint::Length(60), Constraint::Min(10)]).areas(middle);
    draw_losses(frame, view, losses);
    draw_history(frame, view, history);
    draw_streams(frame, view, streams);
    let help = " q quit   p pause   up/down peer   left/right order of streams";
    frame.render_widget(Paragraph::new(help).dim(), keys);
}

fn heading(view: &View) -> Paragraph<'_> {
    let status = view.status();
    let mut spans = vec![
        Span::from("headway trunk ").bold(),
        Span::from(format!(
            "{}  up {}  ignored {}  bad handshakes {}  cookies {}",
            status.place(),
            duration(status.seconds),
            status.ignored,
            status.bad_handshakes,
            status.cookies_sent
        )),
    ];
    if view.is_paused() {
        spans.push(Span::styled("  PAUSED", Style::new().fg(Color::Yellow).bold()));
    }
    Paragraph::new(Line::from(spans))
}

fn titles(texts: &[&'static str]) -> Row<'static> {
    Row::new(texts.iter().map(|&text| Cell::from(text)).collect::<Vec<_>>())
        .style(Style::new().add_modifier(Modifier::BOLD))
}

fn draw_peers(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let columns =
        ["peer", "state", "to it", "from it", "bound", "damage", "congestion", "RTT (min) ms", "streams"];
    let [state, to, from, bound, damage, congestion, rtt, streams] =
        [9, 13, 13, 7, 7, 10, 15, 7].map(Constraint::Length);
    let widths = [Constraint::Min(9), state, to, from, bound, damage, congestion, rtt, streams];
    let rows: Vec<Row<'_>> = view.status().peers.iter().map(|peer| peer_row(view, peer)).collect();
    let mut block = Block::bordered().title(" Peers ");
    if let (_, Some(peer)) = view.selected() {
        block = block.title_bottom(format!(" {}: {} ", peer.name, checksums(peer)));
    }
    let table = Table::new(rows, widths)
        .header(titles(&columns))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block);
    let mut state = TableState::new().with_selected(Some(view.selected().0));
    frame.render_stateful_widget(table, area, &mut state);
}

fn peer_row<'a>(view: &View, peer: &'a PeerStatus) -> Row<'a> {
    let goodput = view.goodput(peer);
    let lost = view.shares_lost(peer);
    let unknown = || "-".to_owned();
    let (state, color) = if peer.connected { ("connected", Color::Green) } else { ("down", Color::Red) };
    Row::new([
        Cell::from(peer.name.as_str()),
        Cell::from(state).style(Style::new().fg(color)),
        Cell::from(rate(goodput.to_peer)),
        Cell::from(rate(goodput.from_peer)),
        Cell::from(peer.recent.and_then(|recent| recent.share_of_bound).map_or_else(unknown, percent)),
        Cell::from(lost.map_or_else(unknown, |(damage, _)| percent(damage))),
        Cell::from(lost.map_or_else(unknown, |(_, congestion)| percent(congestion))),
        Cell::from(peer.path.as_ref().and_then(round_trip).unwrap_or_else(unknown)),
        Cell::from(peer.open_streams.to_string()),
    ])
}

/// Smoothed, and the least, in milliseconds.
fn round_trip(path: &PathStatus) -> Option<String> {
    let (smoothed, least) = (path.smoothed_rtt_seconds?, path.min_rtt_seconds?);
    Some(format!("{:.1} ({:.1})", smoothed * 1e3, least * 1e3))
}

fn draw_losses(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let Some(peer) = view.selected().1 else { return };
    let block = Block::bordered().title(format!(" Losses of what is sent to {}, by cause ", peer.name));
    let Some(path) = peer.path else {
        return frame.render_widget(Paragraph::new("nothing was sent").block(block), area);
    };
    let sent = path.segments_sent.max(1) as f64;
    let row = |(cause, segments): (&'static str, u64)| {
        let (what, color) = match cause {
            "congestion" => ("a queue overflowed", Color::Yellow),
            "unexplained" => ("no evidence of damage", Color::Yellow),
            "announced" => ("damage: the peer asked for it", Color::Cyan),
            "counted" => ("damage: the peer counted it", Color::Cyan),
            _ => ("damage: lost at any rate", Color::Cyan),
        };
        let cells = [cause.to_owned(), segments.to_string(), percent(segments as f64 / sent), what.into()];
        Row::new(cells.map(Cell::from)).style(Style::new().fg(color))
    };
    let rows: Vec<Row<'_>> = path.losses.by_cause().into_iter().map(row).collect();
    let widths = [11, 8, 7, 29].map(Constraint::Length);
    let table =
        Table::new(rows, widths).block(block.title_bottom(format!(" {} segments sent ", path.segments_sent)));
    frame.render_widget(table, area);
}

fn draw_history(frame: &mut Frame<'_>, view: &View, area: Rect) {
    if view.selected().1.is_none() {
        return;
    }
    let history = view.history();
    let most = history.iter().copied().max().unwrap_or(0);
    let block = Block::bordered().title(format!(" Goodput both ways, most {} ", rate(most as f64)));
    let width = usize::from(block.inner(area).width);
    let shown = &history[history.len().saturating_sub(width)..];
    let sparkline = Sparkline::default().data(shown).style(Style::new().fg(Color::Green)).block(block);
    frame.render_widget(sparkline, area);
}

fn draw_streams(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let Some(peer) = view.selected().1 else { return };
    let title = format!(" Streams to {}, by {} ", peer.name, view.order().name());
    let columns = ["to it", "from it", "bytes to", "bytes from", "age", "from", "to"];
    let [to, from, bytes_to, bytes_from, age, client] = [13, 13, 10, 10, 8, 21].map(Constraint::Length);
    let widths = [to, from, bytes_to, bytes_from, age, client, Constraint::Min(17)];
    // No more than there is room for.
    let room = usize::from(area.height);
    let streams = view.streams(peer);
    let rows: Vec<Row<'_>> = streams.into_iter().take(room).map(stream_row).collect();
    frame.render_widget(
        Table::new(rows, widths).header(titles(&columns)).block(Block::bordered().title(title)),
        area,
    );
}

fn stream_row((stream, goodput): (&StreamStatus, Goodput)) -> Row<'_> {
    Row::new([
        Cell::from(rate(goodput.to_peer)),
        Cell::from(rate(goodput.from_peer)),
        Cell::from(size(stream.bytes_to_peer)),
        Cell::from(size(stream.bytes_from_peer)),
        Cell::from(duration(stream.seconds)),
        Cell::from(stream.client.map_or_else(|| "-".into(), |client| client.to_string())),
        // A host asked for this name.
        Cell::from(one_line(&stream.destination)),
    ])
}
