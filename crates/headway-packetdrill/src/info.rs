//! `TCP_INFO`, and what of it the host does not count itself.

use std::collections::BTreeMap;

use headway_tcp::{ConnectionId, Event, Negotiated, Observer, RecoveryPhase, State, Statistics};
use headway_units::Instant;

/// Follows the stage of loss recovery of each connection.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    phases: BTreeMap<ConnectionId, RecoveryPhase>,
}

impl Observer for Phases {
    fn event(&mut self, _now: Instant, connection: ConnectionId, event: &Event) {
        if let Event::Recovery(phase) = event {
            self.phases.insert(connection, *phase);
        }
    }
}

impl Phases {
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.phases.remove(&connection);
    }

    /// Linux's `tcpi_ca_state`: `TCP_CA_Open`, `TCP_CA_Recovery` or `TCP_CA_Loss`.
    pub(crate) fn linux(&self, connection: ConnectionId) -> u8 {
        match self.phases.get(&connection) {
            None | Some(RecoveryPhase::Over) => 0,
            Some(RecoveryPhase::Fast) => 3,
            Some(RecoveryPhase::Timeout) => 4,
        }
    }
}

/// Linux's number of a state (`TCP_ESTABLISHED` and so on).
fn state_number(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

/// `struct tcp_info` of Linux (`linux/tcp.h`) up to `tcpi_total_retrans`; what the stack does not
/// know is zero.
pub(crate) fn encode(statistics: &Statistics, negotiated: Negotiated, ca_state: u8) -> Vec<u8> {
    const TIMESTAMPS: u8 = 1;
    const SACK: u8 = 2;
    const WINDOW_SCALING: u8 = 4;
    /// What Linux shows for a threshold that is not set (`TCP_INFINITE_SSTHRESH`).
    const INFINITE: u32 = 0x7fff_ffff;
    let micros = |nanos: u64| u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
    let options = [
        (negotiated.timestamps, TIMESTAMPS),
        (negotiated.sack, SACK),
        (negotiated.window_scaling, WINDOW_SCALING),
    ];
    let options = options.iter().filter(|(on, _)| *on).fold(0, |all, (_, bit)| all | bit);
    let mss = statistics.mss.max(1);
    let ssthresh = if statistics.ssthresh >= INFINITE { INFINITE } else { statistics.ssthresh / mss };
    let rtt = statistics.smoothed_rtt.map_or(0, |rtt| micros(rtt.as_nanos()));

    let mut out = vec![state_number(statistics.state), ca_state, 0, 0, 0, options, 0, 0];
    let words: [u32; 24] = [
        micros(statistics.rto.as_nanos()),                      // rto
        0,                                                      // ato
        statistics.mss,                                         // snd_mss
        0,                                                      // rcv_mss
        statistics.unacknowledged.div_ceil(mss),                // unacked
        0,                                                      // sacked
        0,                                                      // lost
        0,                                                      // retrans
        0,                                                      // fackets
        0,                                                      // last_data_sent
        0,                                                      // last_ack_sent
        0,                                                      // last_data_recv
        0,                                                      // last_ack_recv
        0,                                                      // pmtu
        0,                                                      // rcv_ssthresh
        rtt,                                                    // rtt
        micros(statistics.rtt_variation.as_nanos()),            // rttvar
        ssthresh,                                               // snd_ssthresh
        statistics.cwnd / mss,                                  // snd_cwnd
        0,                                                      // advmss
        3,                                                      // reordering
        0,                                                      // rcv_rtt
        0,                                                      // rcv_space
        statistics.retransmissions.min(u32::MAX.into()) as u32, // total_retrans
    ];
    out.extend(words.into_iter().flat_map(u32::to_ne_bytes));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_linux_has_them() {
        let mut statistics = Statistics::default();
        statistics.state = State::Established;
        statistics.mss = 1000;
        statistics.cwnd = 10_000;
        statistics.ssthresh = 7_000;
        statistics.unacknowledged = 2_500;
        let info = encode(&statistics, Negotiated { sack: true, ..Negotiated::default() }, 3);
        let word = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().unwrap());
        assert_eq!(info.len(), 104, "offset of tcpi_pacing_rate");
        assert_eq!((info[0], info[1], info[5]), (1, 3, 2));
        assert_eq!(word(24), 3, "tcpi_unacked");
        assert_eq!(word(76), 7, "tcpi_snd_ssthresh");
        assert_eq!(word(80), 10, "tcpi_snd_cwnd");
    }
}
