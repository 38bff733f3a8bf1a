//! `headway shell`: what programs find inside, and that nothing is left of it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use headway_test_fixture::process::wait_until;
use serde_json::Value;

use crate::namespace::{HEADWAY, say_skipped};
use crate::programs::sha256;

/// `headway shell` with these words, if this machine permits it.
fn shell(words: &[&str]) -> Option<Command> {
    let permitted = Command::new(HEADWAY).args(["shell", "-q", "--", "true"]).output().unwrap();
    if !permitted.status.success() {
        let says = String::from_utf8_lossy(&permitted.stderr).into_owned();
        assert!(says.contains("a network namespace"), "{says}");
        say_skipped("namespaces", &says);
        return None;
    }
    let mut command = Command::new(HEADWAY);
    command.arg("shell").args(words).stdin(Stdio::null());
    Some(command)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// What `script` prints inside, in a folder.
#[track_caller]
fn inside(folder: &Path, options: &[&str], script: &str) -> Option<Output> {
    let mut command = shell(&[options, &["--", "sh", "-ec", script]].concat())?;
    command.current_dir(folder).env("HEADWAY", HEADWAY);
    Some(succeed(command))
}

const LINK: [&str; 8] =
    ["--rate", "50mbit", "--delay", "2ms", "--damage", "random:2%", "--reverse-damage", "random:1%"];

#[test]
fn both_tcps_deliver_what_the_server_generates() {
    let folder = tempfile::tempdir().unwrap();
    let script = "curl -sSf http://10.77.0.1/300KB -o kernel; \
                  $HEADWAY fetch http://$HEADWAY_SERVER/300KB --output headway 2>says; \
                  curl -sSf http://10.77.0.1/300KB.sha256; \
                  curl -sSf -T kernel http://10.77.0.1/x";
    let Some(output) = inside(folder.path(), &[&LINK[..], &["--json"]].concat(), script) else { return };
    let printed = text(&output.stdout);
    let kernel = std::fs::read(folder.path().join("kernel")).unwrap();
    let hash = sha256(&kernel);
    assert_eq!(kernel.len(), 300_000);
    assert!(std::fs::read(folder.path().join("headway")).unwrap() == kernel);
    assert_eq!(printed, format!("{hash}  300KB\n{hash} 300000\n"));
    // No carrier was named: it is headway's TCP that fetched, over UDP.
    let says = std::fs::read_to_string(folder.path().join("says")).unwrap();
    assert!(says.contains("300000 bytes"), "{says}");
    let summary: Value = serde_json::from_str(text(&output.stderr).lines().last().unwrap()).unwrap();
    assert_eq!((&summary["end"], &summary["error"]), (&true.into(), &Value::Null), "{summary}");
    assert_eq!((&summary["forward"]["from"], &summary["forward"]["to"]), (&"server".into(), &"shell".into()));
    for direction in ["forward", "reverse"] {
        assert!(summary[direction]["hit"].as_u64().unwrap() > 0, "{summary}");
        assert_eq!(summary[direction]["uncut"], 0, "{summary}");
    }
}

#[test]
fn echo_discard_and_perf_answer_over_both_tcps() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for carrier in --kernel '--udp 0.0.0.0:0 10.77.0.1:4433'; do \
                    echo hello | $HEADWAY nc 10.77.0.1 7 $carrier; \
                    echo hello | $HEADWAY nc 10.77.0.1 9 $carrier; \
                    $HEADWAY perf client 10.77.0.1 --time 200ms --json $carrier >>perf; \
                  done";
    let Some(output) = inside(folder.path(), &[&LINK[..], &["-q"]].concat(), script) else { return };
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("hello\nhello\n".into(), String::new()));
    let perf = std::fs::read_to_string(folder.path().join("perf")).unwrap();
    let results: Vec<Value> =
        serde_json::Deserializer::from_str(&perf).into_iter().map(Result::unwrap).collect();
    assert_eq!(results.len(), 2);
    for result in results {
        assert!(result["end"]["sum_received"]["bytes"].as_u64().unwrap() > 0, "{result}");
    }
}

