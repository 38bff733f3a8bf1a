//! A command with `--watch`, and what it serves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use crate::process::say_skipped;

/// A running command whose page is served. It is killed with this.
pub struct LivePage {
    child: Option<Child>,
    address: SocketAddr,
    /// The lines of standard error so far.
    notes: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

/// What was answered: the first line, the headers, the content.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The lines of the header, in lower case.
    pub headers: Vec<String>,
    /// What follows it, without the framing of chunks.
    pub content: String,
}

impl LivePage {
    /// Starts the command and waits for its page; `None`, and a word of it, where the libraries cannot be had.
    ///
    /// # Panics
    ///
    /// The command does not start, or ends before it has a page.
    pub fn start(mut command: Command) -> Option<Self> {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut before = Vec::new();
        let address = loop {
            let Some(Ok(line)) = lines.next() else {
                let said = before.join("\n");
                child.wait().expect("its end");
                assert!(said.contains("npm"), "no page: {said}");
                say_skipped("npm", &said);
                return None;
            };
            if let Some(url) = line.strip_prefix("headway: watch at http://") {
                break url.trim_end_matches('/').parse().expect("an address");
            }
            before.push(line);
        };
        let notes = Arc::new(Mutex::new(before));
        let kept = notes.clone();
        let reader = spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("a list").push(line);
            }
        });
        Some(Self { child: Some(child), address, notes, reader: Some(reader) })
    }

    /// Where its page is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a line of standard error has `part`.
    pub fn has_said(&self, part: &str) -> bool {
        self.notes.lock().expect("a list").iter().any(|line| line.contains(part))
    }

    /// A connection to the page's server.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        stream
    }

    /// Asks with these lines of a header, and reads until the server closes.
    pub fn ask(&self, request: &str, headers: &[&str]) -> Answer {
        let mut stream = self.connect();
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let text = format!("{request} HTTP/1.1\r\n{lines}\r\n");
        stream.write_all(text.as_bytes()).expect("it is read");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        let answer = String::from_utf8(bytes).expect("UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a header");
        let mut head = head.lines();
        let status = head.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers: Vec<String> = head.map(str::to_lowercase).collect();
        let is_chunked = headers.iter().any(|line| line == "transfer-encoding: chunked");
        let content = if is_chunked { without_chunks(body) } else { body.to_owned() };
        Answer { status: status.expect("a status"), headers, content }
    }

    /// The same, for this path, as a browser asks.
    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[&format!("Host: {}", self.address)])
    }

    /// Interrupts the command.
    pub fn interrupt(&self) {
        let number = self.child.as_ref().expect("it runs").id().to_string();
        let signal = Command::new("kill").args(["-INT", &number]).status();
        assert!(signal.expect("kill starts").success());
    }

    /// Interrupts the command, and waits for its end. Standard error is in the output, too.
    pub fn stop(mut self) -> Output {
        self.interrupt();
        let child = self.child.take().expect("it runs");
        let mut output = child.wait_with_output().expect("its end");
        self.reader.take().expect("a reader").join().expect("a reader");
        output.stderr = self.notes.lock().expect("a list").join("\n").into_bytes();
        output
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// RFC 9112, 7.1.
fn without_chunks(mut rest: &str) -> String {
    let mut content = String::new();
    while let Some((length, behind)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        content.push_str(&behind[..length]);
        rest = behind[length..].strip_prefix("\r\n").expect("the end of a chunk");
        if length == 0 {
            break;
        }
    }
    content
}
