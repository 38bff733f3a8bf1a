//! The numbers of the header.

use headway_embed::{ConnectionError, Notification, State, Verdict};

use crate::status::Code;

/// The version of the interface: it changes when a program has to be compiled anew.
pub const ABI_VERSION: u32 = 1;

/// Every constant of the header that is a number, with its value.
pub fn all() -> Vec<(String, u64)> {
    let mut all = vec![
        ("HEADWAY_ABI_VERSION".to_owned(), ABI_VERSION.into()),
        ("HEADWAY_NEVER".to_owned(), headway_embed::NEVER),
    ];
    let mut add = |prefix: &str, names: &[&str]| {
        all.extend(names.iter().zip(0..).map(|(name, number)| (format!("HEADWAY_{prefix}{name}"), number)));
    };
    add("", &Code::NAMES);
    add("STATE_", &STATES.map(|(name, _)| name));
    add("FAILURE_", &FAILURES);
    add("NOTIFICATION_", &NOTIFICATIONS);
    add("PACKET_", &VERDICTS.map(|(name, _)| name));
    all
}

const STATES: [(&str, State); 10] = [
    ("CLOSED", State::Closed),
    ("SYN_SENT", State::SynSent),
    ("SYN_RECEIVED", State::SynReceived),
    ("ESTABLISHED", State::Established),
    ("FIN_WAIT_1", State::FinWait1),
    ("FIN_WAIT_2", State::FinWait2),
    ("CLOSE_WAIT", State::CloseWait),
    ("CLOSING", State::Closing),
    ("LAST_ACK", State::LastAck),
    ("TIME_WAIT", State::TimeWait),
];

const VERDICTS: [(&str, Verdict); 6] = [
    ("INTACT", Verdict::Intact),
    ("CORRUPTED", Verdict::Corrupted),
    ("UNREADABLE", Verdict::Unreadable),
    ("ICMP", Verdict::Icmp),
    ("OTHER_PROTOCOL", Verdict::OtherProtocol),
    ("MALFORMED", Verdict::Malformed),
];

/// `OTHER` is for what a later version of the core adds.
const FAILURES: [&str; 9] =
    ["NONE", "OTHER", "REFUSED", "RESET", "UNREACHABLE", "TIMED_OUT", "USER_TIMEOUT", "ABORTED", "CLOSING"];

const NOTIFICATIONS: [&str; 7] = ["NONE", "OTHER", "CONNECTED", "READABLE", "WRITABLE", "URGENT", "CLOSED"];

pub(crate) fn of_state(state: State) -> i32 {
    place(STATES.iter().position(|(_, known)| *known == state))
}

pub(crate) fn of_verdict(verdict: Verdict) -> i32 {
    place(VERDICTS.iter().position(|(_, known)| *known == verdict))
}

pub(crate) fn of_failure(failure: Option<ConnectionError>) -> i32 {
    let name = match failure {
        None => "NONE",
        Some(ConnectionError::Refused) => "REFUSED",
        Some(ConnectionError::Reset) => "RESET",
        Some(ConnectionError::Unreachable(_)) => "UNREACHABLE",
        Some(ConnectionError::TimedOut) => "TIMED_OUT",
        Some(ConnectionError::UserTimeout) => "USER_TIMEOUT",
        Some(ConnectionError::Aborted) => "ABORTED",
        Some(ConnectionError::Closing) => "CLOSING",
        Some(_) => "OTHER",
    };
    place(FAILURES.iter().position(|known| *known == name))
}

pub(crate) fn of_notification(notification: Option<Notification>) -> i32 {
    let name = match notification {
        None => "NONE",
        Some(Notification::Connected) => "CONNECTED",
        Some(Notification::Readable) => "READABLE",
        Some(Notification::Writable) => "WRITABLE",
        Some(Notification::Urgent) => "URGENT",
        Some(Notification::Closed) => "CLOSED",
        Some(_) => "OTHER",
    };
    place(NOTIFICATIONS.iter().position(|known| *known == name))
}

fn place(found: Option<usize>) -> i32 {
    found.and_then(|place| i32::try_from(place).ok()).unwrap_or(-1)
}
