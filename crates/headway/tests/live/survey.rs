//! `headway doctor --survey`: the report and the traces say what a modem's program did to the frames.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use headway_test_fixture::process::{free_addresses, wait_until};
use headway_test_fixture::tnc::{self, Tncs};

use crate::namespace::HEADWAY;
use crate::udp::{start, succeed};

/// What the modem's program puts before frames.
const HEADER: usize = 8;
/// The length of a survey's frame of 1500 bytes at most: there is no room for a second header.
const FRAME: usize = 1461;
/// Where a wrong bit of a frame is in its IP packet.
const IP: usize = 160;

/// Forwards frames between two Unix sockets, damages those of a survey by their numbers, and logs as lines of a trace what it did.
struct Program {
    stop: Arc<AtomicBool>,
    directions: Vec<JoinHandle<()>>,
    logs: [Arc<Mutex<Vec<String>>>; 2],
}

impl Program {
    /// From `near` to `b`, and from `far` to `a`, in `folder`.
    fn start(folder: &Path) -> Self {
        let [near, far] = ["near", "far"].map(|name| {
            let socket = UnixDatagram::bind(folder.join(name)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            socket
        });
        let stop = Arc::new(AtomicBool::new(false));
        let logs = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let ways = [(&near, &far, folder.join("b")), (&far, &near, folder.join("a"))];
        let directions = ways.into_iter().zip(&logs).map(|((input, output, to), log)| {
            let (input, output) = (input.try_clone().unwrap(), output.try_clone().unwrap());
            let (stop, log) = (stop.clone(), log.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(mut len) = input.recv(&mut buffer) else { continue };
                    if len == HEADER + FRAME {
                        let mut log = log.lock().unwrap();
                        let line = damage(log.len(), &mut buffer[HEADER..], &mut len);
                        log.push(line);
                    }
                    if len > 0 {
                        let _ = output.send_to(&buffer[..len], &to);
                    }
                }
            })
        });
        let directions = directions.collect();
        Self { stop, directions, logs }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.directions.drain(..).for_each(|direction| direction.join().unwrap());
    }
}

/// Does to a frame what is due to its number, and returns the line of a trace.
fn damage(number: usize, frame: &mut [u8], len: &mut usize) -> String {
    let mut flip = |bits: std::ops::Range<usize>| {
        bits.clone().for_each(|bit| frame[bit / 8] ^= 0x80 >> (bit % 8));
        let places: Vec<String> = bits.map(|bit| (bit + IP).to_string()).collect();
        format!("bits {}", places.join(" "))
    };
    match number {
        _ if number % 7 == 6 => {
            *len = 0;
            "lost".into()
        }
        _ if number % 10 == 9 => {
            *len = HEADER + 1000;
            format!("bits -{}..", 8000 + IP)
        }
        _ if number % 11 == 5 => flip(40..41),
        _ if number % 3 == 2 => flip(8000..8010),
        _ => "ok".into(),
    }
}

/// The lines of a trace, one for each frame.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let each = |line: &str| match line.split_once(' ') {
        Some((fate @ ("ok" | "lost"), count)) => vec![fate.to_owned(); count.parse().unwrap()],
        _ => vec![line.to_owned()],
    };
    text.lines().filter(|line| !line.starts_with('#')).flat_map(each).collect()
}

fn doctor_over_frames(folder: &Path, own: &str, modem: &str, addresses: [&str; 2], rest: &[&str]) -> Child {
    let socket = |name: &str| format!("unix:{}", folder.join(name).display());
    let (own, modem) = (socket(own), socket(modem));
    let frames =
        ["doctor", "--frames", &own, &modem, "--address", addresses[0], "--peer-address", addresses[1]];
    start(&[&frames[..], rest].concat())
}

fn stop(mut server: Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn what_a_program_does_to_frames_is_what_the_report_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path());
    let (near, far) = ("10.77.2.1", "10.77.2.2");
    let server = doctor_over_frames(folder.path(), "a", "near", [near, far], &["--listen", "7"]);
    let trace = folder.path().join("link.trace");
    let words = ["--connect", "10.77.2.1:7", "--survey", "--duration", "2s", "--json", "--trace"];
    let words = [&words[..], &[trace.to_str().unwrap()]].concat();
    let client = doctor_over_frames(folder.path(), "b", "far", [far, near], &words);
    let report: serde_json::Value =
        serde_json::from_slice(&succeed(client.wait_with_output().unwrap())).unwrap();
    stop(server);
    let [of_server, of_client] = program.logs.each_ref().map(|log| log.lock().unwrap().clone());
    let back = folder.path().join("link.trace.back");
    for (name, log, path) in [("there", of_client, &trace), ("back", of_server, &back)] {
        let summary = &report[name];
        let sent = summary["sent"].as_u64().unwrap() as usize;
        assert!(sent > 100, "{report:#}");
        // Behind the survey's frames the peer's report has such ones.
        assert!(log.len() == sent || name == "back" && log.len() > sent, "{name}: {} of {sent}", log.len());
        let traced = lines(path);
        assert_eq!(traced.len(), sent, "{name}");
        // Where the header is damaged, other bytes have a sum of 16 bits that is right once in 10,000 frames: then the carrier takes
        // them for the header.
        let differ: Vec<_> = traced.iter().zip(&log).filter(|(traced, done)| traced != done).collect();
        assert!(
            differ.len() <= 2
                && differ
                    .iter()
                    .all(|(traced, done)| traced.starts_with("bits ") && done.starts_with("bits ")),
            "{name}: {differ:?}"
        );
        let count = |what: &dyn Fn(&str) -> bool| traced.iter().filter(|line| what(line)).count();
        // A frame may be cut and have wrong bits before that, if its header was taken elsewhere.
        let words = || traced.iter().flat_map(|line| line.split(' '));
        let expected = serde_json::json!({
            "sent": sent,
            "lost": count(&|line| line == "lost"),
            "intact": count(&|line| line == "ok"),
            "damaged": count(&|line| line.starts_with("bits")),
            "cut": words().filter(|word| word.starts_with('-')).count(),
            "wrong_bits": words().filter(|word| word.parse::<usize>().is_ok()).count(),
        });
        assert!(!differ.is_empty() || summary["longest_burst"] == 10, "{name}: {report:#}");
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&summary[key], value, "{name}: {key}: {report:#}");
        }
        let words =
            ["race", "--damage", &format!("trace:{}", path.display()), "--size", "100kB", "--runs", "1"];
        succeed(Command::new(HEADWAY).args(words).output().unwrap());
    }
}

