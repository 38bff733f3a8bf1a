//! Two gateways that one line of text pairs. Needs no privilege.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Instant;

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::{free_addresses, say_skipped, wait_until};
use headway_test_fixture::program::Program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::namespace::HEADWAY;

const PROGRAM: Program = Program(HEADWAY);
/// Bytes of a stream in each direction.
const LEN: usize = 300_000;

/// A running gateway, which is ended when this is dropped.
struct Gateway<'a> {
    folder: &'a Path,
    config: String,
    child: Child,
}

impl<'a> Gateway<'a> {
    fn start(folder: &'a Path, config: &str) -> Self {
        let log = File::create(folder.join(format!("{config}.log"))).unwrap();
        let child = PROGRAM.command(folder, &["trunk", "run", config]).stderr(log).spawn().unwrap();
        let gateway = Self { folder, config: config.into(), child };
        wait_until("the status socket", || gateway.status().is_some());
        gateway
    }

    fn status(&self) -> Option<Value> {
        let output = PROGRAM.run(self.folder, &["trunk", "status", &self.config, "--json"]);
        serde_json::from_slice(&output.stdout).ok()
    }

    /// Of the peers, what the status says under `key`, by their names.
    fn peers(&self, key: &str) -> Vec<(String, Value)> {
        let status = self.status().unwrap();
        let peers = status["peers"].as_array().unwrap().clone();
        peers.iter().map(|peer| (peer["name"].as_str().unwrap().to_owned(), peer[key].clone())).collect()
    }

    fn is_connected(&self, peer: &str) -> bool {
        self.peers("connected").contains(&(peer.into(), true.into()))
    }

    fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join(format!("{}.log", self.config))).unwrap()
    }
}

impl Drop for Gateway<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that reads a stream to its end, compares it with one pattern and answers with another.
fn server() -> (SocketAddr, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || exchange(listener.accept().unwrap().0, (2, 1)));
    (address, served)
}

