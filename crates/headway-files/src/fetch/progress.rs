//! How far a transfer is, on standard error.

use std::io::{self, IsTerminal as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use clap::ValueEnum;
use headway_command::notice;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On a terminal.
    Auto,
    /// Elsewhere too, as a line every two seconds.
    Always,
    /// Nowhere.
    Never,
}

/// Seconds between two lines.
const LINES: u64 = 2;

/// The progress of one transfer.
#[derive(Clone)]
pub(super) struct Progress {
    bar: ProgressBar,
    lines: bool,
    /// The seconds at which the last line was written.
    line_at: u64,
}

impl Progress {
    pub(super) fn new(when: When) -> Self {
        let seen = io::stderr().is_terminal();
        let bar = if seen && when != When::Never { ProgressBar::no_length() } else { ProgressBar::hidden() };
        Self { bar, lines: when == When::Always && !seen, line_at: 0 }
    }

    /// A transfer of that many bytes begins, if it is known how many.
    pub(super) fn begin(&self, bytes: Option<u64>) {
        let template = match bytes {
            Some(bytes) => {
                self.bar.set_length(bytes);
                "{decimal_bytes}/{decimal_total_bytes} {wide_bar} {decimal_bytes_per_sec} {eta} left"
            }
            None => "{decimal_bytes} {spinner} {decimal_bytes_per_sec}",
        };
        let style = ProgressStyle::with_template(template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.reset();
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.bar.inc(bytes as u64);
        let now = self.bar.elapsed().as_secs();
        if self.lines && now >= self.line_at + LINES {
            self.line_at = now;
            let of = self.bar.length().map(|all| format!(" of {}", DecimalBytes(all))).unwrap_or_default();
            notice!("headway: {}{of} in {now} s", DecimalBytes(self.bar.position()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A body whose progress is shown.
pub(super) struct Shown<B> {
    pub(super) body: B,
    pub(super) progress: Progress,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Shown<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            this.progress.advance(frame.data_ref().map_or(0, Bytes::len));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
