//! The HTTP of `headway serve`, asked over the kernel's TCP on the loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::{free_addresses, wait_until};

use crate::namespace::HEADWAY;

/// A server that runs, and what it says.
struct Server {
    child: Child,
    says: BufReader<ChildStderr>,
    /// `HOST:PORT`.
    at: String,
}

impl Server {
    fn start(folder: &Path, extra: &[&str]) -> Self {
        let words = ["serve", folder.to_str().unwrap(), "--kernel", "--listen", "127.0.0.1:0"];
        Self::of(Command::new(HEADWAY).args(words).args(extra).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// One that was started so that it can be read what it says.
    fn of(mut child: Child) -> Self {
        let mut says = BufReader::new(child.stderr.take().unwrap());
        let line = line(&mut says);
        let at = line.trim().rsplit_once(" at http://").expect(&line).1.trim_end_matches('/').to_owned();
        Self { child, says, at }
    }

    /// The answer, in whole.
    fn ask(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let (first, rest) = request.split_once('\n').unwrap_or((request, ""));
        let rest: String = rest.lines().map(|line| format!("{line}\r\n")).collect();
        let head = format!("{first} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{rest}\r\n", self.at);
        stream.write_all(head.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Answer { head: head.to_owned(), body: body.to_owned() }
    }

    /// The next line that it says.
    fn line(&mut self) -> String {
        line(&mut self.says)
    }

    /// The same, if it comes within a minute; the server is ended otherwise.
    fn line_in_time(&mut self) -> String {
        let (said, is_said) = std::sync::mpsc::channel::<()>();
        let (says, child) = (&mut self.says, &mut self.child);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if is_said.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                    let _ = child.kill();
                }
            });
            let line = line(says);
            drop(said);
            line
        })
    }
}

fn line(says: &mut BufReader<ChildStderr>) -> String {
    let mut line = String::new();
    says.read_line(&mut line).unwrap();
    line
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    #[track_caller]
    fn header(&self, name: &str) -> &str {
        let found = self.head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name);
        found.unwrap_or_else(|| panic!("{name}: {}", self.head)).1
    }
}

#[test]
fn a_method_that_is_not_supported_names_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for request in ["DELETE /", "POST /", "PUT /file\nContent-Length: 0"] {
        let answer = server.ask(request);
        assert_eq!((answer.status(), answer.header("allow")), ("405", "GET, HEAD"), "{request}");
    }
    let server = Server::start(folder.path(), &["--write"]);
    assert_eq!(server.ask("DELETE /").header("allow"), "GET, HEAD, PUT");
}

#[test]
fn a_resume_after_a_change_gets_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.txt");
    std::fs::write(&path, "0123456789").unwrap();
    let server = Server::start(folder.path(), &[]);
    let whole = server.ask("GET /file.txt");
    assert_eq!((whole.status(), &*whole.body), ("200", "0123456789"));
    assert_eq!((whole.header("content-type"), whole.header("accept-ranges")), ("text/plain", "bytes"));
    let (tag, date) = (whole.header("etag"), whole.header("last-modified"));
    for same in [format!("If-None-Match: {tag}"), format!("If-Modified-Since: {date}")] {
        let answer = server.ask(&format!("GET /file.txt\n{same}"));
        assert_eq!((answer.status(), &*answer.body), ("304", ""), "{same}");
    }
    let other = "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT";
    for other in ["If-Match: \"other\"", other] {
        assert_eq!(server.ask(&format!("GET /file.txt\n{other}")).status(), "412", "{other}");
    }
    let resume = format!("GET /file.txt\nRange: bytes=4-\nIf-Range: {tag}");
    let rest = server.ask(&resume);
    assert_eq!((rest.status(), &*rest.body), ("206", "456789"));
    assert_eq!(rest.header("content-range"), "bytes 4-9/10");
    std::fs::write(&path, "abcdefghijkl").unwrap();
    let changed = server.ask(&resume);
    assert_eq!((changed.status(), &*changed.body), ("200", "abcdefghijkl"));
    assert_ne!(changed.header("etag"), tag);
    let head = server.ask("HEAD /file.txt");
    assert_eq!((head.header("content-length"), &*head.body), ("12", ""));
}