/// A round trip takes at least that of the link.
#[test]
fn the_delay_is_that_of_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let script = "curl -so /dev/null -w '%{time_connect}\n' http://10.77.0.1/1; \
                  if command -v ping >/dev/null; then ping -c 1 -W 20 10.77.0.1; fi";
    let options = ["--delay", "60ms", "--damage", "none", "-q"];
    let Some(output) = inside(folder.path(), &options, script) else { return };
    let printed = text(&output.stdout);
    let connected: f64 = printed.lines().next().unwrap().parse().unwrap();
    assert!(connected >= 0.12, "{printed}");
    match printed.split_once("time=") {
        Some((_, rest)) => {
            let millis: f64 = rest.split_whitespace().next().unwrap().parse().unwrap();
            assert!(millis >= 120.0, "{printed}");
        }
        None => say_skipped("ping", ""),
    }
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    for (words, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-program"], 127),
        (&["/etc/passwd"], 126),
    ] {
        let Some(mut command) = shell(&[&["-q", "--"], words].concat()) else { return };
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
        let lines = text(&output.stderr).lines().count();
        assert_eq!(lines, usize::from(code == 126 || code == 127), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn an_unknown_congestion_control_is_named() {
    let Some(mut command) = shell(&["--kernel-cc", "foo", "--", "true"]) else { return };
    let output = command.output().unwrap();
    let says = text(&output.stderr);
    assert_eq!((output.status.code(), says.lines().count()), (Some(2), 1), "{says}");
    assert!(says.contains("--kernel-cc foo: ") && says.contains("reno"), "{says}");
}

/// The processes whose words contain `marker`.
fn processes(marker: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(marker)
    })
    .collect()
}

/// A running shell whose command has left its session, and waits.
struct Waiting {
    child: Child,
    marker: String,
    namespace: std::path::PathBuf,
}

impl Waiting {
    /// `number` makes its marker unique.
    fn start(number: u32) -> Option<Self> {
        let marker = format!("{}{number:03}", 1_000_000 + std::process::id());
        let script = format!("setsid -f sleep {marker}; sleep {marker}");
        let mut command = shell(&["-q", "--", "sh", "-c", &script])?;
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The two programs alone, and not the shells that have the marker too.
        let sleeping = || processes(&format!("sleep\0{marker}"));
        wait_until("both programs run", || sleeping().len() == 2);
        let namespace = std::fs::read_link(format!("/proc/{}/ns/net", sleeping()[0])).unwrap();
        assert_ne!(namespace, std::fs::read_link("/proc/self/ns/net").unwrap());
        Some(Self { child, marker, namespace })
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Neither processes nor the namespace are left.
    fn is_gone(&self) -> bool {
        let in_namespace = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read_link(entry.path().join("ns/net")).is_ok_and(|found| found == self.namespace)
        });
        processes(&self.marker).is_empty() && !in_namespace
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for id in processes(&self.marker) {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
    }
}

#[test]
fn nothing_is_left_after_a_signal() {
    for (number, (signal, code)) in
        [("-KILL", None), ("-TERM", Some(143)), ("-HUP", Some(129)), ("-INT", Some(130))]
            .into_iter()
            .enumerate()
    {
        let Some(mut waiting) = Waiting::start(number as u32) else { return };
        waiting.signal(signal);
        assert_eq!(waiting.child.wait().unwrap().code(), code, "{signal}");
        wait_until("nothing is left", || waiting.is_gone());
    }
    let interfaces = headway_net::Interface::all().unwrap();
    assert!(!interfaces.iter().any(|one| ["hw0", "server", "shell"].contains(&&*one.name)), "{interfaces:?}");
}

