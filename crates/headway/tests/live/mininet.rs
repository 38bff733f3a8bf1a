//! `packaging/mininet`: the box as a link of Mininet.

use std::path::Path;
use std::process::{Command, Stdio};

use headway_test_fixture::process::say_skipped;

use crate::namespace::HEADWAY;

/// Debian's Mininet belongs to the system's Python.
const PYTHONS: [&str; 2] = ["/usr/bin/python3", "python3"];

#[test]
fn the_box_is_a_link_of_mininet() {
    // Mininet itself refuses any other user.
    if !rustix::process::geteuid().is_root() {
        return say_skipped("root", "Mininet refuses other users");
    }
    let has_mininet = |python: &&&str| {
        let mut command = Command::new(python);
        command.args(["-c", "import mininet.net"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let Some(python) = PYTHONS.iter().find(has_mininet) else {
        return say_skipped("mininet", "");
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/mininet");
    let output = Command::new(python)
        .args(["-B", "-m", "unittest", "-v", "test_headway_mininet"])
        .current_dir(folder)
        .env("HEADWAY", HEADWAY)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{says}");
    // Five tests, none of which was left out.
    assert!(says.contains("Ran 5 tests") && says.trim_end().ends_with("OK"), "{says}");
}