#[test]
fn a_folder_is_listed_with_sizes_and_dates() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("sub/deep")).unwrap();
    std::fs::write(folder.path().join("sub/a <b>"), "0123456789").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("sub/outside")).unwrap();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.ask("GET /sub").header("location"), "/sub/");
    assert_eq!(server.ask("GET //sub").header("location"), "/sub/", "not a host");
    let page = server.ask("GET /sub/").body;
    for wanted in ["href=\"./a%20%3Cb%3E\"", "a &lt;b&gt;", "10 bytes", " GMT", "href=\"../\"", "./deep/"] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    assert!(!page.contains("outside"), "{page}");
    assert_eq!(server.ask("GET /sub/outside").status(), "403");
    assert_eq!(server.ask("GET /sub/a%20%3Cb%3E").body, "0123456789");
    assert_eq!(server.ask("GET /sub/a%20%3Cb%3E/").status(), "404", "a file is no folder");
    std::fs::write(folder.path().join("sub/index.html"), "<p>own page").unwrap();
    assert_eq!(server.ask("GET /sub/").body, "<p>own page");
}

#[test]
fn the_log_counts_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let size = 50_000_000;
    std::fs::write(folder.path().join("file"), Pattern(1).bytes(0, size)).unwrap();
    let mut server = Server::start(folder.path(), &[]);
    server.ask("HEAD /file");
    assert!(server.line().trim_end().ends_with(" HEAD /file 200 0"));
    server.ask("GET /none");
    assert!(server.line().trim_end().ends_with(" GET /none 404 13"));
    // A client that leaves after the first bytes.
    let mut stream = TcpStream::connect(&server.at).unwrap();
    stream.write_all(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    drop(stream);
    let line = server.line();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., "/file", "200", sent, "of", length] = words[..] else { panic!("{line}") };
    assert!((1000..size as u64 / 2).contains(&sent.parse().unwrap()), "{line}");
    assert_eq!(length, size.to_string());
}

/// U+009B is the control sequence introducer, U+0085 a new line, U+202E an override of the direction.
#[test]
fn paths_in_the_log_do_not_act_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    server.ask("GET /\u{9b}31m\u{85}\u{202e}");
    let line = server.line();
    assert!(line.ends_with(" GET /\\u009b31m\\u0085\\u202e 404 13\n"), "{line:?}");
    drop(server);

    let mut command = Command::new(HEADWAY);
    command.args(["serve", "--kernel", "--json", "--listen", "127.0.0.1:0"]).arg(folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let server = Server::of(child);
    server.ask("GET /\u{9b}31m");
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains(r#""path":"/\u009b31m""#), "{line:?}");
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["path"], "/\u{9b}31m");
}

/// A server of measurements says why it refuses.
#[test]
fn a_peers_reason_does_not_act_on_a_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        BufReader::new(&stream).read_line(&mut String::new()).unwrap();
        stream.write_all("{\"refused\":\"\\u001b]0;x\\u0007\\nheadway: \u{9b}2J\"}\n".as_bytes()).unwrap();
    });
    let words = ["perf", "client", "127.0.0.1", "--kernel", "--port", &port];
    let output = Command::new(HEADWAY).args(words).output().unwrap();
    server.join().unwrap();
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.ends_with("\\u001b]0;x\\u0007\\u000aheadway: \\u009b2J\n"), "{says:?}");
    assert_eq!(says.lines().count(), 1, "{says:?}");
}

/// Its first connections are served, one more is reset, and once they have ended there is room again.
#[test]
fn a_client_has_a_share_of_the_connections() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--max-connections-per-client", "2"]);
    let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let open: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.at).unwrap();
            stream.write_all(request).unwrap();
            assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
            stream
        })
        .collect();
    let mut third = TcpStream::connect(&server.at).unwrap();
    let reset = third.write_all(request).and_then(|()| third.read(&mut [0; 4096]));
    assert_eq!(reset.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    let lines: Vec<String> = (0..3).map(|_| server.line()).collect();
    let refused = "refused: 2 connections are open (--max-connections-per-client)";
    assert_eq!(lines.iter().filter(|line| line.contains(refused)).count(), 1, "{lines:?}");
    drop(open);
    wait_until("room", || {
        let mut stream = TcpStream::connect(&server.at).unwrap();
        stream.write_all(request).and_then(|()| stream.read(&mut [0; 4096])).is_ok_and(|read| read > 0)
    });
}

