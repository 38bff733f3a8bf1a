//! Bars that move, or a line each second where there is no terminal.

use std::io::{self, IsTerminal as _};
use std::time::Instant;

use headway_command::notice;
use headway_units::Rate;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{Arguments, Sender};

pub(super) struct Screen {
    bars: Vec<ProgressBar>,
    /// Where there is no terminal: from when on, seconds of the last line, and of the end.
    lines: Option<(Instant, u64, u64)>,
}

impl Screen {
    /// A bar for each sender, which is full when the link has carried all that it can in the time.
    #[expect(clippy::disallowed_methods, reason = "a live command reads the clock")]
    pub(super) fn new(senders: &[Sender], arguments: &Arguments) -> Self {
        if arguments.json {
            return Self { bars: Vec::new(), lines: None };
        }
        notice!("{}", arguments.link());
        if !io::stderr().is_terminal() {
            return Self { bars: Vec::new(), lines: Some((Instant::now(), 0, arguments.seconds.into())) };
        }
        // What is no rate is told by the commands that need it.
        let rate = arguments.rate.parse().map_or(1, Rate::bits_per_second);
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{prefix:14} {bar:50} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = |sender: &Sender| {
            let bar = ProgressBar::new(rate / 8 * u64::from(arguments.seconds)).with_style(style.clone());
            bar.set_prefix(sender.names.0);
            all.add(bar)
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