/// The supervisor ends what the command leaves; if it is killed itself, the command that started it does.
#[test]
fn nothing_is_left_after_the_end_of_the_command_or_of_its_supervisor() {
    for (number, whom) in ["sleep", "supervise"].into_iter().enumerate() {
        let Some(mut waiting) = Waiting::start(10 + number as u32) else { return };
        let marker = waiting.marker.clone();
        let of = |id: &u32| {
            let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let session = Command::new("ps").args(["-o", "sid=", &id.to_string()]).output().unwrap().stdout;
            // The program that has not left the session.
            let foreign = text(&session).trim() == id.to_string();
            if whom == "sleep" {
                words.starts_with("sleep ") && !foreign
            } else {
                words.contains(" supervise ")
            }
        };
        let id = processes(&marker).into_iter().find(of).expect("a process");
        assert!(Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap().success());
        assert_eq!(waiting.child.wait().unwrap().code(), Some(137), "{whom}");
        wait_until("nothing is left", || waiting.is_gone());
    }
}

/// As a user without privilege: what is needed is a user namespace.
#[test]
fn a_user_without_privilege_may_have_one() {
    let folder = tempfile::tempdir().unwrap();
    let words =
        ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"];
    let mut command = Command::new("setpriv");
    command.args(words).args([HEADWAY, "shell", "-q", "--delay", "5ms", "--damage", "none", "--"]);
    let script = "id -u; curl -sSf http://10.77.0.1/100KB | wc -c; \
                  $HEADWAY fetch http://10.77.0.1/100KB --output - 2>/dev/null | wc -c; \
                  $HEADWAY perf client 10.77.0.1 --time 100ms --packet hw0 --address 10.77.0.9/24 2>&1 | tail -n 1; \
                  grep -c . /proc/net/packet";
    command.args(["sh", "-c", script]).current_dir(folder.path()).env("HEADWAY", HEADWAY);
    let output = command.stdin(Stdio::null()).output();
    let Ok(output) = output else { return say_skipped("setpriv", "") };
    let says = text(&output.stderr);
    if says.contains("a network namespace") || says.contains("setpriv") {
        return say_skipped("namespaces", &says);
    }
    let lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    assert_eq!(lines[..3], ["65534", "100000", "100000"], "{lines:?} {says}");
    assert!(lines[3].starts_with("received ") || lines[3].contains("receiver"), "{lines:?}");
}

#[test]
fn a_system_that_forbids_it_is_named() {
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" shell -- true";
    let output = Command::new("unshare").args(["-Ur", "sh", "-c", script, HEADWAY]).output().unwrap();
    let says = text(&output.stderr);
    if output.status.code() == Some(0) || !says.starts_with("headway: ") {
        return say_skipped("user-namespaces", &says);
    }
    assert_eq!(output.status.code(), Some(1), "{says}");
    assert_eq!(says.lines().count(), 1, "{says}");
    assert!(says.contains("expected root, or the kernel setting user.max_user_namespaces above 0"), "{says}");
}

/// Types at a terminal, and prints what it sees; `until` fails after a minute.
const TYPIST: &str = r#"
import os, pty, select, sys, time
def start(*words):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(SHELL='/bin/bash', HOME='/nonexistent', PS1='% ')
        os.execv(sys.argv[1], [sys.argv[1], 'shell', '--rate', '50mbit', '--delay', '5ms', '--damage', 'none', *words])
    return pid, fd
seen = b''
def until(fd, text):
    global seen
    end = time.time() + 60
    while text not in seen:
        if not select.select([fd], [], [], max(0, end - time.time()))[0]:
            sys.exit('no %r in %r' % (text, seen))
        seen += os.read(fd, 4096)
    seen = seen.split(text, 1)[1]
def code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def type(fd, text):
    os.write(fd, text)
"#;

