//! Completions and manual pages follow from the command line.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::tempdir;

use crate::HEADWAY;

#[test]
fn completions_name_commands_and_options() {
    let directory = tempdir().expect("a directory");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = HEADWAY.succeed(directory.path(), &["completions", shell]);
        for wanted in ["race", "header-hit", "doctor", "connect"] {
            assert!(script.contains(wanted), "{shell}: {wanted}");
        }
    }
    HEADWAY.refuse(directory.path(), &["completions", "csh"], &["csh", "expected one of bash"]);
}

/// Bash takes the script, and completes with it.
#[test]
fn bash_completes_commands() {
    let directory = tempdir().expect("a directory");
    let script = HEADWAY.succeed(directory.path(), &["completions", "bash"]);
    fs::write(directory.path().join("script"), script).expect("written");
    let ask = "source ./script; COMP_WORDS=(headway ra); COMP_CWORD=1; _headway headway ra headway; \
               echo \"${COMPREPLY[@]}\"";
    let bash =
        Command::new("bash").args(["-c", ask]).current_dir(directory.path()).stdin(Stdio::null()).output();
    let output = bash.expect("bash");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "race\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempdir().expect("a directory");
    HEADWAY.succeed(directory.path(), &["man", "pages/man1"]);
    let folder = directory.path().join("pages/man1");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    for wanted in
        ["headway.1", "headway-race.1", "headway-lab-new.1", "headway-perf-client.1", "headway-box.1"]
    {
        assert!(names.iter().any(|name| name == wanted), "{wanted}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("parent-death")), "{names:?}");
    let race = fs::read_to_string(folder.join("headway-race.1")).expect("a page");
    for wanted in [".TH headway-race 1", ".SH SYNOPSIS", "header\\-hit"] {
        assert!(race.contains(wanted), "{wanted}: {race}");
    }
    // man-pages(7) has no section EXTRA.
    for name in &names {
        let page = fs::read_to_string(folder.join(name)).expect("a page");
        assert!(page.contains("\n.SH EXAMPLES\n.nh\n.ad l\n  headway "), "{name}: {page}");
        assert!(!page.contains("EXTRA") && !page.contains("Examples:"), "{name}: {page}");
    }
    fs::write(directory.path().join("file"), "").expect("written");
    HEADWAY.fail(1, directory.path(), &["man", "file"], &["file: cannot be written"]);
}
