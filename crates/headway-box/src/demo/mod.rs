//! `headway demo`: the kernel's TCP and headway's on equal links, in real time, side by side.
//!
//! Each sender has a `headway shell` of its own with the same link, and in it a `headway perf client` whose server sends: what this
//! module adds is what is seen of them.

mod child;
mod screen;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::Args;
use headway_command::{Failure, OutputError, output};
use serde_json::json;

use child::{Child, Event};
use screen::Screen;

const EXAMPLES: &str = "\
Examples:
  headway demo
      15 seconds over 10 Mbit/s and an RTT of 100 ms, where bursts damage one packet in five.
  headway demo --damage random:2% --delay 300ms
      A satellite.
  headway demo --damage none --loss 0%
      Nothing is damaged: no one has to be ahead.

Each sender has a link of its own, of the same kind and with the same seed. The options of the link are those of `headway shell`, \
which has more. What is compared is goodput; `headway fetch` and `headway race` compare each byte, too.";

/// Seconds between two reports of a sender.
const INTERVAL: f64 = 0.2;
/// How long it takes until all send, at most.
const GRACE: Duration = Duration::from_secs(2);

/// See the kernel's TCP and headway's side by side on a lossy link, in real time.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = "10mbit", help_heading = "Link")]
    rate: String,
    /// One-way delay
    #[arg(long, value_name = "TIME", default_value = "50ms", help_heading = "Link")]
    delay: String,
    /// What damages packets on the way to the receiver
    #[arg(long, value_name = "MODEL", default_value = "burst:5%:5", help_heading = "Link")]
    damage: String,
    /// Share of damaged packets with a flipped bit in a header; `place`: wherever it falls
    #[arg(long, value_name = "SHARE", default_value = "10%", help_heading = "Link")]
    header_hit: String,
    /// Share of packets that the link loses
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    loss: String,
    /// Limit of the queue
    #[arg(long, value_name = "LIMIT", default_value = "1bdp", help_heading = "Link")]
    queue: String,
    /// How long they send, seconds
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error("{0}")]
    Start(std::io::Error),
    /// What a program said that ended early.
    #[error("{said}")]
    Ended { said: String, is_usage: bool },
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Failure for DemoError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Ended { is_usage: true, .. })
    }
}

/// What one sender has brought.
struct Sender {
    /// For people, and for machines.
    names: (&'static str, &'static str),
    /// The kernel's congestion control; `None`: headway's TCP.
    kernel: Option<&'static str>,
    bytes: u64,
    /// When the last of them came, seconds from the first SYN.
    at: f64,
}

impl Sender {
    fn new(names: (&'static str, &'static str), kernel: Option<&'static str>) -> Self {
        Self { names, kernel, bytes: 0, at: 0.0 }
    }

    /// Goodput, Mbit/s.
    fn mbit(&self, seconds: u32) -> f64 {
        self.bytes as f64 * 8e-6 / f64::from(seconds)
    }
}

