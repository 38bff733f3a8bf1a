//! Programs on the kernel's side, and test data.

use std::path::Path;

use headway_test_fixture::pattern::Pattern;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::namespace::{Namespace, Running};

/// A folder with a file of that many bytes, called `file`, and the bytes.
pub(crate) fn folder_with_file(pattern: u32, len: usize) -> (TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = Pattern(pattern).bytes(0, len);
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    (folder, bytes)
}

/// The SHA-256 of `bytes`, as Python prints it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Python's file server, on every address, port 8000.
pub(crate) fn python_server(namespace: &Namespace, folder: &Path) -> Running {
    let folder = folder.to_str().unwrap();
    let server = namespace.start("python3", &["-m", "http.server", "8000", "--directory", folder]);
    namespace.wait_for_listener(8000);
    server
}

/// A server of the kernel's TCP in Python: `body` has the accepted connection as `c`; its output is
/// available at its end.
pub(crate) fn python_peer(namespace: &Namespace, body: &str) -> Peer {
    python_peer_at(namespace, "", body)
}

/// As [`python_peer`], at an address.
pub(crate) fn python_peer_at(namespace: &Namespace, address: &str, body: &str) -> Peer {
    let family = if address.contains(':') { "INET6" } else { "INET" };
    let script = format!(
        "import socket, struct, sys\n\
         s = socket.create_server(('{address}', 9000), family=socket.AF_{family})\n\
         c, _ = s.accept()\n\
         {body}\n"
    );
    let child =
        namespace.command("python3", &["-c", &script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    namespace.wait_for_listener(9000);
    Peer(Some(child))
}

/// A running [`python_peer`], killed on drop.
pub(crate) struct Peer(Option<std::process::Child>);

impl Peer {
    /// Waits for its end, which must be successful; returns its output.
    pub(crate) fn finish(mut self) -> String {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
