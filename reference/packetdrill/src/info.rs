//! `TCP_INFO`, and the recovery phases for it.

use std::collections::BTreeMap;

use headway_tcp::{ConnectionId, Event, Negotiated, Observer, Profile, RecoveryPhase, State, Statistics};
use headway_units::Instant;

/// Records the phase of loss recovery of each connection.
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
            None | Some(RecoveryPhase::Over | RecoveryPhase::Spurious) => 0,
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

/// `struct tcp_info` of Linux (`linux/tcp.h`); unknown fields are zero.
pub(crate) fn encode(
    statistics: &Statistics,
    negotiated: Negotiated,
    ca_state: u8,
    offered_mss: u16,
) -> Vec<u8> {
    const TIMESTAMPS: u8 = 1;
    const SACK: u8 = 2;
    const WINDOW_SCALING: u8 = 4;
    const ECN: u8 = 8;
    /// Linux's value of an unset threshold (`TCP_INFINITE_SSTHRESH`).
    const INFINITE: u32 = 0x7fff_ffff;
    let micros = |nanos: u64| u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
    let options = [
        (negotiated.timestamps, TIMESTAMPS),
        (negotiated.sack, SACK),
        (negotiated.window_scaling, WINDOW_SCALING),
        (negotiated.ecn, ECN),
    ];
    let options = options.iter().filter(|(on, _)| *on).fold(0, |all, (_, bit)| all | bit);
    let mss = statistics.mss.max(1);
    let ssthresh = if statistics.ssthresh >= INFINITE { INFINITE } else { statistics.ssthresh / mss };
    let rtt = statistics.smoothed_rtt.map_or(0, |rtt| micros(rtt.as_nanos()));

    let low = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let min_rtt = statistics.min_rtt.map_or(u32::MAX, |rtt| micros(rtt.as_nanos()));
    let mut out = Record([0; SIZE]);
    out.put(0, &[state_number(statistics.state), ca_state]);
    out.put(5, &[options]);
    out.put32(8, micros(statistics.rto.as_nanos())); // rto
    out.put32(16, statistics.mss); // snd_mss
    out.put32(24, statistics.unacknowledged.div_ceil(mss)); // unacked
    out.put32(68, rtt); // rtt
    out.put32(72, micros(statistics.rtt_variation.as_nanos())); // rttvar
    out.put32(76, ssthresh); // snd_ssthresh
    out.put32(80, statistics.cwnd / mss); // snd_cwnd
    out.put32(84, offered_mss.into()); // advmss
    out.put32(88, 3); // reordering: the duplicate-ACK threshold
    out.put32(100, low(statistics.retransmissions)); // total_retrans
    out.put(128, &statistics.bytes_received.to_ne_bytes()); // bytes_received
    out.put32(136, low(statistics.segments_sent)); // segs_out
    out.put32(140, low(statistics.segments_received)); // segs_in
    out.put32(144, statistics.unsent); // notsent_bytes
    out.put32(148, min_rtt); // min_rtt
    out.put(200, &statistics.bytes_sent.to_ne_bytes()); // bytes_sent
    out.put(208, &statistics.bytes_retransmitted.to_ne_bytes()); // bytes_retrans
    out.put32(216, low(statistics.duplicate_reports)); // dsack_dups
    out.put32(228, statistics.send_window); // snd_wnd
    out.put32(232, statistics.receive_window); // rcv_wnd
    out.0.to_vec()
}

/// The same of a socket without a connection; of a listener `queue` is how many connections wait to be accepted, and how
/// many may.
pub(crate) fn encode_unconnected(profile: &Profile, queue: Option<(u32, u32)>) -> Vec<u8> {
    /// Linux's `TCP_LISTEN`, for which a connection has no state.
    const LISTEN: u8 = 10;
    /// Linux's `TCP_MSS_DEFAULT`.
    const MSS: u16 = 536;
    let mut statistics = Statistics::default();
    statistics.mss = MSS.into();
    statistics.cwnd = profile.initial_window * u32::from(MSS);
    statistics.ssthresh = u32::MAX;
    statistics.rto = profile.rto.initial;
    let mut out = encode(&statistics, Negotiated::default(), 0, MSS);
    if let Some((waiting, most)) = queue {
        out[0] = LISTEN;
        // In LISTEN, unacked and sacked have these meanings.
        out[24..28].copy_from_slice(&waiting.to_ne_bytes());
        out[28..32].copy_from_slice(&most.to_ne_bytes());
    }
    out
}

/// The size of `struct tcp_info` in Linux 6.13.
const SIZE: usize = 280;

struct Record([u8; SIZE]);

impl Record {
    fn put(&mut self, at: usize, value: &[u8]) {
        self.0[at..at + value.len()].copy_from_slice(value);
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_ne_bytes());
    }
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
        let info = encode(&statistics, Negotiated { sack: true, ..Negotiated::default() }, 3, 1460);
        let word = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().unwrap());
        assert_eq!(info.len(), 280);
        assert_eq!((info[0], info[1], info[5]), (1, 3, 2));
        assert_eq!(word(24), 3, "tcpi_unacked");
        assert_eq!(word(76), 7, "tcpi_snd_ssthresh");
        assert_eq!(word(80), 10, "tcpi_snd_cwnd");
        assert_eq!(word(84), 1460, "tcpi_advmss");
    }
}
