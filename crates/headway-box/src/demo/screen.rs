//! Bars that move, or a line each second where there is no terminal.

use std::io::{self, IsTerminal as _};
use std::time::Instant;

use headway_command::notice;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::Sender;

pub(super) struct Screen {
    bars: Vec<ProgressBar>,
    /// Where there is no terminal: from when on, seconds of the last line, and of the end.
    lines: Option<(Instant, u64, u64)>,
}

impl Screen {
    /// A screen on which nothing is shown.
    pub(super) const fn dark() -> Self {
        Self { bars: Vec::new(), lines: None }
    }

    /// A bar for each sender, which is full at `most` bytes: what the link can carry in the time.
    #[expect(clippy::disallowed_methods, reason = "a live command reads the clock")]
    pub(super) fn new(senders: &[Sender], seconds: u32, most: u64) -> Self {
        if !io::stderr().is_terminal() {
            return Self { bars: Vec::new(), lines: Some((Instant::now(), 0, seconds.into())) };
        }
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{prefix:14} {bar:50} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = |sender: &Sender| {
            // Added first: a bar that was drawn before stays on the screen.
            let bar = all.add(ProgressBar::new(most));
            bar.set_style(style.clone());
            bar.set_prefix(sender.names.0);
            bar
        };
        Self { bars: senders.iter().map(bar).collect(), lines: None }
    }

    /// Shows what has come.
    pub(super) fn show(&mut self, senders: &[Sender]) {
        for (bar, sender) in self.bars.iter().zip(senders) {
            bar.set_position(sender.bytes);
            bar.set_message(told(sender));
        }
        let Some((since, last, end)) = &mut self.lines else { return };
        let now = since.elapsed().as_secs();
        if now > *last && now <= *end {
            *last = now;
            let each: Vec<_> =
                senders.iter().map(|sender| format!("{} {}", sender.names.0, told(sender))).collect();
            notice!("{now:>3} s: {}", each.join(", "));
        }
    }

    /// Leaves the bars as they are.
    pub(super) fn clear(&self) {
        self.bars.iter().for_each(ProgressBar::abandon);
    }
}

fn told(sender: &Sender) -> String {
    let rate = if sender.at > 0.0 { sender.bytes as f64 * 8e-6 / sender.at } else { 0.0 };
    format!("{:.2} MB, {rate:.2} Mbit/s", sender.bytes as f64 * 1e-6)
}
