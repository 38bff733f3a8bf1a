//! The configurations that pairing writes.

use std::net::SocketAddr;
use std::path::Path;

use headway_trunk_proto::PublicKey;
use toml_edit::{Array, Value};

use super::invitation::Invitation;
use super::service::Service;

/// Where the near and the far gateway are in the networks of their TUNs; the kernel of each gets the address before it.
const NEAR_TUN: &str = "10.77.0.2/30";
const FAR_TUN: &str = "10.77.0.6/30";
/// Often enough for the mapping of a NAT.
const KEEP_ALIVE: &str = "25s";
/// What the near gateway calls the far one.
pub(super) const FAR: &str = "far";

/// The table `[gateway]` of a new configuration at `path`, with its key in `key_file`, a file beside it.
pub(super) fn gateway(command: &str, path: &Path, key_file: &Path, listen: Option<SocketAddr>) -> String {
    let key_file = key_file.file_name().unwrap_or_default().to_string_lossy();
    let listen = listen.map_or_else(String::new, |listen| format!("listen = \"{listen}\"\n"));
    format!(
        "# Written by `headway trunk {command}`. `headway trunk schema` prints all keys.\n\
         [gateway]\nkey-file = {}\n{listen}status-socket = {}\n",
        quoted(&key_file),
        quoted(&status_socket(path))
    )
}

/// `/run`, for what the system runs; for others beside the configuration.
fn status_socket(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if path.starts_with("/etc") { format!("/run/headway-{stem}.sock") } else { format!("{stem}.sock") }
}

/// At the far end: a peer that begins, and where its connections may go.
pub(super) fn near_peer(name: &str, key: PublicKey, destinations: &[String], services: &[Service]) -> String {
    let destinations = list(destinations.iter().map(String::as_str));
    let behind = allowed_ips(services.iter().filter_map(|service| match service {
        Service::Tun { near, .. } => Some(near.as_str()),
        _ => None,
    }));
    format!(
        "\n[[peer]]\nname = {}\npublic-key = \"{key}\"\ndestinations = {destinations}\n{behind}",
        quoted(name)
    )
}

/// The device of a far gateway that has none, if a service needs one.
pub(super) fn far_tun(services: &[Service]) -> String {
    tun(services, FAR_TUN)
}

/// The configuration of a near gateway at `path`.
pub(super) fn near(invitation: &Invitation, path: &Path, key_file: &Path) -> String {
    // The family of both ends is one.
    let listen = invitation.is_ipv6().then(|| ([0_u16; 8], 0).into());
    let services = invitation.services();
    let pairs = || {
        services.iter().filter_map(|service| match service {
            Service::Tun { near, far } => Some((near.as_str(), far.as_str())),
            _ => None,
        })
    };
    let mut text = gateway("join", path, key_file, listen);
    text += &format!(
        "\n[[peer]]\nname = \"{FAR}\"\npublic-key = \"{}\"\nendpoint = \"{}\"\nkeep-alive = \"{KEEP_ALIVE}\"\n",
        invitation.far(),
        invitation.endpoint()
    );
    if pairs().next().is_some() {
        text += &format!("destinations = {}\n", list(pairs().map(|(near, _)| near)));
    }
    text += &allowed_ips(pairs().map(|(_, far)| far));
    text += &tun(services, NEAR_TUN);
    for service in services {
        text += &match service {
            Service::Socks { listen } => format!("\n[[socks]]\nlisten = \"{listen}\"\n"),
            Service::Forward { listen, to } => {
                format!("\n[[forward]]\nlisten = \"{listen}\"\nto = {}\n", quoted(to))
            }
            Service::Tun { .. } => String::new(),
        };
    }
    text
}

fn tun(services: &[Service], address: &str) -> String {
    let is_needed = services.iter().any(|service| matches!(service, Service::Tun { .. }));
    if is_needed { format!("\n[tun]\naddress = \"{address}\"\n") } else { String::new() }
}

fn allowed_ips<'a>(prefixes: impl Iterator<Item = &'a str>) -> String {
    let mut prefixes = prefixes.peekable();
    if prefixes.peek().is_none() { String::new() } else { format!("allowed-ips = {}\n", list(prefixes)) }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<Array>().to_string()
}
