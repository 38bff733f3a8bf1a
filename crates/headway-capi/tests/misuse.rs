//! What C can do wrong.

use std::process::Command;

use crate::common::{crate_folder, has, program, scratch, succeed};

#[test]
fn mistakes_are_codes_and_not_crashes() {
    if !has("cc") {
        return;
    }
    let folder = scratch("misuse");
    let program = program(&crate_folder().join("tests/misuse.c"), &folder, false);
    assert_eq!(succeed(&mut Command::new(&program)), "every mistake was told\n");
    // Nothing is read that was not written, and nothing is left.
    if has("valgrind") {
        let mut valgrind = Command::new("valgrind");
        valgrind.args([
            "--error-exitcode=1",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
            "--quiet",
        ]);
        assert_eq!(succeed(valgrind.arg(&program)), "every mistake was told\n");
    }
    std::fs::remove_dir_all(folder).expect("removed");
}
