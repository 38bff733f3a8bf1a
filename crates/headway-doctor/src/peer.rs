//! The two ends of `headway doctor --connect` and `--listen`: each reports the other's packets that it
//! received.
//!
//! The connecting end sends a [`Request`], followed by padding so that some of its segments can be sent
//! damaged. When the other end has all of it, it answers with what it received, and the same amount of
//! padding.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use headway_command::notice;
use headway_transport::{Listener, Stream};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Observed;
use super::lines::Lines;
use super::survey;
use super::watch::{PeerRecord, Records};

const VERSION: u32 = 1;
/// Bytes of padding after a message: more than ten segments of any usual size.
const FILLING: usize = 20_000;
/// The maximum length of a message.
const MAX_MESSAGE: usize = 100_000;

/// Without a survey it is followed by padding.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    headway_doctor: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    survey: Option<survey::Ask>,
}

impl Request {
    pub(super) fn survey(ask: survey::Ask) -> Self {
        Self { headway_doctor: VERSION, survey: Some(ask) }
    }
}

/// The peer's report of our packets, and of its own.
pub(super) async fn request(lines: &mut Lines) -> io::Result<PeerRecord> {
    lines.send_padded(&Request { headway_doctor: VERSION, survey: None }, FILLING).await?;
    let report = lines.receive(MAX_MESSAGE).await?;
    lines.skip(FILLING).await?;
    Ok(report)
}

/// Answers requests until stopped, with this time limit for each, surveys aside.
pub(super) async fn answer(listener: &Listener, observed: &Observed, patience: Duration) -> io::Result<()> {
    loop {
        let (stream, from) = listener.accept().await?;
        let observed = observed.clone();
        tokio::spawn(async move {
            let answered = answer_one(stream, from, &observed, patience).await;
            notice!(
                "headway: {from}: {}",
                match answered {
                    Ok(()) => "reported what arrived".into(),
                    Err(error) if error.kind() == io::ErrorKind::TimedOut =>
                        "no request within the time limit, or the answer was not received".into(),
                    Err(error) => error.to_string(),
                }
            );
            observed.records.forget(from);
        });
    }
}

async fn answer_one(
    stream: Stream,
    from: SocketAddr,
    observed: &Observed,
    patience: Duration,
) -> io::Result<()> {
    let mut lines = Lines::new(stream);
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let request: Request = timeout(patience, lines.receive(MAX_MESSAGE)).await.map_err(late)??;
    if request.headway_doctor != VERSION {
        let got = format!("a doctor of version {}: expected {VERSION}", request.headway_doctor);
        return Err(io::Error::new(io::ErrorKind::InvalidData, got));
    }
    match request.survey {
        Some(ask) => survey::answer(lines, ask, &observed.surveys, observed.mtu).await,
        None => timeout(patience, compare(lines, from, &observed.records)).await.map_err(late)?,
    }
}

async fn compare(mut lines: Lines, from: SocketAddr, records: &Records) -> io::Result<()> {
    lines.skip(FILLING).await?;
    lines.send_padded(&records.of(from), FILLING).await?;
    lines.finish().await
}
