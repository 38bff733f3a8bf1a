//! Attaching and detaching, orderly and by force.

use std::process::Command;
use std::time::Duration;

use headway_test_fixture::process::wait_until;

use super::hosts::{Hosts, LEFT, RIGHT, all};
use crate::namespace::HEADWAY;
use crate::programs::folder_with_file;

/// A connection outlives the programs, however they go, and nothing stays of them.
#[test]
fn connections_outlive_the_programs() {
    for encoding in ["classic", "v2"] {
        let Some(hosts) = Hosts::new() else { return };
        let _box = hosts.start_box(&["--rate", "20mbit", "--delay", "5ms", "--damage", "random:1%"]);
        let (folder, bytes) = folder_with_file(25, 6_000_000);
        let server = hosts.right.serve(folder.path());
        let mut attached = Some(hosts.attach(&["--encoding", encoding]));
        let mut ids = vec![];
        let url = format!("http://{}:8000/file", RIGHT[0]);
        let mut fetch = hosts.left.command("curl", &["-sSf", &url]);
        let fetch = fetch.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let count = |attached: &Option<[super::hosts::Attached; 2]>, name: &str| {
            attached.as_ref().unwrap()[1].count(name)
        };
        wait_until("the transfer has begun", || count(&attached, "sums_written") > 100);
        for how in ["-KILL", "-TERM", "-INT", "-KILL"] {
            let [mut left, mut right] = attached.take().unwrap();
            ids.extend([&left, &right].map(|one| one.status()["id"].clone()));
            for one in [&mut left, &mut right] {
                one.process.signal(how);
                one.process.0.wait().unwrap();
            }
            attached = Some(hosts.attach(&["--encoding", encoding]));
        }
        let output = fetch.wait_with_output().unwrap();
        assert!(output.status.success() && output.stdout == bytes, "{encoding}: the connection is lost");
        // New connections use the new programs.
        assert!(hosts.left.run("curl", &["-sSf", &url]).stdout == bytes);
        assert_eq!(count(&attached, &format!("agreed_{encoding}")), 1);
        ids.extend(attached.as_ref().unwrap().iter().map(|one| one.status()["id"].clone()));
        drop((attached, server));
        wait_until("no program is left", || all().iter().all(|one| !ids.contains(&one["id"])));
    }
}

/// `detach` by another process ends the one that attached; a second `attach` is refused before.
#[test]
fn detaching_ends_the_one_who_attached() {
    let Some(hosts) = Hosts::new() else { return };
    let mut left = hosts.left.attach(&[]);
    let complaint = hosts.left.attach_command(&[]).output().unwrap();
    assert_eq!(complaint.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&complaint.stderr).contains("headway kernel detach"), "{complaint:?}");
    let cgroup = hosts.left.cgroup.to_str().unwrap();
    let output = Command::new(HEADWAY).args(["kernel", "detach", "--cgroup", cgroup]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(left.process.0.wait().unwrap().code(), Some(1), "it says that others have detached them");
}

/// Pinned programs outlive the command, until they are detached by their folder.
#[test]
fn pinned_programs_stay_until_detached() {
    let Some(hosts) = Hosts::new() else { return };
    let mount = tempfile::tempdir().unwrap();
    let folder = mount.path().to_str().unwrap();
    assert!(Command::new("mount").args(["-t", "bpf", "hw-test", folder]).status().unwrap().success());
    let pin = format!("{folder}/hack");
    let pinned = hosts.left.attach_command(&["--pin", &pin]).output().unwrap();
    let status = all().into_iter().find(|one| one["cgroup"] == hosts.left.cgroup.to_str().unwrap());
    let detached = Command::new(HEADWAY).args(["kernel", "detach", "--pin", &pin]).output().unwrap();
    let unmounted = Command::new("umount").arg(folder).status().unwrap().success();
    assert!(pinned.status.success(), "{}", String::from_utf8_lossy(&pinned.stderr));
    assert!(detached.status.success(), "{}", String::from_utf8_lossy(&detached.stderr));
    assert!(unmounted, "something is left in the file system");
    let id = status.expect("they were attached")["id"].clone();
    wait_until("no program is left", || all().iter().all(|one| one["id"] != id));
}

