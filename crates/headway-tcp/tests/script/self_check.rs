//! Scripts that must fail: whether the runner notices.

use libtest_mimic::Trial;

const START: &str = "+0 open 0.1 win 65535 <mss 1000>\n";

/// What a script says after the connection is open, and a part of the message that it must give.
const WRONG: [(&str, &str, &str); 14] = [
    ("unexpected-packet", "write 1000\nexpect no packet", "unexpected packet at 0.100000: P. 1:1001(1000)"),
    ("unexpected-at-the-end", "write 1000", "unexpected packet at 0.100000"),
    ("nothing-sent", "> P. 1:1001(1000) ack 1", "but nothing was sent"),
    ("sent-too-early", "write 1000\n+0.05 > P. 1:1001(1000) ack 1", "50ms before"),
    ("flags", "write 1000\n> . 1:1001(1000) ack 1", "the flags differ"),
    ("sequence-number", "write 1000\n> P. 2:1002(1000) ack 1", "the sequence number differs"),
    ("length", "write 1000\n> P. 1:1002(1001) ack 1", "the length differs"),
    ("options", "write 1000\n> P. 1:1001(1000) ack 1 <sack 1:2>", "the SACK blocks differ"),
    ("state", "expect state CLOSED", "expected state CLOSED, found ESTABLISHED"),
    ("number", "expect mss 999", "expected mss 999, found 1000"),
    ("time", "expect rto 1s", "expected rto 1s, found 300ms"),
    ("told", "expect told closed", "was not told"),
    ("too-few-bytes", "< . 1:101(100) ack 1\nread 200", "expected to read 200 bytes, got 100"),
    ("syntax", "expect moon 3", "unknown expectation \"moon\""),
];

/// A test for each of them.
pub(crate) fn trials() -> Vec<Trial> {
    WRONG.into_iter().map(|(name, text, message)| trial(name, text, message)).collect()
}

fn trial(name: &str, text: &'static str, message: &'static str) -> Trial {
    Trial::test(format!("runner/{name}"), move || match super::run(&format!("{START}{text}\n")) {
        Ok(()) => Err("the script passed".into()),
        Err(failure) => {
            let report = failure.at("script");
            if report.contains(message) { Ok(()) } else { Err(report.into()) }
        }
    })
}
