//! A live page: what a command measures is shown in browsers while it runs.
//!
//! The command puts samples into a [history](history::History) of bounded size. Each open page has a place in it, and
//! takes what is newer when it can: so a page that is slow, or gone, costs the command nothing, and no page has a
//! buffer of its own. Samples are sent as server-sent events (WHATWG HTML, 9.2).

mod arguments;
mod description;
mod error;
mod events;
mod history;
mod server;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

pub(crate) use arguments::WatchArguments;
pub(crate) use description::{Description, Panel, Time};
pub(crate) use error::WatchError;
pub(crate) use history::SourceId;
use history::{History, Limits};

use crate::libraries::Libraries;
use crate::output::notice;

/// A page that is being served. It ends, and says so, when this is dropped.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<()>>,
}

/// What the command and the server have in common.
struct Shared {
    /// What the page is told first.
    description: Description,
    history: Mutex<History>,
}

impl Shared {
    fn history(&self) -> MutexGuard<'_, History> {
        // Nothing panics while it holds the lock; if it did, the history would still be whole.
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Listens at `address`, and says where the page is.
    pub(crate) fn start(address: SocketAddr, description: Description) -> Result<Self, WatchError> {
        let libraries = Libraries::find()?;
        let session = getrandom::u64().map_err(|error| WatchError::NoRandomness(error.to_string()))?;
        let limits = Limits::of(description.time());
        let shared = Arc::new(Shared { description, history: Mutex::new(History::new(session, limits)) });
        let (stop, stopped) = oneshot::channel();
        let (place, server) = server::start(address, shared.clone(), &libraries, stopped)?;
        notice!("headway: watch at {}", url(place));
        if !place.ip().is_loopback() {
            notice!("headway: {place} is not of this machine alone: whoever reaches it can look at the page");
        }
        Ok(Self { shared, stop: Some(stop), server: Some(server) })
    }

    /// Something new is measured: a run, a direction, a peer. Those of a group are alternatives: its runs.
    pub(crate) fn begin(&self, group: &str, label: &str) -> SourceId {
        self.shared.history().begin(group, label)
    }

    /// A sample: the time in seconds, then the values that the description speaks of. What is not finite is unknown.
    pub(crate) fn sample(&self, source: SourceId, values: &[f64]) {
        self.shared.history().sample(source, values);
    }

    /// How many samples of a source are kept, and then thinned to the half of it.
    pub(crate) const SAMPLES_OF_RUN: usize = history::SAMPLES_OF_RUN;

    /// It is over, with this result.
    pub(crate) fn end(&self, source: SourceId, note: &str) {
        self.shared.history().end(source, note);
    }

    /// How far the command is.
    pub(crate) fn progress(&self, text: &str) {
        self.shared.history().progress(text);
    }

    /// The command is over: the pages are told, and stay as they are.
    pub(crate) fn finish(&self, text: &str) {
        self.shared.history().finish(text);
    }

    /// Serves the page until SIGINT or SIGTERM.
    pub(crate) fn keep_until_stopped(self) -> Result<(), WatchError> {
        notice!("headway: the page stays until Ctrl-C");
        let runtime = Builder::new_current_thread().enable_all().build().map_err(WatchError::NoRuntime)?;
        runtime.block_on(async {
            let on = |kind| signal(kind).map_err(WatchError::NoRuntime);
            let (mut interrupt, mut terminate) = (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
            tokio::select! {
                _ = interrupt.recv() => Ok(()),
                _ = terminate.recv() => Ok(()),
            }
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let text = self.shared.description.end();
        self.shared.history().finish(text);
        drop(self.stop.take());
        if let Some(server) = self.server.take() {
            // It takes no longer than the server's grace.
            let _ = server.join();
        }
    }
}

/// Where a browser of this machine finds the page.
fn url(place: SocketAddr) -> String {
    let ip = match place.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        ip => ip,
    };
    format!("http://{}/", SocketAddr::new(ip, place.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_at_every_address_is_found_on_this_machine() {
        for (place, expected) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::]:8080", "http://[::1]:8080/"),
            ("192.0.2.7:1", "http://192.0.2.7:1/"),
        ] {
            assert_eq!(url(place.parse().expect("an address")), expected);
        }
    }
}
