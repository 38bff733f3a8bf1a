//! ssh through `headway nc` as its ProxyCommand, with rsync over it. sshd runs in a namespace, with its
//! own keys and settings; the user's are neither read nor changed.

use std::path::Path;
use std::process::Command;

use headway_test_fixture::pattern::Pattern;

use crate::namespace::{HEADWAY, KERNELS, Namespace, Running, TUN, say_skipped};

const SSHD: &str = "/usr/sbin/sshd";
pub(crate) const PORT: u16 = 2222;

/// Whether ssh, sshd and what else is asked for are installed; prints a message otherwise.
pub(crate) fn are_installed(others: &[(&'static str, &str)]) -> bool {
    let missing: Vec<&str> = [("ssh", "-V"), (SSHD, "-t")]
        .iter()
        .chain(others)
        .filter(|(program, option)| Command::new(program).arg(option).output().is_err())
        .map(|(program, _)| *program)
        .collect();
    for program in &missing {
        say_skipped(program, "");
    }
    missing.is_empty()
}

fn key(path: &Path) -> String {
    let words = ["-q", "-t", "ed25519", "-N", "", "-f", path.to_str().unwrap()];
    assert!(Command::new("ssh-keygen").args(words).status().unwrap().success());
    std::fs::read_to_string(path.with_extension("pub")).unwrap()
}

/// Writes the settings of sshd and of the client, in which the server at `address` is `peer`. Returns the shell's command that
/// runs sshd.
pub(crate) fn write_settings(folder: &Path, address: &str, more: &str) -> String {
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let host_key = key(&folder.join("host"));
    std::fs::write(folder.join("authorized"), key(&folder.join("user"))).unwrap();
    std::fs::write(folder.join("known"), format!("peer {host_key}")).unwrap();
    let server = format!(
        "Port {PORT}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
         PermitRootLogin yes\nPermitUserRC no\nPasswordAuthentication no\nLogLevel ERROR\n",
        file("host"),
        file("authorized"),
    );
    let client = format!(
        "Host peer\nHostName {address}\nHostKeyAlias peer\nPort {PORT}\nUser root\nIdentityFile {}\n\
         IdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\n\
         StrictHostKeyChecking yes\nBatchMode yes\nLogLevel ERROR\n{more}\n",
        file("user"),
        file("known"),
    );
    std::fs::write(folder.join("server"), server).unwrap();
    std::fs::write(folder.join("client"), client).unwrap();
    // sshd requires this folder; the mounts of `ip netns exec` are private.
    format!("mount -t tmpfs none /run && mkdir /run/sshd && exec {SSHD} -D -e -f {}", file("server"))
}

/// Starts sshd in the namespace.
fn start(namespace: &Namespace, folder: &Path) -> Running {
    let proxy = format!("ProxyCommand {HEADWAY} nc {} %h %p", TUN.join(" "));
    let sshd = namespace.start("sh", &["-c", &write_settings(folder, KERNELS, &proxy)]);
    namespace.wait_for_listener(PORT);
    sshd
}

#[test]
fn rsync_copies_a_tree_in_both_directions() {
    if !are_installed(&[("rsync", "--version")]) {
        return;
    }
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _sshd = start(&namespace, folder.path());
    let tree = folder.path().join("tree");
    for index in 0..100 {
        let place = tree.join(format!("folder {}", index % 7));
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(index.to_string()), Pattern(index).bytes(0, 1000 * index as usize))
            .unwrap();
    }
    std::fs::write(tree.join("long"), Pattern(100).bytes(0, 20_000_000)).unwrap();
    std::os::unix::fs::symlink("long", tree.join("link")).unwrap();
    let place = |name: &str| format!("{}/", folder.path().join(name).display());
    let shell = format!("ssh -F {}", folder.path().join("client").display());
    let copy = |from: &str, to: &str| namespace.run("rsync", &["-a", "-e", &shell, from, to]);
    copy(&place("tree"), &format!("peer:{}", place("there")));
    copy(&format!("peer:{}", place("there")), &place("back"));
    for copied in ["there", "back"] {
        namespace.run("diff", &["-r", "--no-dereference", &place("tree"), &place(copied)]);
    }
    // Input is echoed at once, and the exit code is returned.
    let words = ["-F", &folder.path().join("client").display().to_string(), "peer", "echo hello; exit 7"];
    let output = namespace.command("ssh", &words).output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"hello\n"[..], Some(7)));
}
