//! Downloads that are interrupted and resumed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use headway_test_fixture::pattern::Pattern;

use crate::namespace::HEADWAY;

const WHOLE: &str = "0123456789";

/// A server that gives these answers, each to one connection, and the heads of the requests that it got.
fn server(answers: &'static [&'static str]) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let answer = |text: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let head: Vec<String> = BufReader::new(&stream)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .map(|line| line.to_lowercase())
                .collect();
            stream.write_all(text.replace('\n', "\r\n").as_bytes()).unwrap();
            head.join("\n")
        };
        answers.iter().map(answer).collect()
    });
    (port, serving)
}

fn fetch(folder: &Path, port: u16, options: &[&str]) -> Output {
    let url = format!("http://127.0.0.1:{port}/file");
    let words = ["fetch", &url, "--kernel", "--continue"];
    Command::new(HEADWAY).args(words).args(options).current_dir(folder).output().unwrap()
}

fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

#[track_caller]
fn assert_whole(folder: &Path, content: &str) {
    assert_eq!(read(folder, "file").as_deref(), Some(content));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing but the file is left");
}

/// The first four bytes, of a file with the tag "a".
const INTERRUPTED: &str = "HTTP/1.1 200 OK\nETag: \"a\"\nContent-Length: 10\n\n0123";

#[test]
fn the_rest_is_requested_and_joined() {
    const REST: &str =
        "HTTP/1.1 206 Partial Content\nETag: \"a\"\nContent-Range: bytes 4-9/10\nContent-Length: 6\n\n456789";
    let folder = tempfile::tempdir().unwrap();
    let (port, serving) = server(&[INTERRUPTED, REST]);
    let output = fetch(folder.path(), port, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", says(&output));
    assert_eq!(read(folder.path(), "file"), None);
    assert_eq!(read(folder.path(), "file.part").as_deref(), Some("0123"));
    let output = fetch(folder.path(), port, &["--json"]);
    assert!(output.status.success(), "{}", says(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["bytes"], &report["resumed"]), (&6.into(), &4.into()), "{report}");
    assert_whole(folder.path(), WHOLE);
    let requests = serving.join().unwrap();
    assert!(!requests[0].contains("range"), "{}", requests[0]);
    assert!(requests[1].contains("range: bytes=4-\n"), "{}", requests[1]);
    assert!(requests[1].contains("if-range: \"a\""), "{}", requests[1]);
}

/// Two files are never joined, whatever the server answers.
#[test]
fn a_file_that_changed_is_fetched_anew() {
    const CHANGED: &str = "HTTP/1.1 200 OK\nETag: \"b\"\nContent-Length: 5\n\nabcde";
    const GONE: &str = "HTTP/1.1 416 Range Not Satisfiable\nContent-Range: bytes */3\nContent-Length: 0\n\n";
    const WITHOUT_TAG: &str = "HTTP/1.1 200 OK\nContent-Length: 10\n\nabcd";
    const WEAK: &str = "HTTP/1.1 200 OK\nETag: W/\"a\"\nContent-Length: 10\n\nabcd";
    for answers in [
        &[INTERRUPTED, CHANGED][..],
        &[INTERRUPTED, GONE, CHANGED],
        // What cannot be told from another file is no part of it.
        &[WITHOUT_TAG, CHANGED],
        &[WEAK, CHANGED],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (port, serving) = server(answers);
        assert_eq!(fetch(folder.path(), port, &[]).status.code(), Some(1));
        let output = fetch(folder.path(), port, &[]);
        assert!(output.status.success(), "{}", says(&output));
        assert!(says(&output).contains("file.part: its 4 bytes are dropped"), "{}", says(&output));
        assert_whole(folder.path(), "abcde");
        let last = serving.join().unwrap().pop().unwrap();
        assert_eq!(last.contains("range:"), answers == [INTERRUPTED, CHANGED], "{last}");
    }
}

#[test]
fn answers_with_other_bytes_are_refused() {
    for answer in [
        "HTTP/1.1 206 Partial Content\nETag: \"a\"\nContent-Range: bytes 5-9/10\nContent-Length: 5\n\n56789",
        "HTTP/1.1 206 Partial Content\nETag: \"a\"\nContent-Range: bytes 4-8/10\nContent-Length: 5\n\n45678",
        "HTTP/1.1 206 Partial Content\nETag: \"b\"\nContent-Range: bytes 4-9/10\nContent-Length: 6\n\n456789",
        "HTTP/1.1 206 Partial Content\nETag: \"a\"\nContent-Length: 6\n\n456789",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let answers: &'static [&'static str] = Box::leak(Box::new([INTERRUPTED, answer]));
        let (port, serving) = server(answers);
        fetch(folder.path(), port, &[]);
        let output = fetch(folder.path(), port, &[]);
        assert_eq!(output.status.code(), Some(1), "{answer}");
        assert!(says(&output).contains("expected the bytes from 4 on"), "{}", says(&output));
        assert_eq!(read(folder.path(), "file"), None);
        assert_eq!(read(folder.path(), "file.part").as_deref(), Some("0123"), "what was there is kept");
        serving.join().unwrap();
    }
}

