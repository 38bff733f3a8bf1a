//! What the two ends of a run report to one another, and how it ends.

use std::io;
use std::sync::{Mutex, PoisonError};

use headway_sim::Content;
use headway_tcp::Statistics;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use crate::host::{Inlet, Outlet};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Over {
    /// All arrived, or the time was up.
    Done,
    /// An end failed.
    Failed(String),
}

/// The transfer of a run. Both ends hold it, each in its own thread.
pub(crate) struct Transfer {
    content: Content,
    /// What ends it, from the first attempt to connect.
    limit: Duration,
    listening: watch::Sender<bool>,
    begun: watch::Sender<Option<Instant>>,
    over: watch::Sender<Option<Over>>,
    /// What programs said, in case it failed.
    remarks: Mutex<Vec<String>>,
}

/// What the receiver saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) delivered: u64,
    /// Bytes of those that differ from what was sent.
    pub(crate) differing: u64,
    /// Whether all is there.
    pub(crate) complete: bool,
    /// From the first attempt to connect to the last byte.
    pub(crate) last: Duration,
    /// What the connection counted, where it is ours.
    pub(crate) statistics: Option<Statistics>,
}

impl Transfer {
    pub(crate) fn new(content: Content, limit: Duration) -> Self {
        Self {
            content,
            limit,
            listening: watch::Sender::new(false),
            begun: watch::Sender::new(None),
            over: watch::Sender::new(None),
            remarks: Mutex::default(),
        }
    }

    /// Why the run failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.over.borrow() {
            Some(Over::Failed(problem)) => {
                let remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
                Some(remarks.iter().fold(problem.clone(), |text, remark| format!("{text}; {remark}")))
            }
            _ => None,
        }
    }

    /// The first that is said of the end is what counts.
    fn end(&self, over: Over) {
        self.over.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(over);
            }
            first
        });
    }

    /// The run cannot go on.
    pub(crate) fn fail(&self, problem: String) {
        self.end(Over::Failed(problem));
    }

    /// What a program said; nothing if that is empty.
    pub(crate) fn remark(&self, said: String) {
        if !said.is_empty() {
            self.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(said);
        }
    }

    async fn ended(&self) {
        // The sender of the channel is ours.
        let _ = self.over.subscribe().wait_for(Option::is_some).await;
    }

    /// Sends the content from the moment that the receiver listens, until the run is over.
    ///
    /// Returns what the connection counted, where it is ours.
    pub(crate) async fn send(
        &self,
        connect: impl AsyncFnOnce() -> io::Result<Box<dyn Outlet>>,
    ) -> Option<Statistics> {
        let mut listening = self.listening.subscribe();
        tokio::select! {
            _ = listening.wait_for(|listening| *listening) => {}
            () = self.ended() => return None,
        }
        self.begun.send_replace(Some(Instant::now()));
        let mut outlet = tokio::select! {
            connected = connect() => match connected {
                Ok(outlet) => outlet,
                Err(error) => {
                    self.fail(format!("connecting: {error}"));
                    return None;
                }
            },
            () = self.ended() => return None,
        };
        tokio::select! {
            written = write_all(&self.content, &mut *outlet) => match written {
                Ok(()) => self.ended().await,
                Err(error) => self.fail(format!("sending: {error}")),
            },
            () = self.ended() => {}
        }
        outlet.statistics()
    }

    /// Receives and compares what comes, until all is there or the time is up.
    pub(crate) async fn receive(&self, accept: impl AsyncFnOnce() -> io::Result<Box<dyn Inlet>>) -> Arrived {
        let mut arrived = Arrived::default();
        self.listening.send_replace(true);
        let mut begun = self.begun.subscribe();
        let started = tokio::select! {
            begun = begun.wait_for(Option::is_some) => match begun.ok().and_then(|begun| *begun) {
                Some(started) => started,
                None => return arrived,
            },
            () = self.ended() => return arrived,
        };
        let until = started + self.limit;
        let mut inlet = tokio::select! {
            accepted = accept() => match accepted {
                Ok(inlet) => inlet,
                Err(error) => {
                    self.fail(format!("accepting: {error}"));
                    return arrived;
                }
            },
            // No sender connected.
            () = tokio::time::sleep_until(until) => {
                self.end(Over::Done);
                return arrived;
            }
            () = self.ended() => return arrived,
        };
        let read = tokio::select! {
            read = self.read_all(started, &mut *inlet, &mut arrived) => read,
            () = tokio::time::sleep_until(until) => Ok(()),
            () = self.ended() => Ok(()),
        };
        arrived.statistics = inlet.statistics();
        self.end(read.map_or_else(Over::Failed, |()| Over::Done));
        arrived
    }

    async fn read_all(
        &self,
        started: Instant,
        inlet: &mut dyn Inlet,
        arrived: &mut Arrived,
    ) -> Result<(), String> {
        use tokio::io::AsyncReadExt as _;
        let mut expected = self.content.open().map_err(|error| error.to_string())?;
        let mut buffer = vec![0; 1 << 16];
        while !expected.is_at_end() {
            let count = inlet.read(&mut buffer).await.map_err(|error| format!("receiving: {error}"))?;
            if count == 0 {
                return Err(format!("receiving: the end came after {} bytes", arrived.delivered));
            }
            arrived.last = Instant::now() - started;
            arrived.delivered += count as u64;
            let mut got = &buffer[..count];
            while !got.is_empty() {
                let chunk = expected.chunk();
                if chunk.is_empty() {
                    return Err("receiving: more came than was sent".into());
                }
                let len = chunk.len().min(got.len());
                let differ = chunk.iter().zip(got).take(len).filter(|(sent, got)| sent != got).count();
                arrived.differing += differ as u64;
                expected.advance(len);
                got = &got[len..];
            }
        }
        arrived.complete = true;
        Ok(())
    }
}

/// Writes all of it and ends our side.
async fn write_all(content: &Content, outlet: &mut dyn Outlet) -> io::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let mut reader = content.open().map_err(io::Error::other)?;
    while !reader.is_at_end() {
        let written = outlet.write(reader.chunk()).await?;
        reader.advance(written);
    }
    outlet.shutdown().await
}
