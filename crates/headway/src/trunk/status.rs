//! What a running gateway says of itself.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use headway_trunk::{Config, PeerStatus, Status};
use headway_units::Size;

use super::error::TrunkCommandError;
use crate::output;

/// How long the gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn print(config: &Config, json: bool) -> Result<(), TrunkCommandError> {
    let path = config.gateway.status_socket.as_deref().ok_or(TrunkCommandError::NoStatusSocket)?;
    let failed = |source| TrunkCommandError::NotRunning { path: path.into(), source };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(failed)?;
    if json {
        return Ok(output::print(&format!("{text}\n"))?);
    }
    let status: Status = serde_json::from_str(&text).map_err(|error| failed(error.into()))?;
    let mut lines = format!("gateway {} at UDP {}\n", status.public_key, status.listen);
    for peer in &status.peers {
        lines.push_str(&line(peer));
    }
    lines.push_str(&format!(
        "segments: {} intact, {} corrupted, {} unreadable; {} other datagrams ignored\n",
        status.intact, status.corrupted, status.unreadable, status.ignored
    ));
    Ok(output::print(&lines)?)
}

fn line(peer: &PeerStatus) -> String {
    let place = peer.endpoint.map_or_else(|| "not seen yet".into(), |endpoint| endpoint.to_string());
    let state = if peer.connected { "connected" } else { "not connected" };
    let heard = peer.last_received_seconds.map_or_else(String::new, |s| format!(", heard {s:.1} s ago"));
    let checksums = match peer.passes_unchecked {
        Some(true) => "damage arrives",
        Some(false) => "the path needs UDP checksums: damage is dropped unseen",
        None => "UDP checksums: not known yet",
    };
    format!(
        "peer {} ({place}): {state}{heard}; {checksums}\n  streams: {} open, {} opened, {} refused; {} to it, {} from it\n",
        peer.name,
        peer.open_streams,
        peer.opened_streams,
        peer.refused_streams,
        Size::from_bytes(peer.bytes_to_peer),
        Size::from_bytes(peer.bytes_from_peer)
    )
}