/// 10,000 connections one after the other and 500 at a time: what is kept of them goes with them.
#[test]
fn nothing_is_kept_of_connections_that_ended() {
    let Some(hosts) = Hosts::new() else { return };
    let _box = hosts.start_box(&["--rate", "1gbit", "--delay", "100us", "--damage", "none"]);
    let [left, right] = hosts.attach(&["--encoding", "both"]);
    let server = "import socket, selectors\n\
        s = socket.create_server(('', 9000), backlog=1000); s.setblocking(False)\n\
        w = selectors.DefaultSelector(); w.register(s, 1)\n\
        while True:\n\
        \x20   for key, _ in w.select():\n\
        \x20       if key.fileobj is s:\n\
        \x20           c = s.accept()[0]; w.register(c, 1)\n\
        \x20       else:\n\
        \x20           m = key.fileobj.recv(100)\n\
        \x20           key.fileobj.sendall(m) if m else (w.unregister(key.fileobj), key.fileobj.close())";
    let _server = hosts.right.start("python3", &["-c", server]);
    hosts.right.namespace.wait_for_listener(9000);
    let client = "import socket, sys\n\
        for _ in range(20):\n\
        \x20   all = [socket.create_connection((sys.argv[1], 9000)) for _ in range(500)]\n\
        \x20   for s in all: s.sendall(b'x' * 50)\n\
        \x20   for s in all: assert s.recv(100) == b'x' * 50\n\
        \x20   for s in all: s.close()";
    hosts.left.run("python3", &["-c", client, RIGHT[0]]);
    for one in [&left, &right] {
        assert_eq!(one.count("agreed_v2"), 10_000);
        wait_until("no path is left", || one.status()["paths"] == 0);
        assert!(one.status()["ended"].as_u64().unwrap() <= 10_000, "{}", one.status());
    }
    // The kernel's TIME-WAIT is a minute, and cannot be set.
    std::thread::sleep(Duration::from_secs(55));
    for one in [&left, &right] {
        wait_until("nothing is kept of a connection", || one.status()["ended"] == 0);
    }
    // With the programs everything goes that belongs to them.
    let ids = [&left, &right].map(|one| one.status()["id"].clone());
    drop([left, right]);
    wait_until("no program is left", || all().iter().all(|one| !ids.contains(&one["id"])));
}

/// What is wrong is said in one line, with what was expected.
#[test]
fn wrong_targets_are_named() {
    let Some(hosts) = Hosts::new() else { return };
    let refuse_with = |code: i32, mut command: Command, part: &str| {
        let output = command.output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{complaint}");
        assert!(complaint.contains(part) && complaint.lines().count() == 1, "{complaint}");
    };
    let refuse = |command, part: &str| refuse_with(2, command, part);
    let cgroup = hosts.left.cgroup.to_str().unwrap().to_owned();
    let attach = |words: &[&str]| hosts.left.headway(&[&["kernel", "attach"], words].concat());
    refuse(attach(&["--cgroup", "/", "--interface", "eth0"]), "expected the folder of a cgroup");
    refuse(attach(&["--cgroup", &cgroup, "--interface", "eth7"]), "interface eth7: there is none");
    hosts.left.namespace.ip(&["link", "set", "eth0", "gso_max_segs", "100"]);
    refuse(attach(&["--cgroup", &cgroup, "--interface", "eth0", "--encoding", "v2"]), "gso_max_segs 1");
    refuse(
        attach(&["--cgroup", &cgroup, "--interface", "eth0", "--congestion", "none,bbr"]),
        "--congestion none",
    );
    refuse(
        attach(&["--cgroup", &cgroup, "--interface", "eth0", "--interface", "eth0"]),
        "--interface eth0: expected each interface once",
    );
    assert!(all().iter().all(|one| one["cgroup"] != cgroup.as_str()), "{LEFT:?}: nothing is attached");
    // Files of others stay.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sockops"), "").unwrap();
    let detach = |words: &[&str]| hosts.left.headway(&[&["kernel", "detach"], words].concat());
    refuse_with(
        1,
        detach(&["--pin", folder.path().to_str().unwrap()]),
        "expected a folder that `headway kernel",
    );
    assert!(folder.path().join("sockops").exists());
    refuse_with(1, detach(&["--cgroup", &cgroup]), "nothing is attached");
}