/// A third of the frames of these TNCs is hit, and one in forty each is lost, cut and split.
#[test]
fn a_tnc_is_surveyed() {
    let tncs = Tncs::start(tnc::damage);
    let [one, other] = tncs.places().map(|place| place.to_string());
    let end = |place: &str, [own, peer]: [u8; 2], rest: &[&str]| {
        let [address, peer_address] = [own, peer].map(|end| format!("10.77.2.{end}"));
        let [callsign, peer_callsign] = [own, peer].map(|end| format!("N0CALL-{end}"));
        let network = [
            ["--kiss", place],
            ["--callsign", &callsign],
            ["--peer-callsign", &peer_callsign],
            ["--address", &address],
            ["--peer-address", &peer_address],
            ["--turnaround", "2ms"],
        ];
        start(&[&["doctor"], network.as_flattened(), rest].concat())
    };
    let server = end(&one, [1, 2], &["--listen", "7"]);
    let words = ["--connect", "10.77.2.1:7", "--survey", "--duration", "3s", "--json"];
    let output = end(&other, [2, 1], &words).wait_with_output().unwrap();
    stop(server);
    let report: serde_json::Value = serde_json::from_slice(&succeed(output)).unwrap();
    for name in ["there", "back"] {
        let count = |key: &str| report[name][key].as_u64().unwrap();
        assert!(count("sent") > 100, "{report:#}");
        assert_eq!(count("sent"), count("lost") + count("damaged") + count("intact"), "{report:#}");
        let (damaged, intact) =
            (count("damaged") * 100 / count("sent"), count("intact") * 100 / count("sent"));
        assert!((20..60).contains(&damaged) && (40..75).contains(&intact), "{report:#}");
    }
}

fn survey_over_udp(server: &[&str], rest: &[&str]) -> Output {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let words: Vec<&str> = server.iter().map(|word| if *word == "LOCAL" { &*b } else { word }).collect();
    let mut server = start(&words);
    drop(server.stdin.take());
    let words = ["doctor", "--udp", &a, &b, "--connect", "127.0.0.1:7", "--survey", "--duration", "1s"];
    let output = start(&[&words[..], rest].concat()).wait_with_output().unwrap();
    stop(server);
    output
}

const LISTENS: [&str; 6] = ["doctor", "--udp", "LOCAL", "any", "--listen", "7"];

#[test]
fn a_clean_path_has_every_frame_intact() {
    let report: serde_json::Value =
        serde_json::from_slice(&succeed(survey_over_udp(&LISTENS, &["--json"]))).unwrap();
    for name in ["there", "back"] {
        let summary = &report[name];
        assert!(summary["sent"].as_u64().unwrap() > 100, "{report:#}");
        assert_eq!((&summary["sent"], &summary["damaged"]), (&summary["intact"], &0.into()), "{report:#}");
        assert_eq!(summary["share_of_intact_blocks"], 1.0, "{report:#}");
        assert!(report["advice"][name].as_str().unwrap().contains("every sender does"), "{report:#}");
    }
}

#[test]
fn a_peer_that_is_no_doctor_is_said() {
    let output = survey_over_udp(&["nc", "--udp", "LOCAL", "any", "--listen", "7"], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("127.0.0.1:7: it is no doctor that knows surveys"), "{said}");
}

/// SIGINT ends it before its time, with a report.
#[test]
fn what_is_known_is_reported_after_a_signal() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let server = start(&["doctor", "--udp", &b, "any", "--listen", "7"]);
    let words = ["doctor", "--udp", &a, &b, "--connect", "127.0.0.1:7", "--survey", "--duration", "1h"];
    let mut client = start(&words);
    // Its first words of progress.
    let mut said = std::io::BufReader::new(client.stderr.take().unwrap());
    wait_until("frames are sent", || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0 && line.contains("frames sent")
    });
    assert!(Command::new("kill").args(["-INT", &client.id().to_string()]).status().unwrap().success());
    let text = String::from_utf8(succeed(client.wait_with_output().unwrap())).unwrap();
    stop(server);
    assert!(text.starts_with("there: ") && text.contains("\nback: "), "{text}");
}