/// Sends one pattern, ends, and compares what comes back with another.
fn exchange(stream: TcpStream, (ours, theirs): (u32, u32)) {
    let mut received = Vec::new();
    thread::scope(|scope| {
        let mut writer = &stream;
        scope.spawn(move || {
            writer.write_all(&Pattern(ours).bytes(0, LEN)).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        (&stream).read_to_end(&mut received).unwrap();
    });
    Pattern(theirs).check_all(LEN, &received);
}

/// Connects by SOCKS5 (RFC 1928); the error is the reply.
fn through(socks: SocketAddr, to: SocketAddr) -> Result<TcpStream, u8> {
    let mut stream = TcpStream::connect(socks).unwrap();
    let SocketAddr::V4(v4) = to else { panic!("{to}") };
    stream.write_all(&[5, 1, 0]).unwrap();
    stream.read_exact(&mut [0; 2]).unwrap();
    let request = [&[5, 1, 0, 1], &v4.ip().octets()[..], &v4.port().to_be_bytes()].concat();
    stream.write_all(&request).unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).unwrap();
    if reply[1] == 0 { Ok(stream) } else { Err(reply[1]) }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Invites with these words, the line that is printed.
fn invite(folder: &Path, words: &[&str]) -> String {
    let printed = PROGRAM.succeed(folder, &[&["trunk", "invite"], words].concat());
    assert_eq!(printed.lines().count(), 1, "no QR code where standard output is no terminal");
    printed.trim_end().to_owned()
}

#[test]
fn two_gateways_are_set_up_by_two_commands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [tunnel, socks, forward] = free_addresses();
    let (behind_forward, served_forward) = server();
    let (behind_socks, served_socks) = server();
    let (socks_word, forward_word) =
        (format!("socks={socks}"), format!("forward={forward}={behind_forward}"));
    let line = invite(
        folder,
        &[
            "--endpoint",
            &tunnel.to_string(),
            "--listen",
            &tunnel.to_string(),
            "--name",
            "ship",
            "--destinations",
            "127.0.0.1/32",
            "--config",
            "etc/far.toml",
            &socks_word,
            &forward_word,
        ],
    );
    PROGRAM.succeed(folder, &["trunk", "join", &line, "--config", "near.toml"]);
    for (key, config) in [("etc/far.key", "etc/far.toml"), ("near.key", "near.toml")] {
        assert_eq!((mode(&folder.join(key)), mode(&folder.join(config))), (0o600, 0o644));
        assert_eq!(PROGRAM.succeed(folder, &["trunk", "check", config]), format!("{config}: good\n"));
    }
    let files = fs::read_dir(folder).unwrap().count() + fs::read_dir(folder.join("etc")).unwrap().count();
    assert_eq!(files, 5, "no other files are left");

    let far = Gateway::start(folder, "etc/far.toml");
    let near = Gateway::start(folder, "near.toml");
    wait_until("a session", || near.is_connected("far") && far.is_connected("ship"));
    exchange(TcpStream::connect(forward).unwrap(), (1, 2));
    exchange(through(socks, behind_socks).unwrap(), (1, 2));
    served_forward.join().unwrap();
    served_socks.join().unwrap();

    // The next one begins while the last one ends.
    far.terminate();
    let next = Gateway::start(folder, "etc/far.toml");
    assert_eq!(far.ended(), Some(0));
    wait_until("a session again", || near.is_connected("far") && next.is_connected("ship"));
    let (address, served) = server();
    exchange(through(socks, address).unwrap(), (1, 2));
    served.join().unwrap();
}

/// Where nothing is open, nothing is waited for.
#[test]
#[expect(clippy::disallowed_methods, reason = "a stop takes less time than another")]
fn a_stop_waits_for_streams_alone_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [tunnel, socks] = free_addresses();
    let (tunnel, service) = (tunnel.to_string(), format!("socks={socks}"));
    let words = ["--endpoint", &tunnel, "--destinations", "127.0.0.1/32", "--config", "far.toml", &service];
    let line = invite(folder, &words);
    PROGRAM.succeed(folder, &["trunk", "join", &line, "--config", "near.toml"]);
    let stop = |gateway: Gateway<'_>| {
        let began = Instant::now();
        gateway.terminate();
        let log = gateway.log();
        assert_eq!(gateway.ended(), Some(0), "{log}");
        (began.elapsed(), fs::read_to_string(folder.join("near.toml.log")).unwrap())
    };
    let mut times = Vec::new();
    for opens in [false, true] {
        let far = Gateway::start(folder, "far.toml");
        let near = Gateway::start(folder, "near.toml");
        wait_until("a session", || near.is_connected("far") && far.is_connected("near"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _open = opens.then(|| {
            let opened = through(socks, listener.local_addr().unwrap()).unwrap();
            (opened, listener.accept().unwrap())
        });
        let (took, log) = stop(near);
        times.push(took);
        assert_eq!(
            log.contains("stopping: what they have written has 2s to arrive streams=1"),
            opens,
            "{log}"
        );
    }
    assert!(times[0] < times[1], "{times:?}");
}

/// A second near gateway joins and leaves while the far one runs.
#[test]
fn a_running_gateway_takes_who_is_invited_and_refuses_who_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [tunnel, socks] = free_addresses();
    let tunnel = tunnel.to_string();
    let invited = |name: &str, service: &str| {
        let words = ["--endpoint", &tunnel, "--destinations", "127.0.0.1/32", "--config", "far.toml"];
        invite(folder, &[&words[..], &["--name", name, service]].concat())
    };
    invited("first", "socks");
    let far = Gateway::start(folder, "far.toml");
    let line = invited("second", &format!("socks={socks}"));
    let reload = || PROGRAM.succeed(folder, &["trunk", "reload", "far.toml"]);
    assert_eq!(reload(), "added peer second\n");
    PROGRAM.succeed(folder, &["trunk", "join", &line, "--config", "near.toml"]);
    let near = Gateway::start(folder, "near.toml");
    wait_until("a session", || near.is_connected("far") && far.is_connected("second"));
    let (address, served) = server();
    exchange(through(socks, address).unwrap(), (1, 2));
    served.join().unwrap();

    PROGRAM.succeed(folder, &["trunk", "revoke", "second", "--config", "far.toml"]);
    assert_eq!(reload(), "removed peer second\n");
    let key = PROGRAM.succeed(folder, &["trunk", "pubkey", "near.key"]);
    let line = format!("add: [[peer]] public-key = \"{}\"", key.trim());
    wait_until("its key is in the log", || far.log().contains(&line));
    assert!(through(socks, address).is_err());
    // The last one may go too.
    PROGRAM.succeed(folder, &["trunk", "revoke", "first", "--config", "far.toml"]);
    assert_eq!(reload(), "removed peer first\n");
}

