//! The fuzz corpus, and stored files that a test compares with.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a fuzz target's corpus.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Checks every input of a fuzz target's corpus, so that what the fuzzer once reached stays reached.
pub fn replay(target: &str, check: fn(&[u8])) {
    let mut replayed = 0;
    for entry in fs::read_dir(folder(target)).expect("a corpus") {
        let path = entry.expect("a file").path();
        println!("{}", path.display());
        check(&fs::read(path).expect("a file that can be read"));
        replayed += 1;
    }
    assert!(replayed >= 20, "the corpus of {target} is there: {replayed} files");
}

/// Whether stored files are to be written anew: `HEADWAY_UPDATE=1`.
pub fn is_update() -> bool {
    std::env::var_os("HEADWAY_UPDATE").is_some()
}

/// `bytes` must be what is stored at `path`; `HEADWAY_UPDATE=1` writes it anew.
#[track_caller]
pub fn check_stored(path: &Path, bytes: &[u8]) {
    if is_update() {
        fs::write(path, bytes).expect("a file that can be written");
    } else {
        assert!(fs::read(path).expect("a stored file") == bytes, "{}: another one is stored", path.display());
    }
}
