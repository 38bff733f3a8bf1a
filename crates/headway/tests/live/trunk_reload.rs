//! A configuration that cannot be applied to a running gateway.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use headway_test_fixture::process::{free_addresses, wait_until};

use crate::namespace::{HEADWAY, say_skipped};

/// The rules of nftables are good, and those of routing cannot be made: then the entries stay too.
#[test]
fn entries_stay_where_the_rules_of_another_configuration_fail() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // In place of the programs that make rules.
    for (name, text) in
        [("nft", "exit 0"), ("ip", "case \"$*\" in *' route replace '*) echo not today >&2; exit 1;; esac")]
    {
        std::fs::write(at(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let headway = |words: &[&str]| {
        let mut command = Command::new(HEADWAY);
        command.args(["trunk"]).args(words).env("PATH", &path).current_dir(folder.path());
        command
    };
    let keygen = |name: &str| {
        let printed = headway(&["keygen", name]).output().unwrap().stdout;
        String::from_utf8(printed).unwrap().trim().to_owned()
    };
    let (_, theirs) = (keygen("ours.key"), keygen("theirs.key"));
    let [tproxy, other] = free_addresses();
    let write = |entry: String| {
        let text = format!(
            "gateway = {{ key-file = 'ours.key', listen = '127.0.0.1:0', status-socket = 'socket' }}\n\
             [[peer]]\nname = 'far'\npublic-key = '{theirs}'\n{entry}\n"
        );
        std::fs::write(at("gateway.toml"), text).unwrap();
    };
    let of_socks = |address: SocketAddr| format!("[[socks]]\nlisten = '{address}'");
    let listens = |address: SocketAddr| TcpStream::connect(address).is_ok();
    // The port is any: an entry that is made again has another one.
    write(of_socks("127.0.0.1:0".parse().unwrap()));
    let log = std::fs::File::create(at("log")).unwrap();
    let mut gateway = headway(&["run", "gateway.toml"]).stderr(log).spawn().unwrap();
    let mut socks = None;
    wait_until("the entry", || {
        let log = std::fs::read_to_string(at("log")).unwrap();
        socks = log
            .lines()
            .find_map(|line| line.strip_prefix("headway: connections are taken at ")?.parse().ok());
        socks.is_some_and(listens) && at("socket").exists()
    });
    let socks = socks.unwrap();

    write(format!("[[transparent]]\nlisten = '{tproxy}'\ninterfaces = ['lan0']"));
    let reload = || headway(&["reload", "gateway.toml"]).output().unwrap();
    let complaint = String::from_utf8(reload().stderr).unwrap();
    if complaint.contains("not permitted") {
        let _ = gateway.kill();
        let _ = gateway.wait();
        return say_skipped("root", "transparent entries");
    }
    assert!(complaint.contains("ip -4 route replace") && complaint.contains("not today"), "{complaint}");
    assert!(listens(socks) && !listens(tproxy));
    // What can be applied still is.
    write(of_socks(other));
    assert!(reload().status.success());
    assert!(listens(other));
    wait_until("the first is gone", || !listens(socks));
    gateway.kill().unwrap();
    gateway.wait().unwrap();
}