/// By standard input, and with the answers for machines.
#[test]
fn a_program_pairs_gateways_by_json() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = ["trunk", "invite", "--endpoint", "gw.example.net:4433", "--config", "far.toml", "--json"];
    let invited: Value = serde_json::from_str(&PROGRAM.succeed(folder, &words)).unwrap();
    assert_eq!((&invited["name"], &invited["is-new"]), (&"near".into(), &true.into()));
    let mut join = PROGRAM.command(folder, &["trunk", "join", "-", "--config", "near.toml", "--json"]);
    let mut child = join.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(invited["invitation"].as_str().unwrap().as_bytes()).unwrap();
    let joined: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(joined["endpoint"], "gw.example.net:4433");
    assert_eq!(joined["services"], serde_json::json!(["socks=127.0.0.1:1080"]));
    // The key that the far gateway expects is the near one's.
    assert_eq!(invited["public-key"], PROGRAM.succeed(folder, &["trunk", "pubkey", "near.key"]).trim());
    let revoked = PROGRAM.succeed(folder, &["trunk", "revoke", "near", "--config", "far.toml", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&revoked).unwrap()["name"], "near");
}

#[test]
fn peers_are_added_to_a_configuration_and_removed_and_all_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    invite(folder, &["--endpoint", "192.0.2.1:4433", "--config", "far.toml", "--name", "first"]);
    let path = folder.join("far.toml");
    let written = fs::read_to_string(&path).unwrap();
    // What an operator writes in it, without a line feed at its end.
    let edited = written.replace("[gateway]", "# ours\n[gateway]\nmtu   = 1400 # a tunnel") + "# the end";
    fs::write(&path, &edited).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    invite(
        folder,
        &[
            "--endpoint",
            "192.0.2.1:4433",
            "--config",
            "far.toml",
            "--name",
            "\"second\"",
            "tun=10.1.0.0/16=10.2.0.0/16",
        ],
    );
    let added = fs::read_to_string(&path).unwrap();
    assert!(added.starts_with(&format!("{edited}\n\n[[peer]]\n")), "{added}");
    assert!(
        added.contains("name = '\"second\"'") && added.contains("allowed-ips = [\"10.1.0.0/16\"]"),
        "{added}"
    );
    PROGRAM.succeed(folder, &["trunk", "check", "far.toml"]);
    PROGRAM.succeed(folder, &["trunk", "revoke", "first", "--config", "far.toml"]);
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.contains("# ours\n[gateway]\nmtu   = 1400 # a tunnel") && !left.contains("first"), "{left}");
    assert_eq!(mode(&path), 0o640);
    PROGRAM.succeed(folder, &["trunk", "check", "far.toml"]);
}