/// A note of another URL, or one that was changed, is no condition.
#[test]
fn parts_of_other_urls_are_not_joined() {
    const CHANGED: &str = "HTTP/1.1 200 OK\nContent-Length: 5\n\nabcde";
    for note in ["", "{}", "{\"url\":\"http://127.0.0.1:1/file\",\"etag\":\"\\\"a\\\"\"}", "{\"url\":1}"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file.part"), "0123").unwrap();
        std::fs::write(folder.path().join("file.part.json"), note).unwrap();
        let (port, serving) = server(&[CHANGED]);
        let output = fetch(folder.path(), port, &[]);
        assert!(output.status.success(), "{}", says(&output));
        assert_whole(folder.path(), "abcde");
        assert!(!serving.join().unwrap()[0].contains("range"), "{note}");
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// With our own server, which has the tags.
#[test]
fn what_serve_sends_can_be_resumed() {
    let served = tempfile::tempdir().unwrap();
    let bytes = Pattern(11).bytes(0, 300_000);
    std::fs::write(served.path().join("file"), &bytes).unwrap();
    let words = ["serve", served.path().to_str().unwrap(), "--kernel", "--listen", "127.0.0.1:0"];
    let mut server = Running(Command::new(HEADWAY).args(words).stderr(Stdio::piped()).spawn().unwrap());
    let mut says_there = BufReader::new(server.0.stderr.take().unwrap());
    let mut line = String::new();
    says_there.read_line(&mut line).unwrap();
    let at = line.trim().rsplit_once(" at http://").expect(&line).1.trim_end_matches('/');
    let port: u16 = at.rsplit_once(':').unwrap().1.parse().unwrap();
    let head = Command::new("curl").args(["-sI", &format!("http://{at}/file")]).output();
    let Ok(head) = head else { return crate::namespace::say_skipped("curl", "") };
    let head = String::from_utf8(head.stdout).unwrap();
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect(&head);
    let folder = tempfile::tempdir().unwrap();
    let note = serde_json::json!({ "url": format!("http://{at}/file"), "etag": tag });
    for (change, resumed) in [(false, 200_000), (true, 0)] {
        std::fs::write(folder.path().join("file.part"), &bytes[..200_000]).unwrap();
        std::fs::write(folder.path().join("file.part.json"), note.to_string()).unwrap();
        let mut expected = bytes.clone();
        if change {
            expected = Pattern(12).bytes(0, 250_000);
            std::fs::write(served.path().join("file"), &expected).unwrap();
        }
        let output = fetch(folder.path(), port, &["--json"]);
        assert!(output.status.success(), "{}", says(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&report["resumed"], &report["bytes"]),
            (&resumed.into(), &(expected.len() - resumed).into())
        );
        assert!(std::fs::read(folder.path().join("file")).unwrap() == expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn two_downloads_do_not_write_to_one_part() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/file");
    let words = ["fetch", &url, "--kernel", "--continue"];
    let first = Command::new(HEADWAY).args(words).current_dir(folder.path()).stderr(Stdio::null()).spawn();
    let _first = Running(first.unwrap());
    // Its part is open when its request comes.
    let _held = listener.accept().unwrap();
    let output = fetch(folder.path(), port, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(says(&output).contains("file.part: cannot be written: another download"), "{}", says(&output));
}