/// The log has the request once its connection has ended.
#[test]
fn a_client_that_does_not_read_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), Pattern(1).bytes(0, 50_000_000)).unwrap();
    let request = b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n";
    let stall = ["--stall-timeout", "1s"];

    let mut server = Server::start(folder.path(), &stall);
    let mut stream = TcpStream::connect(&server.at).unwrap();
    stream.write_all(request).unwrap();
    let line = server.line_in_time();
    assert!(line.contains(" GET /file 200 ") && line.contains(" of 50000000"), "{line}");
    drop(stream);

    let [at] = free_addresses().map(|address| address.to_string());
    let mut command = Command::new(HEADWAY);
    command.args(["serve", "--udp", &at, "any"]).arg(folder.path()).args(stall).stderr(Stdio::piped());
    let mut server = Server::of(command.spawn().unwrap());
    server.line();
    let words = ["nc", "--udp", "127.0.0.1:0", &at, "127.0.0.1", "80"];
    let mut command = Command::new(HEADWAY);
    // No one reads its standard output.
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = command.spawn().unwrap();
    client.stdin.as_mut().unwrap().write_all(request).unwrap();
    let line = server.line_in_time();
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(line.contains(" GET /file 200 ") && line.contains(" of 50000000"), "{line}");
}

#[test]
fn a_server_goes_on_after_it_had_no_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("ulimit -n 24; exec {HEADWAY} serve \"$0\" --kernel --listen 127.0.0.1:0");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(folder.path()).stderr(Stdio::piped());
    let mut server = Server::of(command.spawn().unwrap());
    let connections: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&server.at).unwrap()).collect();
    let line = server.line();
    assert!(line.contains("a connection cannot be accepted now error=Too many open files"), "{line}");
    drop(connections);
    wait_until("an answer", || server.ask("GET /").status() == "200");
}

#[test]
fn uploads_are_whole_and_have_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--write"]);
    // A header of the request and its body.
    let put = |header: &str, body: &str| {
        let mut stream = TcpStream::connect(&server.at).unwrap();
        let length = body.len();
        let head =
            format!("PUT /new HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}{header}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(put("If-Match: *", "none"), "412");
    assert_eq!(put("If-None-Match: *", "first"), "201");
    assert_eq!(put("If-None-Match: *", "second"), "412");
    assert_eq!(put("Content-Range: bytes 2-3/5", "xx"), "400", "a part does not replace the whole");
    assert_eq!(std::fs::read_to_string(folder.path().join("new")).unwrap(), "first");
    let tag = server.ask("HEAD /new").header("etag").to_owned();
    assert_eq!(put(&format!("If-Match: {tag}"), "the third"), "204");
    assert_eq!(put(&format!("If-Match: {tag}"), "the fourth"), "412");
    assert_eq!(std::fs::read_to_string(folder.path().join("new")).unwrap(), "the third");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn fetch_shows_progress_where_it_is_asked_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    // Both wait for the rest for the same time. A line is shown every two seconds.
    let server = std::thread::spawn(move || {
        let mut streams = [(); 2].map(|()| {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234").unwrap();
            stream
        });
        std::thread::sleep(Duration::from_millis(2200));
        streams.iter_mut().for_each(|stream| stream.write_all(b"56789").unwrap());
    });
    let clients = [("always", true), ("auto", false)].map(|(when, shown)| {
        let mut command = Command::new(HEADWAY);
        command.args(["fetch", &url, "--kernel", "--output", "-", "--progress", when]);
        (command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), shown)
    });
    for (client, shown) in clients {
        let output = client.wait_with_output().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"0123456789"[..]), "{says}");
        assert_eq!(says.contains("headway: 10 B of 10 B in 2 s\n"), shown, "{says}");
    }
    server.join().unwrap();
}

/// The first line of a short text is the server's reason; a page, bytes or a long text is none.
#[test]
fn fetch_says_what_the_server_says_of_a_refusal() {
    let long = "no ".repeat(400);
    for (body, reason) in [
        (&b"not yours\nask elsewhere\n"[..], ": not yours"),
        (b"  no such file  ", ": no such file"),
        (b"", ""),
        (b"<html><body>no</body></html>", ""),
        (b"\x1b[31mred", ""),
        (b"\xff\xfe", ""),
        (long.as_bytes(), ""),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file", listener.local_addr().unwrap());
        let answer = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n\r\n", body.len());
        let answer = [answer.as_bytes(), body].concat();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(&answer).unwrap();
        });
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(HEADWAY)
            .args(["fetch", &url, "--kernel"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        server.join().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!(says, format!("headway: {url}: the server answered 403 Forbidden{reason}\n"));
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{says}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");
    }
}
