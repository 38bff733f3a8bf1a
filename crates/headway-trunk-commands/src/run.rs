//! A gateway, run until it is stopped.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use headway_command::notice;
use headway_trunk::{Config, Gateway};
use sd_notify::NotifyState;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::control::{self, Answer, ControlSocket, Request};
use super::error::TrunkCommandError;
use super::log::Log;
use super::metrics::{self, MetricsListener};
use super::watch::{self, Watched};

/// An address that is in use is tried so often, with this time between two tries: longer than a gateway takes to end.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn run(
    path: &Path,
    config: &Config,
    log: &Log,
    watch: Option<SocketAddr>,
) -> Result<(), TrunkCommandError> {
    let watched = watch.map(Watched::start).transpose()?;
    let runtime = Runtime::new().map_err(TrunkCommandError::NoRuntime)?;
    let outcome = runtime.block_on(serve(path, config, log, watched));
    runtime.shutdown_background();
    outcome
}

async fn serve(
    path: &Path,
    config: &Config,
    log: &Log,
    watched: Option<Watched>,
) -> Result<(), TrunkCommandError> {
    let on = |kind| signal(kind).map_err(TrunkCommandError::NoRuntime);
    let (mut interrupt, mut terminate, mut hangup) =
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?, on(SignalKind::hangup())?);
    let gateway = start(config).await?;
    notice!("headway: gateway {} at {}", gateway.public_key(), gateway.place());
    for entry in gateway.entries() {
        notice!("headway: connections are taken at {entry}");
    }
    log_remarks(config);
    let metrics = MetricsListener::bind(&config.gateway).await?;
    if let Some(address) = metrics.as_ref().and_then(MetricsListener::local_addr) {
        notice!("headway: metrics at http://{address}/metrics");
    }
    let socket = config.gateway.status_socket.as_deref().map(ControlSocket::listen).transpose()?;
    tell_systemd(&[NotifyState::Ready]);
    let failure = {
        let running = Running { gateway: &gateway, path, log };
        let answers = running.answer(socket.as_ref());
        let metrics = metrics::serve(metrics, || gateway.status());
        let watched = watch::follow(&gateway, watched);
        tokio::pin!(answers, metrics, watched);
        loop {
            tokio::select! {
                _ = interrupt.recv() => break None,
                _ = terminate.recv() => break None,
                error = gateway.failed() => break Some(error),
                _ = hangup.recv() => drop(running.reload()),
                () = &mut answers => {}
                () = &mut metrics => {}
                () = &mut watched => {}
            }
        }
    };
    tell_systemd(&[NotifyState::Stopping]);
    // Who starts the next one finds the addresses free, and this socket too.
    drop(socket);
    let closed = gateway.close().await;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(closed?),
    }
}

/// Starts it. One that is being stopped has its addresses for a moment yet.
async fn start(config: &Config) -> Result<Gateway, TrunkCommandError> {
    let mut said = false;
    for _ in 0..TRIES {
        match Gateway::start(config) {
            Err(error) if error.is_address_in_use() => {
                if !std::mem::replace(&mut said, true) {
                    notice!("headway: {error}; it is waited for {:?}", TRIES * PAUSE);
                }
                sleep(PAUSE).await;
            }
            started => return Ok(started?),
        }
    }
    Ok(Gateway::start(config)?)
}

/// A running gateway, and what it was started with.
struct Running<'a> {
    gateway: &'a Gateway,
    path: &'a Path,
    log: &'a Log,
}

impl Running<'_> {
    /// Reads the configuration again. If it is wrong, everything stays as it was.
    fn reload(&self) -> Answer {
        // systemd.service(5), `notify-reload`: with the time, so that an old message is told from a new one.
        let time = NotifyState::monotonic_usec_now().ok();
        tell_systemd(&[NotifyState::Reloading].into_iter().chain(time).collect::<Vec<_>>());
        let reloaded = Config::load(self.path).and_then(|config| Ok((self.gateway.reload(&config)?, config)));
        let answer = match reloaded {
            Ok((reloaded, config)) => {
                self.log.set_level(config.gateway.log_level);
                log_remarks(&config);
                tracing::info!("the configuration was read again: {reloaded}");
                Answer::Done(reloaded.to_string())
            }
            Err(error) => {
                tracing::error!("the configuration was not changed: {error}");
                Answer::Failed(error.to_string())
            }
        };
        tell_systemd(&[NotifyState::Ready]);
        answer
    }

    /// Answers who asks, for ever.
    async fn answer(&self, socket: Option<&ControlSocket>) {
        let Some(socket) = socket else { return std::future::pending().await };
        let mut answers = JoinSet::new();
        loop {
            while answers.try_join_next().is_some() {}
            let (request, stream) = socket.next().await;
            let text = match request {
                Request::Status => serde_json::to_string(&self.gateway.status()),
                Request::Record(peer) => serde_json::to_string(&match self.gateway.record(peer.as_deref()) {
                    Ok(trace) => Answer::Done(trace),
                    Err(error) => Answer::Failed(error.to_string()),
                }),
                Request::Reload => serde_json::to_string(&self.reload()),
            };
            answers.spawn(control::answer(stream, text.unwrap_or_default()));
        }
    }
}

/// Says what will not work as it is meant.
fn log_remarks(config: &Config) {
    config.remarks().iter().for_each(|remark| tracing::warn!("{remark}"));
}

/// Says how far the gateway is, where systemd has started it.
fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd was not notified");
    }
}
