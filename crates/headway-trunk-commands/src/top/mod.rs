//! `headway trunk top`: what a running gateway does, live.

mod draw;
mod view;

use std::io::{self, IsTerminal as _};
use std::thread::sleep;
use std::time::Duration;

use headway_command::output;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::control::RunningGateway;
use super::error::TrunkCommandError;
use draw::draw;
use view::View;

/// How often the gateway is asked.
const EVERY: Duration = Duration::from_secs(1);
/// The size of a frame that is printed.
const PRINTED: (u16, u16) = (120, 40);

pub(super) fn run(gateway: &RunningGateway, once: bool) -> Result<(), TrunkCommandError> {
    let mut view = View::new(gateway.status()?);
    if once || !io::stdout().is_terminal() {
        // Rates are differences.
        sleep(EVERY);
        view.update(gateway.status()?);
        return Ok(output::print(&text(&view, PRINTED)?)?);
    }
    let mut terminal = ratatui::try_init().map_err(TrunkCommandError::Terminal)?;
    let outcome = watch(gateway, &mut view, &mut terminal);
    ratatui::restore();
    outcome
}

fn watch(
    gateway: &RunningGateway,
    view: &mut View,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<(), TrunkCommandError> {
    loop {
        terminal.draw(|frame| draw(frame, view)).map_err(TrunkCommandError::Terminal)?;
        // An event, or a second without one.
        if event::poll(EVERY).map_err(TrunkCommandError::Terminal)? {
            match event::read().map_err(TrunkCommandError::Terminal)? {
                Event::Key(key) if key.kind == KeyEventKind::Press && !press(view, key) => return Ok(()),
                _ => {}
            }
        }
        if !view.is_paused() {
            view.update(gateway.status()?);
        }
    }
}

/// What a key does; `false`: the end.
fn press(view: &mut View, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('p' | ' ') => view.pause(),
        KeyCode::Up => view.select(-1),
        KeyCode::Down => view.select(1),
        KeyCode::Left => view.sort(-1),
        KeyCode::Right => view.sort(1),
        _ => {}
    }
    true
}

