//! Keys of gateways: made, written where only their owner can read them, and printed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use headway_command::output;
use headway_trunk_proto::{PresharedKey, SecretKey};
use zeroize::Zeroizing;

use super::error::{NoRandomness, TrunkCommandError};

/// What is longer is no key.
const LONGEST: usize = 1024;

/// The bytes of a new key.
pub(super) fn random() -> Result<Zeroizing<[u8; 32]>, NoRandomness> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// Makes a key.
pub(super) fn make(file: Option<&Path>, preshared: bool) -> Result<(), TrunkCommandError> {
    let bytes = random()?;
    let (secret, public) = if preshared {
        (PresharedKey::from_bytes(*bytes).to_base64(), None)
    } else {
        let key = SecretKey::from_bytes(*bytes);
        (key.to_base64(), Some(key.public()))
    };
    let Some(path) = file else { return Ok(output::print(&secret).and_then(|()| output::print("\n"))?) };
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => TrunkCommandError::Exists { path: path.into() },
        _ => TrunkCommandError::File { path: path.into(), source },
    };
    // An old key is not overwritten: peers know it.
    let mut opened =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    if let Err(source) = writeln!(opened, "{}", *secret).and_then(|()| opened.sync_all()) {
        let _ = fs::remove_file(path);
        return Err(failed(source));
    }
    if let Some(public) = public {
        output::print(&format!("{public}\n"))?;
    }
    Ok(())
}

/// Prints the public key of a secret key.
pub(super) fn public(path: &Path) -> Result<(), TrunkCommandError> {
    let failed = |source| TrunkCommandError::File { path: path.into(), source };
    let mut text = Zeroizing::new(String::with_capacity(2 * LONGEST));
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    input.as_mut().take(LONGEST as u64).read_to_string(&mut text).map_err(failed)?;
    let key: SecretKey =
        text.trim().parse().map_err(|source| TrunkCommandError::Key { path: path.into(), source })?;
    Ok(output::print(&format!("{}\n", key.public()))?)
}
