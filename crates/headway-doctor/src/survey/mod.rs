//! `headway doctor --survey`: what a link does to frames that both ends know.
//!
//! Over a connection the two ends agree on a key, and at its end the peer reports what arrived. Between these, the frames
//! go beside the TCP ([`carrier`]).

pub(crate) mod carrier;
mod frames;
mod record;
mod report;
mod session;
mod summary;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headway_command::notice;
use headway_command::output;
use headway_net::Clock;
use headway_transport::{Transport, TransportError, stop_signal};
use headway_units::Duration as Span;
use headway_wire::IpHeader;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::lines::Lines;
use super::{Observed, TIME_LIMIT};
use carrier::Surveys;
use frames::HEADER;
use record::{BLOCK, Record};
pub(crate) use report::Report;
use session::{Agreed, Session};
use summary::Summary;

/// The longest survey.
pub(crate) const MOST: Span = Span::from_secs(3600);
/// The longest frame, in bytes.
const LONGEST: usize = 9000;
/// The longest line of a message, in bytes: a record.
const MAX_RECORD: usize = 4 << 20;
const MAX_LINE: usize = 1000;
/// How often a running survey is looked at, and how often it is reported.
const LOOKED_AT: Duration = Duration::from_millis(100);
const TOLD: u32 = 20;

/// What the end that asks wants.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Ask {
    key: u64,
    len: usize,
}

/// What the other one says to that.
#[derive(Serialize, Deserialize)]
enum Answer {
    /// The length of the frames' packets, in bytes.
    Len(usize),
    Refused(String),
}

/// Which line the end that asks sends when.
const BEGIN: &str = "begin";
const END: &str = "end";

fn ip_len(peer: SocketAddr) -> usize {
    IpHeader::new(peer.ip(), peer.ip()).emitted_len()
}

