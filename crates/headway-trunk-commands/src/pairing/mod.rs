//! Two gateways are paired by one line of text: `headway trunk invite` at the far end prints it, `headway trunk join` at
//! the near end takes it. `headway trunk revoke` undoes it.

mod config_text;
mod error;
mod files;
mod invitation;
mod invite;
mod join;
mod revoke;
mod service;

pub(crate) use error::PairingError;
pub(super) use invite::{InviteArguments, run as invite};
pub(super) use join::{JoinArguments, run as join};
pub(super) use revoke::{RevokeArguments, run as revoke};

use std::path::{Path, PathBuf};

use headway_trunk_proto::SecretKey;
use zeroize::Zeroizing;

/// The configuration, unless another is named.
const CONFIG: &str = "/etc/headway/trunk.toml";

/// The place of the key of a new configuration.
fn key_file(config: &Path) -> PathBuf {
    config.with_extension("key")
}

/// The contents of the file of a key.
fn key_text(key: &SecretKey) -> Zeroizing<String> {
    Zeroizing::new(format!("{}\n", *key.to_base64()))
}
