//! A gateway, run until it is stopped.

use std::fs;
use std::io;
use std::path::Path;

use headway_trunk::{Config, Gateway};
use sd_notify::NotifyState;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::error::TrunkCommandError;
use crate::output::notice;

pub(super) fn run(config: &Config) -> Result<(), TrunkCommandError> {
    // The log is for people who look after the gateway: without the time, which the journal adds.
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_max_level(tracing::Level::INFO)
        .init();
    let runtime = Runtime::new().map_err(TrunkCommandError::NoRuntime)?;
    let outcome = runtime.block_on(serve(config));
    runtime.shutdown_background();
    outcome
}

async fn serve(config: &Config) -> Result<(), TrunkCommandError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(TrunkCommandError::NoRuntime)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(TrunkCommandError::NoRuntime)?;
    let gateway = Gateway::start(config)?;
    notice!("headway: gateway {} at UDP {}", gateway.public_key(), gateway.listen_address());
    for entry in gateway.entries() {
        notice!("headway: connections are taken at {entry}");
    }
    let socket = config.gateway.status_socket.as_deref().map(StatusSocket::listen).transpose()?;
    tell_systemd(NotifyState::Ready);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = answer(&gateway, socket.as_ref()) => {}
    }
    tell_systemd(NotifyState::Stopping);
    Ok(gateway.close().await?)
}

/// Says how far the gateway is, where systemd has started it.
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "systemd was not notified");
    }
}

/// The Unix socket at which a gateway says what it does. It is removed at the end.
struct StatusSocket<'a> {
    path: &'a Path,
    listener: UnixListener,
}

impl<'a> StatusSocket<'a> {
    fn listen(path: &'a Path) -> Result<Self, TrunkCommandError> {
        let failed = |source| TrunkCommandError::File { path: path.into(), source };
        // One that a gateway left behind which was killed: no one answers.
        if std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            fs::remove_file(path).map_err(failed)?;
        }
        Ok(Self { path, listener: UnixListener::bind(path).map_err(failed)? })
    }
}

impl Drop for StatusSocket<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path);
    }
}

/// Answers who asks for the status, for ever.
async fn answer(gateway: &Gateway, socket: Option<&StatusSocket<'_>>) {
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        let Ok((mut stream, _)) = socket.listener.accept().await else { continue };
        let Ok(text) = serde_json::to_vec(&gateway.status()) else { continue };
        // Who goes away before the answer does not need it.
        let _ = stream.write_all(&text).await;
    }
}
