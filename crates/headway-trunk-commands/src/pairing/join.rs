//! `headway trunk join`: this near gateway is set up by an invitation.

use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;

use clap::Args;
use headway_command::output;
use headway_trunk::Config;
use serde_json::json;
use zeroize::Zeroizing;

use super::error::PairingError;
use super::files::{Folder, PRIVATE, PUBLIC};
use super::invitation::Invitation;
use super::{CONFIG, config_text, key_file, key_text};

/// More than an invitation, with what a mail adds.
const LONGEST: u64 = 64 * 1024;

/// Who is invited.
#[derive(Args)]
pub(crate) struct JoinArguments {
    /// What `headway trunk invite` has printed; `-` for standard input, so that it is in no list of processes
    invitation: String,
    /// The configuration of this gateway, which must not exist
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Writes the configuration and the key of a near gateway.
pub(crate) fn run(arguments: &JoinArguments) -> Result<(), PairingError> {
    let JoinArguments { invitation, config, json } = arguments;
    let invitation = if invitation == "-" {
        let mut text = Zeroizing::new(String::new());
        io::stdin().take(LONGEST).read_to_string(&mut text).map_err(PairingError::Input)?;
        Invitation::parse(&text)?
    } else {
        Invitation::parse(invitation)?
    };
    let folder = Folder::of(config)?;
    if config.symlink_metadata().is_ok() {
        return Err(PairingError::Exists { path: config.clone() });
    }
    let key_file = key_file(config);
    let text = config_text::near(&invitation, config, &key_file);
    let parsed = Config::parse(&text, config)?;
    parsed.check_with(invitation.key()).map_err(|error| error.at(config))?;
    folder.create(&key_file, &key_text(&invitation.key()), PRIVATE)?;
    if let Err(error) = folder.create(config, &text, PUBLIC) {
        // Nothing is left of what was not done.
        let _ = fs::remove_file(&key_file);
        return Err(error);
    }
    let services = invitation.services().iter().map(ToString::to_string).collect::<Vec<_>>();
    let said = if *json {
        let object = json!({
            "config": config,
            "key-file": key_file,
            "name": invitation.name(),
            "endpoint": invitation.endpoint().to_string(),
            "services": services,
        });
        format!("{object}\n")
    } else {
        let (config, key_file) = (config.display(), key_file.display());
        format!(
            "{config} and {key_file} were written: {} at the gateway {}, which calls this one {}\n\
             next: headway trunk run {config}\n",
            services.join(", "),
            invitation.endpoint(),
            invitation.name()
        )
    };
    Ok(output::print(&said)?)
}
