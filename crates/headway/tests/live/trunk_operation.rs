//! The operation of one gateway: metrics, status, the live view, reload. Needs no privilege.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use headway_test_fixture::process::{free_addresses, say_skipped, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use crate::namespace::HEADWAY;

/// A gateway whose peer does not exist. It is ended when this is dropped.
struct Gateway {
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Gateway {
    /// `more` is the rest of the table of the gateway, `entries` follows the peer.
    fn start(more: &str, entries: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut gateway = Self { folder, child: None };
        for name in ["ours.key", "theirs.key"] {
            let made =
                Command::new(HEADWAY).args(["trunk", "keygen"]).arg(gateway.at(name)).output().unwrap();
            assert!(made.status.success());
        }
        gateway.write(more, entries);
        let mut command = Command::new(HEADWAY);
        command.args(["trunk", "run"]).arg(gateway.at("gateway.toml"));
        let log = std::fs::File::create(gateway.at("log")).unwrap();
        gateway.child = Some(command.stderr(log).spawn().unwrap());
        wait_until("the control socket", || gateway.ask(&["status"]).status.success());
        gateway
    }

    fn write(&self, more: &str, entries: &str) {
        let theirs =
            Command::new(HEADWAY).args(["trunk", "pubkey"]).arg(self.at("theirs.key")).output().unwrap();
        let text = format!(
            "[gateway]\nkey-file = 'ours.key'\nlisten = '127.0.0.1:0'\nstatus-socket = 'socket'\n{more}\n\
             [[peer]]\nname = 'far'\npublic-key = '{}'\n{entries}",
            String::from_utf8(theirs.stdout).unwrap().trim()
        );
        std::fs::write(self.at("gateway.toml"), text).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.at("log")).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.child.as_ref().unwrap()), signal).unwrap();
    }

    /// Ends it, as systemd does.
    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            let _ = child.wait();
        }
    }

    /// Runs `headway trunk WORDS... CONFIG`.
    fn ask(&self, words: &[&str]) -> Output {
        Command::new(HEADWAY).arg("trunk").args(words).arg(self.at("gateway.toml")).output().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop();
    }
}