fn at_a_terminal(script: &str) {
    if shell(&[]).is_none() {
        return;
    }
    let output =
        Command::new("python3").args(["-c", &format!("{TYPIST}{script}"), HEADWAY]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn jobs_of_an_interactive_shell_are_controlled() {
    at_a_terminal(
        r#"
pid, fd = start()
until(fd, b'10.77.0.1/1MB')
until(fd, b'[headway 50mbit 5ms] ')
type(fd, b'echo =$HEADWAY_SERVER=\n'); until(fd, b'=10.77.0.1=')
type(fd, b"sh -c 'echo be''gun; exec sleep 1000'\n"); until(fd, b'begun')
job = os.tcgetpgrp(fd)
type(fd, b'\x1a'); until(fd, b'Stopped')
type(fd, b'jobs\n'); until(fd, b'Stopped')
type(fd, b'fg\n')
while os.tcgetpgrp(fd) != job: time.sleep(0.01)
type(fd, b'\x03'); until(fd, b'[headway'); type(fd, b'echo co""de $?\n'); until(fd, b'code 130')
type(fd, b'exit 7\n'); until(fd, b'from the server: ')
assert code(pid) == 7
"#,
    );
}

#[test]
fn keys_and_the_end_of_the_terminal_end_a_command() {
    at_a_terminal(
        r#"
words = ['-q', '--', 'sh', '-c', 'echo be""gun; exec sleep 1000']
pid, fd = start(*words)
until(fd, b'begun')
type(fd, b'\x03')
assert code(pid) == 130
pid, fd = start(*words)
until(fd, b'begun')
os.close(fd)
assert code(pid) == 129
"#,
    );
}

/// A killed shell does not keep the terminal from the script that started it.
#[test]
fn the_terminal_comes_back_from_a_shell_that_was_killed() {
    at_a_terminal(
        r#"
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(SHELL='/bin/bash', HOME='/nonexistent', PS1='% ')
    os.execvp('sh', ['sh', '-c', '"$0" shell -q; echo left; read line; echo "got $line"', sys.argv[1]])
until(fd, b'[headway ')
type(fd, b'kill -KILL $$\n'); until(fd, b'left')
type(fd, b'something\n'); until(fd, b'got something')
assert code(pid) == 0
"#,
    );
}

/// The box lives as long as the command.
#[test]
fn packets_are_captured_until_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let script = "curl -sSf -o /dev/null http://10.77.0.1/50KB";
    let options = ["-q", "--damage", "none", "--delay", "5ms", "--pcap", "box.pcapng"];
    if inside(folder.path(), &options, script).is_none() {
        return;
    }
    let mut trace = Command::new(HEADWAY);
    trace.args(["trace", "--json", "box.pcapng"]).current_dir(folder.path());
    let report: Value = serde_json::from_slice(&succeed(trace).stdout).unwrap();
    assert!(report.to_string().contains("10.77.0.1"), "{report}");
}

/// The packets of each end are in a file of their own; both files together are one capture.
#[test]
fn each_end_has_a_capture_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = [&LINK[..], &["-q", "--pcap", "link.pcapng", "--pcap-split"]].concat();
    let script = "curl -sSf http://10.77.0.1/100KB -o /dev/null";
    let Some(_) = inside(folder.path(), &options, script) else { return };
    let mut files: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.iter().all(|name| name.starts_with("link-") && name.ends_with(".pcapng")), "{files:?}");
    let analysed = |files: &[String]| {
        let mut command = Command::new(HEADWAY);
        command.args(["trace", "--json"]).args(files).current_dir(folder.path());
        serde_json::from_slice::<Value>(&succeed(command).stdout).unwrap()
    };
    let interfaces = |analysis: &Value| analysis["interfaces"].as_array().unwrap().len();
    let packets = |analysis: &Value| analysis["packets"].as_u64().unwrap();
    let (both, each) = (analysed(&files), [&files[..1], &files[1..]].map(analysed));
    assert_eq!((interfaces(&both), each.each_ref().map(interfaces)), (2, [1, 1]));
    assert_eq!(packets(&both), each.iter().map(packets).sum::<u64>());
    assert!(each.iter().all(|end| !end["connections"].as_array().unwrap().is_empty()));
}