#[test]
fn a_qr_code_is_printed_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["trunk", "invite", "--endpoint", "192.0.2.1:4433", "--config", "far.toml", "--qr"];
    let printed = PROGRAM.succeed(folder.path(), &words);
    let mut lines = printed.lines();
    assert!(lines.next().unwrap().starts_with("headway1-") && lines.next() == Some(""), "{printed}");
    let widths: Vec<usize> = lines.map(|line| line.chars().count()).collect();
    assert!(widths.len() > 20 && widths.iter().all(|&width| width == widths[0]), "{printed}");
}

/// How each wrong use of the three commands ends: with this text, code 2 (or 1, where the system refuses), and no file.
#[test]
fn wrong_uses_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = invite(folder, &["--endpoint", "192.0.2.1:4433", "--config", "far.toml"]);
    let len = line.len();
    let wrong = |code, words: &[&str], says: &str| {
        let words = [&["trunk"], words].concat();
        PROGRAM.fail(code, folder, &words, &[&format!("headway: {says}\n")]);
    };
    let join = |line: &str, says: &str| wrong(2, &["join", line, "--config", "near.toml"], says);
    join(
        &line[..len - 1],
        &format!("the invitation: got {} characters: expected {len}: its end is missing", len - 1),
    );
    join(&line[..40], &format!("the invitation: got 40 characters: expected {len}: its end is missing"));
    let other = if line.as_bytes()[49] == b'A' { 'B' } else { 'A' };
    let changed = format!("{}{other}{}", &line[..49], &line[50..]);
    let right = char::from(line.as_bytes()[49]);
    join(
        &changed,
        &format!(
            "the invitation: character 50 is '{other}': expected '{right}', with which the checksum is right"
        ),
    );
    join(
        &line.replace("headway1", "headway2"),
        "the invitation: got version 2: expected version 1: use the same version of headway at both ends",
    );
    join(
        &line.replacen("headway1-", "headway1-!", 1),
        "the invitation: character 10 is '!': expected a letter, a digit, - or _",
    );
    join(
        "ship",
        "the invitation: got a text that begins with \"ship\": expected one that begins with \"headway1-\", as `headway trunk invite` prints it",
    );
    join(
        &format!("{line}x"),
        &format!(
            "the invitation: got {} characters: expected {len}: there is something behind its end",
            len + 1
        ),
    );
    wrong(
        2,
        &["join", &line, "--config", "far.toml"],
        "far.toml: the file exists: expected a new one; --config FILE names another",
    );
    // Its key would be overwritten.
    wrong(
        2,
        &["join", &line, "--config", "far.conf"],
        "far.key: the file exists: expected a new one; --config FILE names another",
    );
    wrong(
        2,
        &["invite", "--endpoint", "192.0.2.1:4433", "--config", "far.conf"],
        "far.key: the file exists: expected a new one; --config FILE names another",
    );
    wrong(
        2,
        &["invite", "--endpoint", "192.0.2.1:4433", "--config", "far.toml"],
        "--name \"near\": far.toml has a peer of this name: expected another, or `headway trunk revoke` it first",
    );
    wrong(
        2,
        &["invite", "--config", "new.toml"],
        "--endpoint: got nothing: expected an address or a name, and a port, such as 198.51.100.1:4433 or gw.example.net:4433, at which the near gateway reaches this one",
    );
    wrong(
        2,
        &[
            "invite",
            "--config",
            "far.toml",
            "--name",
            "b",
            "--listen",
            "192.0.2.1:1",
            "--endpoint",
            "192.0.2.1:1",
        ],
        "--listen 192.0.2.1:1: far.toml has 0.0.0.0:4433: expected the same, or none",
    );
    wrong(
        2,
        &["invite", "--config", "far.toml", "--name", "b", "--endpoint", "[2001:db8::1]:4433"],
        "--endpoint [2001:db8::1]:4433: this gateway listens at 0.0.0.0:4433: expected an address of the same family, or a name",
    );
    wrong(
        2,
        &["invite", "--config", "new.toml", "--name", "a\nb", "--endpoint", "192.0.2.1:1"],
        "--name \"a\\nb\": expected a name without control characters, such as ship",
    );
    wrong(
        2,
        &["invite", "--config", "new.toml", "--endpoint", "192.0.2.1:1", "forward=127.0.0.1:1=host"],
        "what is invited to: forward.to: got host: expected a host and a port, such as 10.0.0.5:22, and no interface: the peer connects",
    );
    wrong(
        2,
        &["invite", "--config", "new.toml", "--endpoint", "192.0.2.1:1", "--destinations", "here"],
        "new.toml: peer near: destinations: got here: expected `any`, or a prefix such as 10.0.0.0/8",
    );
    wrong(
        2,
        &["revoke", "b", "--config", "far.toml"],
        "\"b\": far.toml has no peer of this name: expected one of near",
    );
    wrong(2, &["revoke", "b", "--config", "none.toml"], "none.toml: No such file or directory (os error 2)");
    for (words, part) in [
        (
            &["invite", "--endpoint", "somewhere"][..],
            "invalid value 'somewhere' for '--endpoint <HOST:PORT>': expected an address or a name",
        ),
        (
            &["invite", "--endpoint", "10.0.0.300:1"],
            "invalid value '10.0.0.300:1' for '--endpoint <HOST:PORT>'",
        ),
        (
            &["invite", "--endpoint", "h:1", "http"],
            "invalid value 'http' for '[SERVICE]...': expected `socks`",
        ),
    ] {
        PROGRAM.refuse(folder, &[&["trunk"], words].concat(), &[part]);
    }

    fs::write(
        folder.join("list.toml"),
        format!(
            "peer = [{{ name = 'a', public-key = '{}' }}]\ngateway.key-file = 'far.key'\n",
            other_key(folder)
        ),
    )
    .unwrap();
    let inline =
        "list.toml: `peer` is a list: expected [[peer]] for each peer, which can be added and removed";
    wrong(2, &["invite", "--config", "list.toml", "--endpoint", "192.0.2.1:1"], inline);
    wrong(2, &["revoke", "a", "--config", "list.toml"], inline);
    // What leads to the peer would lead nowhere.
    let text = fs::read_to_string(folder.join("far.toml")).unwrap();
    fs::write(
        folder.join("used.toml"),
        format!("{text}\n[[socks]]\nlisten = '127.0.0.1:1'\npeer = 'near'\n"),
    )
    .unwrap();
    wrong(
        2,
        &["revoke", "near", "--config", "used.toml"],
        "used.toml: [[peer]]: got none: expected one, to which socks 127.0.0.1:1 leads",
    );
    for (name, text, says) in [
        ("[Interface]\nPrivateKey = a\n[Peer]\n", "wg", "line 1 is of a configuration of WireGuard"),
        (
            "gateway = { key-file = 'other.key' }\n",
            "none",
            "none.toml: [[peer]]: got none: expected at least one\n",
        ),
    ]
    .map(|(text, name, says)| (format!("{name}.toml"), text, says))
    {
        fs::write(folder.join(&name), text).unwrap();
        PROGRAM.refuse(folder, &["trunk", "check", &name], &[says]);
        fs::remove_file(folder.join(&name)).unwrap();
    }
    // No folder of the system has a file in it that was not there.
    wrong(
        1,
        &["join", &line, "--config", "/proc/near.toml"],
        "/proc/near.key: cannot be written: No such file or directory (os error 2)",
    );
    wrong(
        1,
        &["join", &line, "--config", "far.toml/near.toml"],
        "far.toml: cannot be written: a folder is expected, and this is a file",
    );
}

