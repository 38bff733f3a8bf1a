//! The states of the algorithm, and the phases of feedback on a probe.

/// The states (draft-ietf-ccwg-bbr, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum State {
    Startup,
    Drain,
    /// ProbeBW: send less, so that the queue drains for other flows.
    Down,
    /// ProbeBW: send at the delivery rate.
    Cruise,
    /// ProbeBW: fill the pipe before going up.
    Refill,
    /// ProbeBW: send more, to probe for a higher delivery rate.
    Up,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState.
    pub(in super::super) fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// IsProbingBW: an accelerating state.
    pub(in super::super) fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// The phase of feedback on a bandwidth probe (draft-ietf-ccwg-bbr, section 2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum AckPhase {
    /// "not probing bandwidth; not getting probe feedback".
    #[default]
    Init,
    /// "sending at estimated bandwidth to fill pipe".
    Refilling,
    /// "inflight rising to probe bandwidth".
    ProbeStarting,
    /// "getting feedback from bandwidth probing".
    ProbeFeedback,
    /// "stopped bandwidth probing; still getting feedback".
    ProbeStopping,
}
