//! What the documents have a reader type runs: as it stands, or with less to do.

mod lines;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use headway_test_fixture::process::is_installed;

use crate::namespace::{HEADWAY, say_skipped};
use lines::{lines, root};

/// What a line has, and what it has here: sizes and times of tests, places in the test's folder.
const LESS: &[(&str, &str)] = &[
    ("cargo race", "headway race"),
    ("cargo run -q -p headway -- ", "headway "),
    ("> docs/", "> "),
    (" --runs 10", ""),
    (" --runs 5", ""),
    (" --runs 3", ""),
    (" --runs 1", ""),
    ("headway race ", "headway race --runs 1 "),
    ("headway lab run ", "headway lab run --runs 1 "),
    ("headway paper run ", "headway paper run --runs 1 "),
    (" --size 20MB", " --size 20KB"),
    (" --size 1MB", " --size 20KB"),
    ("--duration 60s", "--duration 2s"),
    ("10.77.0.1/2MB", "10.77.0.1/50KB"),
    ("10.77.0.1/500KB", "10.77.0.1/5KB"),
    ("--rrul", "--rrul --idle 300ms --time 500ms"),
    // Hours.
    ("lab run --runs 1 beyond/*.toml --out results/beyond", "lab check beyond/*.toml"),
    ("lab run --runs 1 beyond/*.toml", "lab check beyond/*.toml"),
    ("lab run --runs 1 beyond/parking-lot", "lab run --runs 1 --set duration=1s beyond/parking-lot"),
    ("lab run --runs 1 beyond/", "lab run --runs 1 --set size=20KB beyond/"),
    ("nice -n -10 headway", "headway"),
    (" --out results/live --jobs 24", ""),
    (" --jobs 12", ""),
    ("lab live", "lab check"),
    ("results/live", "results"),
    ("results/beyond", "results"),
    ("/tmp/all", "all"),
    ("lab explore results/my", "lab explore results"),
    ("lab explore results", "lab explore results/my"),
    ("trunk invite", "trunk invite --config far/trunk.toml"),
    ("trunk join headway1-...", "trunk join --config near/trunk.toml $(grep -o 'headway1-[^ ]*' printed)"),
];

/// The beginning of lines that are not run, since they need what this test has not. `documented` of the command has them read. Where such
/// commands run is told.
const ONLY_READ: &[(&str, &str)] = &[
    ("headway trunk run", "until it is ended: trunk_pairing, trunk_watch"),
    ("headway trunk status /etc", "a gateway that runs: trunk, trunk_pairing"),
    ("headway trunk record", "a gateway that runs: trunk_operation"),
    ("headway serve", "an address, a modem or cards: udp, modem, kiss, monitor"),
    ("headway fetch http://192.0.2.1", "a server elsewhere: udp"),
    ("headway fetch http://10.77.2.1", "a modem or cards: modem, kiss, monitor"),
    ("headway doctor --frames", "a modem: survey"),
    ("headway doctor --udp", "an address, or a doctor elsewhere: survey"),
    ("headway perf client 10.77.2.1", "a server elsewhere: perf_formats"),
    ("headway box", "two interfaces: error_delay_box"),
    ("ip netns exec middle headway box", "two interfaces: error_delay_box"),
    ("headway lab run my.toml --dask", "a cluster: test_dask_command of the Python package"),
    ("headway race --watch", "until it is ended: race/watch"),
    ("headway race --variant headway,modern,sack --runs 3 --watch", "until it is ended: race/watch"),
    ("headway race --variant modern:bbr,headway --runs 1 --pace 1 --watch", "until it is ended: race/watch"),
    ("headway kernel", "a build with this feature: kernel"),
    ("headway paper run all", "minutes: lab/papers"),
];

/// What lines print, or what is said on standard error.
const PRINTED: &[(&str, &str)] = &[
    ("cargo race", "headway"),
    ("headway trunk invite", "headway1-"),
    ("headway race", "bit/s"),
    ("headway doctor", "use --"),
    ("headway lab new my > my.toml && headway lab run my.toml", "results: results;"),
    ("headway paper list", "000-fig13"),
    ("headway paper run 000-fig13", "000-fig13"),
    ("headway lab explore results", "runs: open "),
    ("headway trace captures/sack-1.pcapng", "throughput"),
    ("headway shell $link --", "headway: from the server: "),
];

#[test]
fn lines_of_the_documents_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["beyond", "live"] {
        std::os::unix::fs::symlink(root().join(name), at(name)).unwrap();
    }
    for name in ["far", "near", "bin"] {
        fs::create_dir(at(name)).unwrap();
    }
    std::os::unix::fs::symlink(HEADWAY, at("bin/headway")).unwrap();
    // What other lines make of recordings and links that are not here.
    for name in ["cc2500-36.txt", "link.trace", "monday.fates"] {
        fs::copy(root().join("reference/recordings/cc2500-36.txt"), at(name)).unwrap();
    }
    let mut done: Vec<String> = Vec::new();
    let mut wrong = Vec::new();
    for line in lines().iter().filter(|line| !line.headways().is_empty()) {
        let begins = |(start, _): &&(&str, &str)| line.text.starts_with(start);
        if ONLY_READ.iter().any(|entry| begins(&entry)) {
            continue;
        }
        let mut text = LESS.iter().fold(line.text.clone(), |text, (from, to)| text.replace(from, to));
        if text.starts_with("headway race")
            && !["--size", "--duration"].iter().any(|word| text.contains(word))
        {
            text.push_str(" --size 20KB");
        }
        // What is to be typed inside of a link.
        if text.starts_with("headway fetch http://10.77.0.1/") {
            text.insert_str(0, "headway shell -q -- ");
        }
        if done.contains(&text) || text.contains("curl") && !is_installed("curl", "--version") {
            continue;
        }
        done.push(text.clone());
        let ended = shell(folder.path(), &line.variables, &text);
        let place = format!("{}: {}: run as {text}", line.document, line.text);
        match ended {
            Ok(printed) => {
                let missing = PRINTED.iter().filter(begins).find(|(_, part)| !printed.contains(part));
                wrong.extend(missing.map(|(_, part)| format!("{place}: no {part:?} in {printed}")));
                fs::write(at("printed"), printed).unwrap();
            }
            Err(says) if says.contains("a network namespace") => say_skipped("namespaces", &says),
            Err(says) if says.contains("npm") => say_skipped("npm", &says),
            Err(says) if says.contains("distribution pareto") => say_skipped("iproute2-tables", &says),
            Err(says) => wrong.push(format!("{place}: {says}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done.len() > 30, "{done:?}");
    for (start, why) in ONLY_READ {
        assert!(
            lines().iter().any(|line| line.text.starts_with(start)),
            "no document has {start} any more ({why})"
        );
    }
}

/// Runs a line, with what the lines before it set. What it printed, or what it said if it failed.
fn shell(folder: &Path, variables: &[(String, String)], text: &str) -> Result<String, String> {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-ec", text]).current_dir(folder).env("PATH", path).env("SHELL", "/bin/true");
    command.envs(variables.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    let output = command.output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("{}: {says}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &says)
}