/// What is typed, what it is about, what was got, and what was expected. Nothing is written.
#[test]
fn wrong_words_of_invite_and_join_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = invite(folder, &["--endpoint", "192.0.2.1:4433", "--config", "far.toml"]);
    fs::create_dir(folder.join("d")).unwrap();
    let at = &["--endpoint", "192.0.2.1:4433"][..];
    let address = "an address or a name, and a port";
    let service = "`socks`, `socks=ADDRESS:PORT`, `forward=ADDRESS:PORT=HOST:PORT` or `tun=PREFIX=PREFIX`";
    let prefix = "\"headway1-\", as `headway trunk invite` prints it";
    for (verb, words, place, got, expected) in [
        ("invite", &["--endpoint", "192.0.2.1:0"][..], "--endpoint", "192.0.2.1:0", address),
        ("invite", &["--endpoint", "192.0.2.1"], "--endpoint", "192.0.2.1", address),
        ("invite", &["--endpoint", ":4433"], "--endpoint", ":4433", address),
        ("invite", &["--endpoint", "http://gw:4433"], "--endpoint", "http://gw:4433", address),
        ("invite", &["--listen", "4433"], "--listen", "4433", "an address and a port, such as 0.0.0.0:4433"),
        (
            "invite",
            &[at, &["--listen", "0.0.0.0:0"]].concat(),
            "peer near: endpoint",
            "nothing",
            "its address, or",
        ),
        ("invite", &[at, &["--name", " "]].concat(), "--name", "\" \"", "a name without control characters"),
        ("invite", &[at, &["socks=80"]].concat(), "[SERVICE]...", "socks=80", service),
        ("invite", &[at, &["tun=10.0.0.0/8"]].concat(), "[SERVICE]...", "tun=10.0.0.0/8", service),
        (
            "invite",
            &[at, &["tun=10.0.0.0/8=10.0.0.0/8"]].concat(),
            "[SERVICE]...",
            "10.0.0.0/8=10.0.0.0/8",
            service,
        ),
        (
            "invite",
            &[at, &["tun=192.168.7.5/24=10.0.0.0/8"]].concat(),
            "peer near: allowed-ips",
            "192.168.7.5/24, an address in a network",
            "192.168.7.0/24, or 192.168.7.5/32",
        ),
        (
            "invite",
            &[at, &["forward=127.0.0.1:1=10.0.0.5:0"]].concat(),
            "forward.to",
            "10.0.0.5:0",
            "a host and a port",
        ),
        (
            "invite",
            &[at, &["socks", "socks"]].concat(),
            "socks 127.0.0.1:1080",
            "an address and port that",
            "another",
        ),
        (
            "invite",
            &[at, &["--destinations", "10.0.0.5/8"]].concat(),
            "peer near: destinations",
            "10.0.0.5/8, an address in a network",
            "10.0.0.0/8, or 10.0.0.5/32",
        ),
        ("join", &[""], "the invitation", "begins with \"\"", prefix),
        ("join", &["far.toml"], "the invitation", "begins with \"far.toml\"", prefix),
        ("join", &[&line.to_uppercase()], "the invitation", "begins with \"HEADWAY1-\"", prefix),
        ("join", &[&line, "--config", "d"], "d", "the file exists", "a new one; --config FILE names another"),
    ] {
        let config = if words.contains(&"--config") { &[][..] } else { &["--config", "new.toml"] };
        let words = [&["trunk", verb], words, config].concat();
        PROGRAM.refuse(folder, &words, &[place, got, expected]);
    }
}

/// A public key that no gateway has.
fn other_key(folder: &Path) -> String {
    PROGRAM.succeed(folder, &["trunk", "keygen", "other.key"]).trim().to_owned()
}

/// A folder that can be read and not written.
#[test]
fn nothing_is_left_in_a_folder_that_cannot_be_written() {
    if rustix::process::geteuid().is_root() {
        return say_skipped("unprivileged", "this one may write everywhere");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("closed")).unwrap();
    fs::set_permissions(folder.path().join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let words = ["trunk", "invite", "--endpoint", "192.0.2.1:1", "--config", "closed/far.toml"];
    PROGRAM.fail(
        1,
        folder.path(),
        &words,
        &["closed/far.key: cannot be written: Permission denied (os error 13)"],
    );
}