/// One frame of this size, as text.
fn text(view: &View, (width, height): (u16, u16)) -> Result<String, TrunkCommandError> {
    let mut terminal = Terminal::new(TestBackend::new(width, height))
        .map_err(|never| TrunkCommandError::Terminal(io::Error::other(never.to_string())))?;
    terminal
        .draw(|frame| draw(frame, view))
        .map_err(|never| TrunkCommandError::Terminal(io::Error::other(never.to_string())))?;
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(width));
    let lines: Vec<String> = lines
        .map(|cells| {
            let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
            line.trim_end().to_owned() + "\n"
        })
        .collect();
    let used = lines.iter().rposition(|line| line != "\n").map_or(0, |last| last + 1);
    Ok(lines[..used].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_trunk::Status;
    use serde_json::{Value, json};

    fn stream(id: u64, destination: &str, seconds: f64, to_peer: u64) -> Value {
        json!({
            "id": id, "client": "10.79.1.2:40000", "destination": destination, "seconds": seconds,
            "bytes_to_peer": to_peer, "bytes_from_peer": 0,
        })
    }

    fn peer(name: &str, second: u64, streams: &[Value]) -> Value {
        json!({
            "name": name, "endpoint": "198.51.100.1:4433", "connected": true, "passes_unchecked": true,
            "last_received_seconds": 0.1, "open_streams": streams.len(), "opened_streams": 7, "refused_streams": 1,
            "bytes_to_peer": second * 1_000_000, "bytes_from_peer": second * 1000,
            "arrived": {"intact": 100, "corrupted": 3, "unreadable": 2, "ignored": 0}, "handshakes": 1,
            "path": {
                "smoothed_rtt_seconds": 0.612, "min_rtt_seconds": 0.6, "congestion_window_bytes": 1_048_576,
                "in_flight_bytes": 524_288, "delivery_rate_bits_per_second": 10_000_000,
                "segments_sent": second * 1000, "ecn_marks": 0,
                "losses": {
                    "announced": second * 50, "counted": second * 6, "inferred": second * 4,
                    "congestion": second * 2, "unexplained": 0,
                },
            },
            "recent": {
                "seconds": 10.0, "to_peer_bits_per_second": 8_000_000.0, "from_peer_bits_per_second": 8000.0,
                "damaged_share": 0.06, "bound_bits_per_second": 8_700_000.0, "share_of_bound": 0.9195,
            },
            "advice": { "unexplained": 12 }, "streams": streams,
        })
    }

    fn status(second: u64) -> Status {
        let streams = [
            stream(1, "10.0.0.5:22", 500.0, 9_000_000 + second),
            stream(2, "files.example:80", 3.0, second * 900_000),
        ];
        serde_json::from_value(json!({
            "public_key": "AAAA", "listen": "0.0.0.0:4433", "seconds": 100.0 + second as f64,
            "peers": [peer("shore", second, &streams), peer("buoy", second, &[])],
            "intact": 200, "corrupted": 6, "unreadable": 4, "ignored": 0, "bad_handshakes": 0, "cookies_sent": 0,
            "without_session": 0, "memory_bytes": 0,
        }))
        .expect("a status")
    }

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn line_with<'a>(text: &'a str, what: &str) -> &'a str {
        text.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what} in\n{text}"))
    }

    #[test]
    fn a_frame_has_peers_causes_and_streams() {
        let mut view = View::new(status(1));
        for second in 2..5 {
            view.update(status(second));
        }
        let text = text(&view, PRINTED).expect("a frame");
        let shore = line_with(&text, "shore");
        // 1,000,000 bytes a second; 6 % damaged and 0.2 % congestion of what was sent in the last second.
        for part in ["8.00 Mbit/s", "92.0 %", "6.0 %", "0.2 %", "612.0 (600.0)", "connected"] {
            assert!(shore.contains(part), "{part} is not in {shore}");
        }
        for (cause, count) in
            [("announced", "200"), ("counted", "24"), ("inferred", "16"), ("congestion", "8")]
        {
            let line = line_with(&text, &format!("│{cause}"));
            assert!(line.contains(count), "{cause} {count} is not in\n{text}");
        }
        // The one that carries most now is the first, although the other has carried more.
        let places = ["files.example:80", "10.0.0.5:22"].map(|name| text.find(name).expect("a stream"));
        assert!(places[0] < places[1], "{text}");
        assert!(line_with(&text, "files.example:80").contains("7.20 Mbit/s"), "{text}");
    }

    #[test]
    fn a_hundred_columns_are_enough() {
        let mut view = View::new(status(1));
        view.update(status(2));
        let (narrow, wide) =
            (text(&view, (100, 40)).expect("a frame"), text(&view, (200, 40)).expect("a frame"));
        let words = |text: &str| {
            let words = text.split(|c: char| c.is_whitespace() || "\u{2500}\u{2502}┌┐└┘▁▂▃▄▅▆▇█".contains(c));
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(&narrow), words(&wide), "{narrow}");
        for part in [
            "connected 8.00 Mbit/s   8.0 kbit/s",
            "RTT (min) ms    streams",
            "612.0 (600.0)   2",
            "damage can be seen",
            "damage: the peer asked for it",
            "set own-path = true in [gateway]",
            "10.79.1.2:40000       files.example:80",
        ] {
            assert!(narrow.contains(part), "{part} is not in\n{narrow}");
        }
    }

    #[test]
    fn keys_select_sort_pause_and_end() {
        let mut view = View::new(status(1));
        view.update(status(2));
        assert!(press(&mut view, key(KeyCode::Down)));
        assert!(text(&view, PRINTED).expect("a frame").contains("Streams to buoy"));
        assert!(press(&mut view, key(KeyCode::Down)), "the last one stays selected");
        assert!(text(&view, PRINTED).expect("a frame").contains("Streams to buoy"));
        assert!(press(&mut view, key(KeyCode::Up)));
        // By bytes, then by age.
        assert!(press(&mut view, key(KeyCode::Right)));
        let by_bytes = text(&view, PRINTED).expect("a frame");
        assert!(
            by_bytes.contains("Streams to shore")
                && by_bytes.find("10.0.0.5:22") < by_bytes.find("files.example")
        );
        assert!(press(&mut view, key(KeyCode::Char('p'))));
        assert!(view.is_paused() && text(&view, PRINTED).expect("a frame").contains("PAUSED"));
        assert!(press(&mut view, key(KeyCode::Char('p'))) && !view.is_paused());
        assert!(!press(&mut view, key(KeyCode::Char('q'))));
        assert!(!press(&mut view, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    }

    /// Whatever the size of the terminal, and whatever has changed between two answers.
    #[test]
    fn small_terminals_and_restarted_gateways_are_drawn() {
        let mut view = View::new(status(9));
        let mut empty = status(1);
        empty.peers.clear();
        view.update(empty);
        view.update(status(3));
        view.select(1);
        for (width, height) in [(1, 1), (20, 5), (40, 10), (80, 24), (200, 60)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
            terminal.draw(|frame| draw(frame, &view)).expect("a frame");
        }
    }
}
