//! Standard error as the place of a log.

use std::io::{self, Stderr, Write};

use tracing_subscriber::fmt::MakeWriter;

use super::escape::one_line;

/// Standard error for a log, whose events are a line each.
pub(crate) struct LogWriter;

impl MakeWriter<'_> for LogWriter {
    type Writer = Lines<Stderr>;

    fn make_writer(&self) -> Lines<Stderr> {
        Lines(io::stderr())
    }
}

/// Writes each event as one line.
pub(crate) struct Lines<W>(W);

impl<W: Write> Write for Lines<W> {
    /// The whole of an event is written at once.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        writeln!(self.0, "{}", one_line(line))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_log_is_one_line() {
        let mut log = Lines(Vec::new());
        log.write_all("INFO refused destination=\u{9b}2J\u{202e}\nINFO forged\n".as_bytes())
            .expect("a vector");
        let written = String::from_utf8(log.0).expect("UTF-8");
        assert_eq!(written, "INFO refused destination=\\u009b2J\\u202e\\u000aINFO forged\n");
    }
}
