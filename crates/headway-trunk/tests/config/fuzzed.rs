//! Any text as a configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::OnceLock;

use headway_trunk::Config;
use headway_trunk_proto::SecretKey;

/// It is a configuration or is refused with a message of one line, whatever the text.
///
/// The file `key` is beside it, so that a text can be right as a whole.
pub(crate) fn check_config(bytes: &[u8]) {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("key");
        fs::write(&key, SecretKey::from_bytes([1; 32]).to_base64()).expect("a file");
        fs::set_permissions(key, fs::Permissions::from_mode(0o600)).expect("permissions");
        folder
    });
    let text = String::from_utf8_lossy(bytes);
    // Paths that lead elsewhere are what other tests are about.
    if text.contains('/') && text.contains("file") {
        return;
    }
    let path = folder.path().join("gateway.toml");
    let checked = Config::parse(&text, &path).and_then(|config| config.check());
    if let Err(error) = checked {
        let message = error.to_string();
        assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
    }
}
