//! Names of states, failures, notifications and verdicts, in the order of C's numbers: new ones come last.

use headway_tcp::{ConnectionError, Notification, State};

use crate::PacketIntegrity;

/// RFC 9293, 3.3.2.
pub const STATES: [&str; 10] = [
    "CLOSED",
    "SYN_SENT",
    "SYN_RECEIVED",
    "ESTABLISHED",
    "FIN_WAIT_1",
    "FIN_WAIT_2",
    "CLOSE_WAIT",
    "CLOSING",
    "LAST_ACK",
    "TIME_WAIT",
];

/// Why a connection failed; `OTHER` is for what the core may add.
pub const FAILURES: [&str; 9] =
    ["NONE", "OTHER", "REFUSED", "RESET", "UNREACHABLE", "TIMED_OUT", "USER_TIMEOUT", "ABORTED", "CLOSING"];

/// What a program is notified of.
pub const NOTIFICATIONS: [&str; 7] =
    ["NONE", "OTHER", "CONNECTED", "READABLE", "WRITABLE", "URGENT", "CLOSED"];

/// What a packet was that arrived.
pub const VERDICTS: [&str; 6] = ["INTACT", "CORRUPTED", "UNREADABLE", "ICMP", "OTHER_PROTOCOL", "MALFORMED"];

/// The place in [`STATES`].
pub fn of_state(state: State) -> usize {
    match state {
        State::Closed => 0,
        State::SynSent => 1,
        State::SynReceived => 2,
        State::Established => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::CloseWait => 6,
        State::Closing => 7,
        State::LastAck => 8,
        State::TimeWait => 9,
    }
}

/// The place in [`FAILURES`].
pub fn of_failure(failure: Option<ConnectionError>) -> usize {
    match failure {
        None => 0,
        Some(ConnectionError::Refused) => 2,
        Some(ConnectionError::Reset) => 3,
        Some(ConnectionError::Unreachable(_)) => 4,
        Some(ConnectionError::TimedOut) => 5,
        Some(ConnectionError::UserTimeout) => 6,
        Some(ConnectionError::Aborted) => 7,
        Some(ConnectionError::Closing) => 8,
        Some(_) => 1,
    }
}

/// The place in [`NOTIFICATIONS`].
pub fn of_notification(notification: Option<Notification>) -> usize {
    match notification {
        None => 0,
        Some(Notification::Connected) => 2,
        Some(Notification::Readable) => 3,
        Some(Notification::Writable) => 4,
        Some(Notification::Urgent) => 5,
        Some(Notification::Closed) => 6,
        Some(_) => 1,
    }
}

/// The place in [`VERDICTS`].
pub fn of_verdict(verdict: PacketIntegrity) -> usize {
    match verdict {
        PacketIntegrity::Intact => 0,
        PacketIntegrity::Corrupted => 1,
        PacketIntegrity::Unreadable => 2,
        PacketIntegrity::Icmp => 3,
        PacketIntegrity::OtherProtocol => 4,
        PacketIntegrity::Malformed => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the name of a variant would be written there.
    fn written(variant: &dyn std::fmt::Debug) -> String {
        let mut name = String::new();
        for c in format!("{variant:?}").chars() {
            if (c.is_uppercase() || c.is_ascii_digit()) && !name.is_empty() {
                name.push('_');
            }
            name.extend(c.to_uppercase());
        }
        name
    }

    #[test]
    fn each_has_its_own_name() {
        use State::{
            CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, SynReceived, SynSent,
            TimeWait,
        };
        let states = [
            Closed,
            SynSent,
            SynReceived,
            Established,
            FinWait1,
            FinWait2,
            CloseWait,
            Closing,
            LastAck,
            TimeWait,
        ];
        for state in states {
            assert_eq!(STATES[of_state(state)], written(&state));
        }
        use ConnectionError::{Aborted, Closing as Closed2, Refused, Reset, TimedOut, UserTimeout};
        for failure in [Refused, Reset, TimedOut, UserTimeout, Aborted, Closed2] {
            assert_eq!(FAILURES[of_failure(Some(failure))], written(&failure));
        }
        use Notification::{Closed as Over, Connected, Readable, Urgent, Writable};
        for notification in [Connected, Readable, Writable, Urgent, Over] {
            assert_eq!(NOTIFICATIONS[of_notification(Some(notification))], written(&notification));
        }
        use PacketIntegrity::{Corrupted, Icmp, Intact, Malformed, OtherProtocol, Unreadable};
        for verdict in [Intact, Corrupted, Unreadable, Icmp, OtherProtocol, Malformed] {
            assert_eq!(VERDICTS[of_verdict(verdict)], written(&verdict));
        }
    }
}
