//! What a client may take of the server: time, connections, the length of uploads.

use std::num::NonZero;
use std::time::Duration;

use clap::Args;
use headway_units::Size;

/// Limits of clients.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct Limits {
    /// Close a connection that has brought no whole request header for this long, since its beginning or the last response
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    idle_timeout: headway_units::Duration,
    /// Close a connection where no data of an upload arrives, or none of the response is acknowledged, for this long
    #[arg(long, value_name = "TIME", default_value = "2min", value_parser = parse_time)]
    stall_timeout: headway_units::Duration,
    /// Connections at the same time; others wait
    #[arg(long, value_name = "N", default_value = "4096")]
    max_connections: NonZero<usize>,
    /// Connections at the same time of one client, which is an IPv4 address or the /64 network of an IPv6 address; others are
    /// reset
    #[arg(long, value_name = "N", default_value = "256")]
    max_connections_per_client: NonZero<usize>,
    /// The longest upload
    #[arg(long, value_name = "SIZE", default_value = "10GB", requires = "write")]
    max_upload: Size,
}

impl Limits {
    pub(super) fn idle(&self) -> Duration {
        time(self.idle_timeout)
    }

    pub(super) fn connections(&self) -> usize {
        self.max_connections.get()
    }

    pub(super) fn connections_per_client(&self) -> usize {
        self.max_connections_per_client.get()
    }

    pub(super) fn stall(&self) -> Duration {
        time(self.stall_timeout)
    }

    pub(super) fn upload(&self) -> UploadLimits {
        UploadLimits { most: self.max_upload, stall: self.stall() }
    }
}

/// Limits of one upload.
#[derive(Clone, Copy)]
pub(super) struct UploadLimits {
    /// The longest.
    pub(super) most: Size,
    /// How long no data may arrive.
    pub(super) stall: Duration,
}

/// A time that a working client can keep.
fn parse_time(input: &str) -> Result<headway_units::Duration, String> {
    let time: headway_units::Duration = input.parse().map_err(|error| format!("{error}"))?;
    if time.as_millis() < 100 { Err("expected at least 100ms".into()) } else { Ok(time) }
}

fn time(time: headway_units::Duration) -> Duration {
    Duration::from_nanos(time.as_nanos())
}