fn http(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn prometheus_gets_metrics() {
    let [address] = free_addresses();
    let gateway = Gateway::start(&format!("metrics = '{address}'"), "");
    let answer = http(address, "GET /metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: application/openmetrics-text"), "{answer}");
    for line in ["# TYPE headway_trunk_streams gauge", "headway_trunk_connected{peer=\"far\"} 0.0", "# EOF"] {
        assert!(answer.lines().any(|found| found == line), "{line} is not in\n{answer}");
    }
    let head = http(address, "HEAD /metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && !head.contains("headway_trunk"), "{head}");
    assert!(http(address, "GET /").starts_with("HTTP/1.1 404 "));
    assert!(http(address, "POST /metrics").starts_with("HTTP/1.1 405 "));
    // The address is in use: a second gateway says so.
    let second = gateway.ask(&["run"]);
    let error = String::from_utf8_lossy(&second.stderr);
    assert!(error.contains(&format!("gateway.metrics: {address}: ")), "{error}");
}

#[test]
fn rules_and_dashboard_are_what_prometheus_and_grafana_read() {
    let packaging = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let dashboard = std::fs::read(packaging.join("grafana/headway-trunk.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_slice(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 8));
    let rules = packaging.join("prometheus/headway-trunk.rules.yml");
    match Command::new("promtool").args(["check", "rules"]).arg(rules).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => say_skipped("promtool", &error.to_string()),
    }
}

#[test]
fn status_and_top_say_the_same_as_text() {
    let gateway = Gateway::start("", "link-rate = '10mbit'\n");
    let status = String::from_utf8(gateway.ask(&["status"]).stdout).unwrap();
    assert!(status.contains("peer far (not seen yet): not connected"), "{status}");
    let json: serde_json::Value = serde_json::from_slice(&gateway.ask(&["status", "--json"]).stdout).unwrap();
    assert_eq!(json["peers"][0]["name"], "far");
    let top = gateway.ask(&["top", "--once"]);
    let frame = String::from_utf8(top.stdout).unwrap();
    assert!(top.status.success() && frame.contains("Peers") && frame.contains("down"), "{frame}");
    assert!(!frame.contains('\u{1b}'), "text without control sequences: {frame}");
}

/// Its file is being edited, or its key is not readable for who asks.
#[test]
fn a_gateway_can_be_asked_whatever_else_is_in_its_file() {
    let gateway = Gateway::start("", "");
    std::fs::remove_file(gateway.at("ours.key")).unwrap();
    let text = std::fs::read_to_string(gateway.at("gateway.toml")).unwrap();
    std::fs::write(gateway.at("gateway.toml"), text + "[[socks]\nlisten = 7").unwrap();
    for words in [&["status"][..], &["top", "--once"]] {
        let asked = gateway.ask(words);
        assert!(asked.status.success(), "{words:?}: {}", String::from_utf8_lossy(&asked.stderr));
        assert!(String::from_utf8(asked.stdout).unwrap().contains("far"), "{words:?}");
    }
    let mut record = Command::new(HEADWAY);
    record.args(["trunk", "record"]).arg(gateway.at("gateway.toml")).arg(gateway.at("fates"));
    let error = String::from_utf8(record.output().unwrap().stderr).unwrap();
    assert!(error.starts_with("headway: the gateway has refused: record: got no packet"), "{error}");
    // The gateway reads it, and says what is wrong with it.
    let refused = gateway.ask(&["reload"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.starts_with("headway: the gateway has refused: ") && error.contains("line "), "{error}");
}

/// Whether something listens at an address.
fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}

#[test]
fn a_configuration_is_read_again() {
    let [first, second, third] = free_addresses();
    let socks = |address: SocketAddr| format!("[[socks]]\nlisten = '{address}'\n");
    let gateway = Gateway::start("", &socks(first));
    assert!(listens(first) && !listens(second));
    gateway.write("", &socks(second));
    let reload = gateway.ask(&["reload"]);
    let said = String::from_utf8(reload.stdout).unwrap();
    assert_eq!(said.trim(), format!("added socks {second}; removed socks {first}"));
    wait_until("the first is gone", || !listens(first));
    assert!(reload.status.success() && listens(second));
    // By a signal, with another level of the log.
    gateway.write("log-level = 'debug'", &socks(third));
    gateway.signal(Signal::HUP);
    wait_until("the third", || listens(third));
    assert!(gateway.log().contains("the configuration was read again"), "{}", gateway.log());
    // What cannot be changed is named, and stays.
    gateway.write("mtu = 1300", &socks(first));
    let refused = gateway.ask(&["reload"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("gateway.mtu: changed"), "{error}");
    // A wrong file changes nothing.
    gateway.write("mtu = 'long'", &socks(first));
    gateway.signal(Signal::HUP);
    wait_until("the log says so", || {
        gateway.log().contains("line 5: mtu: got \"long\": expected a whole number")
    });
    assert!(listens(third) && !listens(first));
}

/// A far gateway with another key than the near one expects, and a port at which nothing listens.
#[test]
fn gateways_without_a_session_say_why() {
    let far = Gateway::start("", "");
    let far_at = far.log().lines().find_map(|line| Some(line.split_once(" at UDP ")?.1.to_owned())).unwrap();
    let [closed] = free_addresses();
    let mistaken = Gateway::start("", &format!("endpoint = '{far_at}'\n"));
    let unheard = Gateway::start("", &format!("endpoint = '{closed}'\n"));
    let line_with = |gateway: &Gateway, part: &str| {
        wait_until(part, || gateway.log().lines().any(|line| line.contains(part)));
        gateway.log().lines().find(|line| line.contains(part)).unwrap().to_owned()
    };
    let no_answer = "no answer to handshakes: expected a gateway there with the peer's public key";
    for (gateway, endpoint, icmp) in
        [(&mistaken, far_at.clone(), "nothing"), (&unheard, closed.to_string(), "Connection refused")]
    {
        let line = line_with(gateway, no_answer);
        for part in ["WARN ", "peer=\"far\"", &format!("endpoint={endpoint} "), &format!("icmp=\"{icmp}")] {
            assert!(line.contains(part), "{part}: {line}");
        }
        let status = String::from_utf8(gateway.ask(&["status"]).stdout).unwrap();
        assert!(
            status.contains(&format!("peer far ({endpoint}): not connected, no answer for ")),
            "{status}"
        );
    }
    let line = line_with(&far, "handshakes were refused; this was the last");
    assert!(line.contains("WARN ") && line.contains("from=127.0.0.1:"), "{line}");
    assert!(line.contains("why=") && line.contains("another public key"), "{line}");
}

#[test]
fn systemd_is_told_of_a_reload_and_the_log_may_be_json() {
    let mut gateway = Gateway::start("", "");
    gateway.stop();
    let socket = UnixDatagram::bind(gateway.at("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut command = Command::new(HEADWAY);
    command.args(["trunk", "run", "--log-format", "json"]).arg(gateway.at("gateway.toml"));
    command.env("NOTIFY_SOCKET", gateway.at("notify"));
    let log = std::fs::File::create(gateway.at("log")).unwrap();
    gateway.child = Some(command.stderr(log).spawn().unwrap());
    let mut buffer = [0; 256];
    let mut next = || {
        let len = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..len]).trim().to_owned()
    };
    assert_eq!(next(), "READY=1");
    gateway.signal(Signal::HUP);
    let reloading = next();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(next(), "READY=1");
    gateway.stop();
    assert_eq!(next(), "STOPPING=1");
    let log = gateway.log();
    let line = log.lines().find(|line| line.contains("read again")).unwrap_or_else(|| panic!("{log}"));
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["message"], "the configuration was read again: nothing has changed");
    assert!(line["timestamp"].is_string());
}

/// More connections than descriptors: they wait, the log says so once a second, and all is well when some have ended.
#[test]
#[expect(clippy::disallowed_methods, reason = "no more complaints than seconds have passed")]
fn a_gateway_without_descriptors_goes_on() {
    let [socks] = free_addresses();
    let mut gateway = Gateway::start("", &format!("[[socks]]\nlisten = '{socks}'\n"));
    gateway.stop();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 40; exec \"$0\" trunk run \"$1\"", HEADWAY])
        .arg(gateway.at("gateway.toml"));
    let log = std::fs::File::create(gateway.at("log")).unwrap();
    let began = Instant::now();
    gateway.child = Some(command.stderr(log).spawn().unwrap());
    wait_until("the control socket", || gateway.ask(&["status"]).status.success());
    let connections: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(socks).unwrap()).collect();
    let complaints = || gateway.log().matches("connections cannot be accepted").count();
    wait_until("a second complaint", || complaints() >= 2);
    assert!(complaints() as u64 <= began.elapsed().as_secs() + 1, "{}", gateway.log());
    drop(connections);
    wait_until("descriptors", || {
        // RFC 1928, 3: no authentication.
        let mut client = TcpStream::connect(socks).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut method = [0; 2];
        client.write_all(&[5, 1, 0]).unwrap();
        client.read_exact(&mut method).is_ok() && method == [5, 0]
    });
    assert!(gateway.ask(&["status"]).status.success());
}
