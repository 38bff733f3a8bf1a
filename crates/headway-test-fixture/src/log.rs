//! What is logged through `tracing`.

use std::fmt::{self, Write as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// The log of a thread, once it is its subscriber.
#[derive(Clone)]
pub struct Log {
    level: Level,
    lines: Arc<Mutex<String>>,
}

/// While there is one subscriber alone, `tracing` asks that of the thread that comes first whether an event is wanted, and
/// believes a thread without any for all threads. With two it asks both.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Log::new(Level::ERROR)));

impl Log {
    /// Takes what has this level or is more important.
    pub fn up_to(level: Level) -> Self {
        LazyLock::force(&SECOND);
        Self::new(level)
    }

    fn new(level: Level) -> Self {
        Self { level, lines: Arc::default() }
    }

    /// The lines that contain `piece`: level and fields of an event.
    pub fn lines(&self, piece: &str) -> Vec<String> {
        let log = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        log.lines().filter(|line| line.contains(piece)).map(str::to_owned).collect()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("a string takes all");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) += &(line.0 + "\n");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_logged_first_is_logged() {
        let warn = || tracing::warn!("of both threads");
        let log = Log::up_to(Level::WARN);
        let _guard = tracing::subscriber::set_default(log.clone());
        std::thread::scope(|scope| scope.spawn(warn).join()).expect("it ends");
        warn();
        assert_eq!(log.lines("of both threads").len(), 1);
    }
}
