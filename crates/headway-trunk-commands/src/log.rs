//! The log of a running gateway, on standard error.

use clap::ValueEnum;
use headway_command::output::LogWriter;
use headway_trunk::LogLevel;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt, reload};

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people: without the time, which the journal adds.
    Text,
    /// A JSON object a line, with the time.
    Json,
}

/// The log, whose level can be changed.
pub(super) struct Log {
    level: reload::Handle<LevelFilter, Registry>,
}

impl Log {
    /// Begins to log.
    pub(super) fn start(format: LogFormat, level: LogLevel) -> Self {
        let (filter, handle) = reload::Layer::new(filter(level));
        let lines = fmt::layer().with_writer(LogWriter).with_ansi(false);
        let lines = match format {
            LogFormat::Text => lines.without_time().with_target(false).boxed(),
            LogFormat::Json => lines.json().flatten_event(true).with_target(false).boxed(),
        };
        tracing_subscriber::registry().with(filter).with(lines).init();
        Self { level: handle }
    }

    /// Another level from now on.
    pub(super) fn set_level(&self, level: LogLevel) {
        // It fails only if there is no log any more.
        let _ = self.level.modify(|place| *place = filter(level));
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
        _ => LevelFilter::INFO,
    }
}
