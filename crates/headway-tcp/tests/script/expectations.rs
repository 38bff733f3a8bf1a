//! What a script expects of the host's state.

use headway_tcp::{ConnectionError, ConnectionId, Notification, State, Statistics};
use headway_units::Duration;

use super::peer::Peer;
use super::runner::Runner;
use super::words::Words;

impl Runner {
    /// The connection with that peer.
    pub(crate) fn connection(&mut self, index: usize) -> Result<ConnectionId, String> {
        self.peer(index).connection.ok_or_else(|| format!("there is no connection with peer {index}"))
    }

    /// `expect WHAT VALUE`.
    pub(crate) fn expectation(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        match words.word("what to expect")? {
            // An unexpected packet has been reported before this line is reached.
            "no" => words.word("packet").map(|_| ()),
            "not" => match words.word("told")? {
                "told" => self.expect_told(index, words, false),
                other => Err(format!("expect not told, not {other:?}")),
            },
            "told" => self.expect_told(index, words, true),
            "state" => self.expect_state(index, words),
            "error" => self.expect_error(index, words),
            "finished" => {
                let id = self.connection(index)?;
                if self.host.is_finished(id) { Ok(()) } else { Err("the stream is not finished".into()) }
            }
            name @ ("rto" | "srtt" | "rttvar") => self.expect_time(index, name, words),
            name => self.expect_number(index, name, words),
        }?;
        words.end()
    }

    fn expect_state(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        let wanted = words.word("a state")?;
        let id = self.connection(index)?;
        let actual = state_name(self.host.state(id));
        if actual == wanted { Ok(()) } else { Err(format!("expected state {wanted}, found {actual}")) }
    }

    fn expect_error(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        let wanted = words.word("an error")?;
        let id = self.connection(index)?;
        let actual = match self.host.error(id) {
            None => "none",
            Some(ConnectionError::Refused) => "refused",
            Some(ConnectionError::Reset) => "reset",
            Some(ConnectionError::TimedOut) => "timed-out",
            Some(ConnectionError::UserTimeout) => "user-timeout",
            Some(ConnectionError::Aborted) => "aborted",
            Some(ConnectionError::Closing) => "closing",
            Some(ConnectionError::Unreachable(_)) => "unreachable",
            Some(_) => "other",
        };
        if actual == wanted { Ok(()) } else { Err(format!("expected error {wanted}, found {actual}")) }
    }

    fn expect_told(&mut self, index: usize, words: &mut Words<'_>, wanted: bool) -> Result<(), String> {
        let name = words.word("a notification")?;
        let notification = match name {
            "connected" => Notification::Connected,
            "readable" => Notification::Readable,
            "writable" => Notification::Writable,
            "urgent" => Notification::Urgent,
            "closed" => Notification::Closed,
            other => return Err(format!("unknown notification {other:?}")),
        };
        let told = &mut self.peer(index).told;
        let found = told.iter().position(|&other| other == notification);
        match (found, wanted) {
            (Some(at), true) => {
                told.remove(at);
                Ok(())
            }
            (None, false) => Ok(()),
            (None, true) => Err(format!("the application was not told {name:?}, but {told:?}")),
            (Some(_), false) => Err(format!("the application was told {name:?}")),
        }
    }

    fn expect_time(&mut self, index: usize, name: &str, words: &mut Words<'_>) -> Result<(), String> {
        let wanted: Duration = words.value("a time with a unit")?;
        let statistics = self.statistics(index)?;
        let actual = match name {
            "srtt" => statistics.smoothed_rtt.unwrap_or_default(),
            "rttvar" => statistics.rtt_variation,
            _ => statistics.rto,
        };
        if actual == wanted { Ok(()) } else { Err(format!("expected {name} {wanted}, found {actual}")) }
    }

    fn expect_number(&mut self, index: usize, name: &str, words: &mut Words<'_>) -> Result<(), String> {
        let wanted: u64 = words.value("a number")?;
        let actual = match self.host_number(index, name) {
            Some(number) => number,
            None => number_of(name, &self.statistics(index)?)
                .ok_or_else(|| format!("unknown expectation {name:?}"))?,
        };
        if actual == wanted { Ok(()) } else { Err(format!("expected {name} {wanted}, found {actual}")) }
    }

    fn statistics(&mut self, index: usize) -> Result<Statistics, String> {
        let id = self.connection(index)?;
        self.host.statistics(id).ok_or_else(|| format!("the connection with peer {index} is forgotten"))
    }

    /// Numbers that belong to the host, or to what it knows of the path.
    fn host_number(&mut self, index: usize, name: &str) -> Option<u64> {
        let counters = self.host.counters();
        let (local, remote) = (self.peer(index).host.ip(), self.peer(index).local.ip());
        let Peer { connection, iss, former_iss, .. } = *self.peer(index);
        let path = self.host.path(local, remote);
        Some(match name {
            "iss-step" => (iss? - former_iss?) as u64,
            "connections" => self.host.connections() as u64,
            "malformed" => counters.malformed,
            "unreadable" => counters.unreadable,
            "corrupted-unmatched" => counters.corrupted_unmatched,
            "resets" => counters.resets,
            "cookies-sent" => counters.cookies_sent,
            "cookies-accepted" => counters.cookies_accepted,
            "cookies-refused" => counters.cookies_refused,
            "backlog-drops" => counters.backlog_drops,
            "path-unreadable" => path?.unreadable,
            "path-corrupted" => path?.corrupted,
            "path-damaged" => path?.damaged_data,
            "ledger-reported" => path?.ledger.attributed().reported,
            "ledger-counted" => path?.ledger.attributed().counted,
            "ledger-damage" => path?.ledger.attributed().damage,
            "ledger-explained" => path?.ledger.attributed().explained,
            "ledger-congestion" => path?.ledger.attributed().congestion,
            "ledger-unknown" => path?.ledger.attributed().unknown,
            "readable" => self.host.readable(connection?) as u64,
            "writable" => self.host.writable(connection?) as u64,
            _ => return None,
        })
    }
}

fn number_of(name: &str, statistics: &Statistics) -> Option<u64> {
    Some(match name {
        "cwnd" => statistics.cwnd.into(),
        "ssthresh" => statistics.ssthresh.into(),
        "pipe" => statistics.pipe.into(),
        "mss" => statistics.mss.into(),
        "send-window" => statistics.send_window.into(),
        "receive-window" => statistics.receive_window.into(),
        "unacknowledged" => statistics.unacknowledged.into(),
        "unsent" => statistics.unsent.into(),
        "retransmissions" => statistics.retransmissions,
        "damage-retransmissions" => statistics.damage_retransmissions,
        "timeouts" => statistics.timeouts,
        "fast-recoveries" => statistics.fast_recoveries,
        "special-acks-sent" => statistics.special_acks_sent,
        "special-acks-received" => statistics.special_acks_received,
        "damaged-received" => statistics.damaged_received,
        "damaged-implausible" => statistics.damaged_implausible,
        "marks-received" => statistics.congestion_marks,
        "marks-answered" => statistics.congestion_echoes,
        "duplicate-reports" => statistics.duplicate_reports,
        "bytes-received" => statistics.bytes_received,
        _ => return None,
    })
}

fn state_name(state: State) -> &'static str {
    match state {
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::CloseWait => "CLOSE-WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST-ACK",
        State::TimeWait => "TIME-WAIT",
        State::Closed => "CLOSED",
    }
}