/// Answers a survey to its end.
pub(super) async fn answer(mut lines: Lines, ask: Ask, surveys: &Surveys, mtu: u16) -> io::Result<()> {
    let (ours, peer) = (lines.stream().local_addr()?, lines.stream().peer_addr()?);
    let len = ask.len.min(mtu.into()).min(LONGEST);
    let running = if len < ip_len(peer) + HEADER + 2 * BLOCK {
        Err(format!("frames of {} bytes: expected more", ask.len))
    } else {
        let session = Session::answering(Agreed { key: ask.key, len }, ours, peer);
        surveys.begin(peer, session).ok_or_else(|| "too many surveys at once".into())
    };
    let running = match running {
        Ok(running) => running,
        Err(why) => {
            lines.send(&Answer::Refused(why.clone())).await?;
            timeout(TIME_LIMIT, lines.finish()).await.map_err(|_| io::ErrorKind::TimedOut)??;
            return Err(io::Error::other(why));
        }
    };
    lines.send(&Answer::Len(len)).await?;
    let limit = Duration::from_nanos(MOST.as_nanos()) + TIME_LIMIT;
    let work = async {
        let _: String = lines.receive(MAX_LINE).await?;
        let _: String = lines.receive(MAX_LINE).await?;
        let record = running.end().map(Session::into_record).unwrap_or_default();
        lines.send(&record).await?;
        lines.finish().await
    };
    timeout(limit, work).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Surveys the path to `remote` for `time`, or until a signal.
pub(super) async fn run(
    transport: &Transport,
    Observed { surveys, mtu, .. }: &Observed,
    remote: SocketAddr,
    time: Span,
    trace: Option<&Path>,
) -> Result<Report, TransportError> {
    let clock = Clock::new();
    let mut lines = Lines::new(transport.connect(remote).await?);
    let failed = |source| TransportError::Connect { remote, source };
    let (ours, peer) = (lines.stream().local_addr().map_err(failed)?, remote);
    let mut key = [0; 8];
    getrandom::fill(&mut key).map_err(|error| failed(io::Error::other(error.to_string())))?;
    let ask = Ask { key: u64::from_ne_bytes(key), len: LONGEST.min((*mtu).into()) };
    let asked_at = clock.now();
    let agreed = async {
        lines.send(&super::peer::Request::survey(ask)).await?;
        lines.receive::<Answer>(MAX_LINE).await
    };
    const EXPECTED: &str =
        "it is no doctor that knows surveys: expected `headway doctor --listen PORT` of this version there";
    let len = match timeout(TIME_LIMIT, agreed).await {
        Ok(Ok(Answer::Len(len))) if (ip_len(peer) + HEADER + 2 * BLOCK..=ask.len).contains(&len) => len,
        Ok(Ok(Answer::Refused(why))) => return Err(failed(io::Error::other(format!("no survey: {why}")))),
        _ => return Err(failed(io::Error::other(EXPECTED))),
    };
    let rtt = clock.now().saturating_since(asked_at);
    let session = Session::asking(Agreed { key: ask.key, len }, ours, peer, time, rtt);
    let running = surveys.begin(peer, session).ok_or_else(|| failed(io::Error::other("a survey runs")))?;
    lines.send(&BEGIN).await.map_err(failed)?;
    let look = async || -> Option<()> {
        let until = clock.now() + time;
        for turn in 1_u32.. {
            sleep(LOOKED_AT).await;
            let (sent, arrived, is_over) = running.with(|session| {
                (session.record().sent, session.record().frames().len(), session.is_over())
            })?;
            if turn.is_multiple_of(TOLD) {
                notice!("headway: {remote}: {sent} frames sent, {arrived} answers arrived");
            }
            if is_over || clock.now() >= until {
                break;
            }
        }
        Some(())
    };
    tokio::select! {
        _ = look() => {}
        signal = stop_signal() => { signal?; }
    }
    let wait = running
        .with(|session| {
            session.stop();
            session.wait()
        })
        .unwrap_or_default();
    // The answers that are still on their way.
    sleep(Duration::from_nanos(wait.as_nanos())).await;
    let record = running.end().map(Session::into_record).unwrap_or_default();
    notice!("headway: {remote}: receiving the peer's report");
    let report = async {
        lines.send(&END).await?;
        lines.receive::<Record>(MAX_RECORD).await
    };
    let limit = 3 * TIME_LIMIT + 6 * Duration::from_nanos(time.as_nanos());
    let theirs = tokio::select! {
        theirs = timeout(limit, report) => match theirs {
            Ok(theirs) => theirs.map_err(|error| error.to_string()),
            Err(_) => Err("the peer's report did not arrive in time".into()),
        },
        signal = stop_signal() => Err(format!("stopped by {} before the peer's report arrived", signal?)),
    };
    let theirs = theirs.and_then(|theirs| {
        let is_plausible = theirs.is_plausible(record.sent, len) && record.is_plausible(theirs.sent, len);
        if is_plausible { Ok(theirs) } else { Err("the peer's report does not fit its frames".into()) }
    });
    conclude(record, theirs, (len, ip_len(peer)), trace)
}

/// The report, and the traces in their files.
fn conclude(
    ours: Record,
    theirs: Result<Record, String>,
    (len, ip_len): (usize, usize),
    trace: Option<&Path>,
) -> Result<Report, TransportError> {
    let (theirs, incomplete) = match theirs {
        Ok(theirs) => (Some(theirs), None),
        Err(why) => (None, Some(why)),
    };
    // As far as is known.
    let sent_back = theirs
        .as_ref()
        .map_or_else(|| ours.frames().last().map_or(0, |last| last.n + 1), |theirs| theirs.sent);
    if let Some(path) = trace {
        let directions =
            [(theirs.as_ref(), ours.sent, path.to_owned()), (Some(&ours), sent_back, back(path))];
        for (record, sent, path) in directions {
            if let Some(trace) = record.and_then(|record| record.trace(sent)) {
                output::write(&path, format!("# headway doctor --survey: packets of {len} bytes\n{trace}"))?;
            }
        }
    }
    Ok(Report {
        packet_bytes: len,
        there: theirs.as_ref().map(|theirs| Summary::new(theirs, ours.sent, len, ip_len)),
        back: Summary::new(&ours, sent_back, len, ip_len),
        incomplete,
    })
}

/// The file of the other direction's trace.
pub(crate) fn back(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".back");
    name.into()
}
