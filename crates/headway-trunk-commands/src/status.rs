//! What a running gateway says of itself.

use std::fmt::Write as _;

use headway_command::output;
use headway_trunk::{PathStatus, PeerStatus, RecentStatus, Status};

use super::control::{Request, RunningGateway};
use super::error::TrunkCommandError;

pub(super) fn print(gateway: &RunningGateway, json: bool) -> Result<(), TrunkCommandError> {
    let text = if json { gateway.ask(&Request::Status)? + "\n" } else { text(&gateway.status()?) };
    Ok(output::print(&text)?)
}

fn text(status: &Status) -> String {
    let mut text = format!(
        "gateway {} at {}, up {}; streams use {} of memory\n",
        status.public_key,
        status.place(),
        duration(status.seconds),
        size(status.memory_bytes)
    );
    for peer in &status.peers {
        describe(&mut text, peer);
    }
    // Writing to a `String` does not fail.
    let _ = writeln!(
        text,
        "segments: {} intact, {} corrupted, {} unreadable; {} other datagrams ignored, {} bad handshakes, {} cookies sent",
        status.intact,
        status.corrupted,
        status.unreadable,
        status.ignored,
        status.bad_handshakes,
        status.cookies_sent
    );
    text
}

fn describe(text: &mut String, peer: &PeerStatus) {
    let unknown = if peer.connected { "at the other end" } else { "not seen yet" };
    let place = peer.endpoint.map_or_else(|| unknown.into(), |endpoint| endpoint.to_string());
    let heard = peer
        .last_received_seconds
        .map_or_else(String::new, |seconds| format!(", heard {} ago", duration(seconds)));
    // One handshake is under way for a round trip.
    let tried = peer.trying_seconds.filter(|seconds| *seconds >= 2.0);
    let mut tried =
        tried.map_or_else(String::new, |seconds| format!(", no answer for {}", duration(seconds)));
    if peer.is_away {
        tried += ", connections to it are refused";
    }
    let _ = writeln!(
        text,
        "peer {} ({place}): {}{tried}{heard}; {}\n  streams: {} open, {} half-open, {} opened, {} refused, {} abandoned, {} displaced; {} to it, {} from it",
        peer.name,
        if peer.connected { "connected" } else { "not connected" },
        checksums(peer),
        peer.open_streams,
        peer.half_open_streams,
        peer.opened_streams,
        peer.refused_streams,
        peer.abandoned_streams,
        peer.displaced_streams,
        size(peer.bytes_to_peer),
        size(peer.bytes_from_peer)
    );
    if let Some(recent) = &peer.recent {
        let _ = writeln!(text, "  {}", lately(recent));
    }
    if let Some(path) = &peer.path {
        let _ = writeln!(text, "  {}\n  {}", path_line(path), losses(path));
    }
    if let Some(advice) = &peer.advice {
        let _ = writeln!(text, "  {advice}");
    }
    let arrived = peer.arrived;
    let _ = writeln!(
        text,
        "  arrived: {} intact, {} corrupted, {} unreadable, {} disbelieved, {} ignored",
        arrived.intact, arrived.corrupted, arrived.unreadable, arrived.disbelieved, arrived.ignored
    );
}

/// Whether damage can be seen.
pub(super) fn checksums(peer: &PeerStatus) -> &'static str {
    match peer.passes_unchecked {
        Some(true) => "damage can be seen",
        Some(false) => "the path needs UDP checksums: damage is dropped unseen",
        None => "UDP checksums: not known yet",
    }
}

fn lately(recent: &RecentStatus) -> String {
    let damaged = recent
        .damaged_share
        .map_or_else(String::new, |share| format!("; {} of what was sent was damaged", percent(share)));
    let bound = match (recent.share_of_bound, recent.bound_bits_per_second) {
        (Some(share), Some(bound)) => format!("; {} of the bound, {}", percent(share), rate(bound)),
        _ => String::new(),
    };
    format!(
        "last {:.0} s: {} to it, {} from it{damaged}{bound}",
        recent.seconds,
        rate(recent.to_peer_bits_per_second),
        rate(recent.from_peer_bits_per_second)
    )
}

fn path_line(path: &PathStatus) -> String {
    let delivers = path
        .delivery_rate_bits_per_second
        .map_or_else(String::new, |bits| format!(", delivers {}", rate(bits as f64)));
    format!(
        "path: RTT {}, congestion window {}, {} in flight{delivers}",
        rtt(path),
        size(path.congestion_window_bytes.into()),
        size(path.in_flight_bytes.into())
    )
}

/// The round-trip time, and its minimum.
fn rtt(path: &PathStatus) -> String {
    match (path.smoothed_rtt_seconds, path.min_rtt_seconds) {
        (Some(smoothed), Some(min)) => format!("{:.1} ms (min {:.1})", smoothed * 1e3, min * 1e3),
        _ => "unknown".into(),
    }
}

fn losses(path: &PathStatus) -> String {
    let losses = path.losses;
    format!(
        "of {} segments sent: damage {} ({} announced, {} counted, {} inferred), congestion {}, unexplained {}",
        path.segments_sent,
        losses.damage(),
        losses.announced,
        losses.counted,
        losses.inferred,
        losses.congestion,
        losses.unexplained
    )
}

/// Bits per second, for people.
pub(super) fn rate(bits: f64) -> String {
    match bits {
        bits if bits >= 1e9 => format!("{:.2} Gbit/s", bits / 1e9),
        bits if bits >= 1e6 => format!("{:.2} Mbit/s", bits / 1e6),
        bits if bits >= 1e3 => format!("{:.1} kbit/s", bits / 1e3),
        bits => format!("{bits:.0} bit/s"),
    }
}

/// Bytes, for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1_073_741_824.0 => format!("{:.2} GiB", bytes / 1_073_741_824.0),
        bytes if bytes >= 1_048_576.0 => format!("{:.2} MiB", bytes / 1_048_576.0),
        bytes if bytes >= 1024.0 => format!("{:.1} KiB", bytes / 1024.0),
        bytes => format!("{bytes:.0} B"),
    }
}

/// A share, for people.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A time, for people.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 60.0 => format!("{seconds:.1} s"),
        seconds if seconds < 3600.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.1} h", seconds / 3600.0),
        seconds => format!("{:.1} days", seconds / 86_400.0),
    }
}