/// Runs it.
#[expect(clippy::disallowed_methods, reason = "a live command reads the clock")]
pub(super) fn run(arguments: &Arguments) -> Result<(), DemoError> {
    let mut senders = vec![Sender::new(("kernel's CUBIC", "linux:cubic"), Some("cubic"))];
    if has_bbr() {
        senders.push(Sender::new(("kernel's BBR", "linux:bbr"), Some("bbr")));
    }
    senders.push(Sender::new(("headway", "headway"), None));

    let program = std::env::current_exe().map_err(DemoError::Start)?.into_os_string();
    let (told, events) = mpsc::channel();
    let mut children = Vec::new();
    for (place, sender) in senders.iter().enumerate() {
        let words = arguments.words(sender.kernel, &program);
        children.push(Child::start(&program, &words, (place, told.clone())).map_err(DemoError::Start)?);
    }
    drop(told);

    let mut screen = Screen::new(&senders, arguments);
    let mut left = senders.len();
    // Not all come to their end in time: over a link that damages packets a connection of CUBIC may need minutes to say good-bye.
    let end = Instant::now() + Duration::from_secs(arguments.seconds.into()) + GRACE;
    while left > 0 && Instant::now() < end {
        match events.recv_timeout(Duration::from_millis(100)) {
            Ok((place, Event::Received { bytes, at })) => {
                let sender = &mut senders[place];
                // An interval ends a little after the time that it is for.
                if at <= f64::from(arguments.seconds) + INTERVAL / 2.0 {
                    (sender.bytes, sender.at) = (sender.bytes + bytes, at);
                }
            }
            Ok((place, Event::Ended)) => {
                children[place].check()?;
                left -= 1;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        screen.show(&senders);
    }
    screen.clear();
    let text = if arguments.json { arguments.object(&senders) } else { arguments.conclusion(&senders) };
    Ok(output::print(&text)?)
}

impl Arguments {
    /// The words of `program`, which is this one, for one sender.
    fn words(&self, kernel: Option<&str>, program: &OsStr) -> Vec<OsString> {
        let mut words: Vec<&str> = vec!["shell", "--quiet"];
        words.extend(["--rate", &self.rate, "--delay", &self.delay, "--queue", &self.queue]);
        words.extend(["--damage", &self.damage, "--header-hit", &self.header_hit, "--loss", &self.loss]);
        words.extend(kernel.into_iter().flat_map(|congestion| ["--kernel-cc", congestion]));
        let (seconds, interval) = (self.seconds.to_string(), INTERVAL.to_string());
        words.push("--");
        let mut inner = vec!["perf", "client", "10.77.0.1", "--reverse", "--json-stream"];
        inner.extend(["--interval", &interval, "--time", &seconds]);
        inner.extend(kernel.map(|_| "--kernel"));
        let words = words.into_iter().map(OsStr::new).chain([program]);
        words.chain(inner.into_iter().map(OsStr::new)).map(OsStr::to_owned).collect()
    }

    /// The link, for people.
    fn link(&self) -> String {
        let Self { rate, delay, damage, header_hit, loss, queue, .. } = self;
        format!(
            "{rate}, one-way delay {delay}, queue {queue}, damage {damage} ({header_hit} of it in headers), {loss} lost"
        )
    }

    fn object(&self, senders: &[Sender]) -> String {
        let senders: Vec<_> = senders
            .iter()
            .map(|sender| {
                json!({
                    "sender": sender.names.1,
                    "bytes": sender.bytes,
                    "bits_per_second": (sender.mbit(self.seconds) * 1e6).round(),
                })
            })
            .collect();
        let Self { rate, delay, damage, header_hit, loss, queue, seconds, .. } = self;
        let link = json!({
            "rate": rate, "delay": delay, "damage": damage, "header-hit": header_hit, "loss": loss, "queue": queue,
        });
        format!("{}\n", json!({ "seconds": seconds, "link": link, "senders": senders }))
    }

    /// What came of it, in a sentence.
    fn conclusion(&self, senders: &[Sender]) -> String {
        let Some((ours, others)) = senders.split_last() else { return String::new() };
        let of_other = |other: &Sender| {
            let name = format!("the {}", other.names.0);
            match ours.bytes as f64 / other.bytes as f64 {
                ratio if ratio.is_finite() => format!("{} what {name} has", times(ratio)),
                _ => format!("where {name} has nothing"),
            }
        };
        let others: Vec<_> = others.iter().map(of_other).collect();
        format!(
            "In {} s headway has {:.2} Mbit/s: {}.\n",
            self.seconds,
            ours.mbit(self.seconds),
            others.join(", and ")
        )
    }
}

/// A ratio as it is said: three digits where there is little of it.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2} times") } else { format!("{ratio:.0} times") }
}

/// Whether the kernel can be asked for BBR.
fn has_bbr() -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.is_ok_and(|names| names.split_whitespace().any(|name| name == "bbr"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_the_digits_that_it_deserves() {
        assert_eq!([0.994, 1.3, 57.4].map(times), ["0.99 times", "1.30 times", "57 times"]);
    }
}
