//! Runs in real time: what the lab asks of the testbed that makes them.

use headway_sim::race::OracleOutcome;

use crate::error::LabError;
use crate::experiment::Cell;
use crate::results::Row;

/// Makes runs in real time.
pub trait Testbed: Sync {
    /// Whether this machine can run all these cells; asked once, before any of them runs.
    ///
    /// # Errors
    ///
    /// It lacks a right or a program, and says which.
    fn prepare(&self, cells: &[&Cell]) -> Result<(), LabError>;

    /// Makes one run. The box between the hosts takes its chance from `seed`, as the simulator's link does.
    ///
    /// # Errors
    ///
    /// The run could not be made. A connection that failed is an outcome.
    fn run(&self, cell: &Cell, seed: u64) -> Result<RealTimeOutcome, LabError>;

    /// How many runs may take place side by side.
    fn jobs(&self) -> usize;
}

/// What came of a run in real time. What the sender does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RealTimeOutcome {
    /// Whether all arrived within the time limit. A run of fixed duration finishes unless its connection
    /// fails.
    pub finished: bool,
    /// Seconds from the first attempt to connect to the last octet's arrival, or until the run was ended.
    pub seconds: f64,
    /// Octets delivered in order.
    pub delivered: u64,
    /// Of those, octets that differ from what was sent.
    pub differing: u64,
    /// Payload octets sent, repeats included.
    pub octets_sent: Option<u64>,
    /// Segments sent again.
    pub retransmissions: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Falls of the window to one segment.
    pub slow_starts: Option<u64>,
    /// Times that fast recovery began.
    pub fast_recoveries: Option<u64>,
    /// Special ACKs sent.
    pub special_acks: Option<u64>,
    /// Packets that the queue on the way of the data dropped.
    pub queue_drops: Option<u64>,
    /// How late the box let packets go, seconds: 99 % of them by no more than this.
    pub box_late: Option<f64>,
    /// And the latest of them.
    pub box_latest: Option<f64>,
    /// Why the connection failed, if it did.
    pub failure: Option<String>,
}

impl RealTimeOutcome {
    /// As a row of results, beside the oracle that met the same fates in virtual time.
    pub(crate) fn row(self, cell: &Cell, run: u32, seed: u64, oracle: Option<OracleOutcome>) -> Row {
        let goodput = if self.seconds > 0.0 { 8.0 * self.delivered as f64 / self.seconds } else { 0.0 };
        let megabytes = self.delivered as f64 / 1e6;
        let drops = self.queue_drops.unwrap_or(0) as f64;
        let best = oracle.map(|oracle| oracle.goodput);
        Row {
            run,
            seed,
            finished: self.finished,
            seconds: self.seconds,
            goodput_bps: goodput,
            share_of_bound: cell.scenario.bound().map(|bound| goodput / bound),
            oracle_bps: best,
            share_of_oracle: best.filter(|best| *best > 0.0).map(|best| goodput / best),
            sha256_ok: None,
            damaged_bytes_delivered: self.differing,
            undetected_packets: None,
            delivered_bytes: self.delivered,
            octets_sent: self.octets_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            slow_starts: self.slow_starts,
            fast_recoveries: self.fast_recoveries,
            special_acks: self.special_acks,
            queue_drops: self.queue_drops,
            drops_per_megabyte: if megabytes > 0.0 { drops / megabytes } else { 0.0 },
            jain: 1.0,
            jain_alike: 1.0,
            rival_goodput_bps: None,
            companions_bps: Vec::new(),
            box_late_s: self.box_late,
            box_latest_s: self.box_latest,
            failure: self.failure,
        }
    }
}
