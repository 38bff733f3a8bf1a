//! A headless Chromium that is told what to do over the pipe of the DevTools protocol: JSON, each message ended by
//! a zero byte.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use headway_test_fixture::namespace::Namespace;
use headway_test_fixture::process::say_skipped;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Its width in CSS pixels.
    pub(crate) width: u32,
    /// Whether its user prefers dark pages.
    pub(crate) is_dark: bool,
}

/// The screens on which pages are looked at: each width once and each scheme once, since what is wrong with a width is
/// so in both schemes.
pub(crate) const SCREENS: [Screen; 2] =
    [Screen { width: 1400, is_dark: false }, Screen { width: 400, is_dark: true }];

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    events: VecDeque<Value>,
    last_id: u64,
    session: Option<String>,
    /// Removed with the browser.
    _profile: TempDir,
}

/// Longer than any page needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How high the window is. Pages are longer.
const HEIGHT: u32 = 900;

impl Browser {
    /// Starts it; `None`, and a word of it, where it is not installed. `at_start` is run in every page before the
    /// page's own scripts.
    pub(crate) fn start(at_start: &str) -> Option<Self> {
        Self::start_by(&[], at_start)
    }

    /// The same in a network namespace.
    pub(crate) fn start_in(namespace: &Namespace, at_start: &str) -> Option<Self> {
        Self::start_by(&["ip", "netns", "exec", namespace.name()], at_start)
    }

    /// `by`: the command that starts it.
    fn start_by(by: &[&str], at_start: &str) -> Option<Self> {
        let Some(program) = installed() else {
            say_skipped("chromium", "");
            return None;
        };
        let profile = tempfile::tempdir().expect("a directory");
        // The browser reads requests from descriptor 3, and answers on 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"])
            .args(by)
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let requests = child.stdin.take().expect("a pipe");
        let answers = answers(child.stdout.take().expect("a pipe"));
        let events = VecDeque::new();
        let mut browser =
            Self { child, requests, answers, events, last_id: 0, session: None, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": at_start }));
        Some(browser)
    }

    /// Opens a file on a screen, and waits until it is there; where it draws later, until its promise `ready` is kept.
    pub(crate) fn open(&mut self, path: &Path, screen: Screen) {
        self.visit(&format!("file://{}", path.display()), screen);
    }

    /// The same with an address.
    pub(crate) fn visit(&mut self, url: &str, screen: Screen) {
        let size =
            json!({ "width": screen.width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if screen.is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
        // Where only the fragment is another, the page would not be loaded anew.
        for url in ["about:blank", url] {
            self.load(url);
        }
        self.evaluate("window.ready");
    }

    fn load(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(is_loaded) {
            let event = self.answers.recv_timeout(PATIENCE).expect("the page is loaded");
            self.events.push_back(event);
        }
    }

    /// What an expression gives in the page; of a promise, what it promises.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let words = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", words);
        assert!(answer.get("exceptionDetails").is_none(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// What the page complained of since it was opened: errors of its scripts and of the browser.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // Whatever was sent before this answer has arrived with it.
        self.call("Runtime.evaluate", json!({ "expression": "0" }));
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                    Some(parameters["args"].to_string())
                }
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                    Some(parameters["entry"]["text"].to_string())
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// The page as a picture (PNG, base64), from the top down to `height`; all of it without one.
    pub(crate) fn picture(&mut self, height: Option<u32>) -> String {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let height = height.map_or(size["height"].clone(), Value::from);
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1 });
        let words = json!({ "captureBeyondViewport": true, "clip": clip });
        self.call("Page.captureScreenshot", words)["data"].as_str().expect("a picture").to_owned()
    }

    /// Calls a method of the protocol, and waits for its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer =
                self.answers.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.last_id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to close.
        let _ = self.requests.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        while self.answers.recv_timeout(Duration::from_secs(10)).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The messages of the browser, until it ends.
fn answers(pipe: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for message in BufReader::new(pipe).split(0) {
            let parsed = message.ok().and_then(|message| serde_json::from_slice(&message).ok());
            let Some(parsed) = parsed else { return };
            if sender.send(parsed).is_err() {
                return;
            }
        }
    });
    receiver
}

fn installed() -> Option<PathBuf> {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    let folders = std::env::var_os("PATH")?;
    let paths: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    NAMES.iter().flat_map(|name| paths.iter().map(move |path| path.join(name))).find(|path| path.is_file())
}
