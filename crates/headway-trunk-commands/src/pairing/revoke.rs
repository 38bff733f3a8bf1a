//! `headway trunk revoke`: a peer is removed.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use headway_command::{notice, output};
use headway_trunk::{Config, TrunkError};
use serde_json::json;
use toml_edit::DocumentMut;

use super::CONFIG;
use super::error::PairingError;
use super::files::Folder;

/// Who is not invited any more.
#[derive(Args)]
pub(crate) struct RevokeArguments {
    /// The peer's name
    name: String,
    /// The configuration of this gateway
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Removes a peer from a configuration.
pub(crate) fn run(arguments: &RevokeArguments) -> Result<(), PairingError> {
    let RevokeArguments { name, config, json } = arguments;
    let unreadable = |source| TrunkError::File { path: config.clone(), source };
    // No folder is made for a file that is not there.
    fs::metadata(config).map_err(unreadable)?;
    let folder = Folder::of(config)?;
    let text = fs::read_to_string(config).map_err(unreadable)?;
    let before = Config::parse(&text, config)?;
    let Some(place) = before.peers.iter().position(|peer| peer.name == *name) else {
        let names = before.peers.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>();
        let expected =
            if names.is_empty() { "nothing".into() } else { format!("one of {}", names.join(", ")) };
        return Err(PairingError::NoPeer { name: name.clone(), config: config.clone(), expected });
    };
    let mut document = text
        .parse::<DocumentMut>()
        .map_err(|error| TrunkError::Syntax { path: config.clone(), message: error.message().to_owned() })?;
    let peers = document.get_mut("peer").and_then(|peers| peers.as_array_of_tables_mut());
    let peers = peers.ok_or_else(|| PairingError::InlinePeers { config: config.clone() })?;
    peers.remove(place);
    if peers.is_empty() {
        document.remove("peer");
    }
    let text = document.to_string();
    Config::parse(&text, config)?.check().map_err(|error| error.at(config))?;
    folder.replace(config, &text)?;
    let said = if *json {
        format!("{}\n", json!({ "name": name, "config": config }))
    } else {
        format!("peer {name} was removed from {}\n", config.display())
    };
    output::print(&said)?;
    if !json {
        // Its TUN is shared out to the peers at the start.
        let until = match before.tun.is_some() || before.modem.is_some() {
            true => "it is restarted".to_owned(),
            false => format!("headway trunk reload {}", config.display()),
        };
        notice!("headway: a running gateway goes on with it until {until}");
    }
    Ok(())
}
