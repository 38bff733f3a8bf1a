//! Scenarios that make no sense.

use headway_link::Damage;
use headway_tcp::HackMode;
use headway_tcp::congestion::Algorithm;

use super::hops::HopRange;
use super::oracle::no_oracle;
use super::scenario::{CrossTraffic, Frames, ProfileName, Scenario};
use super::sender::{Entrant, TcpSender, congestion_name};
use super::trunk::{Edge, Trunk, TrunkMode};

/// A scenario, or a sender in it, that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {problem}")]
pub struct InvalidScenario {
    /// What makes no sense.
    pub subject: String,
    /// Why, and what was expected.
    pub problem: String,
}

impl Scenario {
    /// Whether `entrant` can be raced here.
    ///
    /// # Errors
    ///
    /// It says what does not fit together.
    pub fn check(&self, entrant: impl Into<Entrant>) -> Result<(), InvalidScenario> {
        let fail = |subject: &str, problem: &str| {
            Err(InvalidScenario { subject: subject.into(), problem: problem.into() })
        };
        if self.warm && self.duration.is_some() {
            return fail("warm", "a run of fixed duration has no end to warm up to; expected a size");
        }
        if self.warm && (!self.companions.is_empty() || self.cross.is_some()) {
            return fail("warm", "expected no other flows beside the one that is measured");
        }
        if self.frames == Frames::Count && self.trunk.is_none() && !self.is_point_to_point() {
            let problem = if self.hops.len() > 1 {
                "expected one hop: between several there are routers, which drop such packets; expected drop"
            } else if self.edge == Edge::default() {
                "expected no other flows: with those there are routers between the hosts, which drop such packets; \
                 expected drop"
            } else {
                "expected no links of the hosts' own: with those there are routers between the hosts, which drop such \
                 packets; expected drop"
            };
            return fail("frames", problem);
        }
        self.check_hops()?;
        if let Some(CrossTraffic::Replay(trace)) = &self.cross
            && let Err(error) = trace.check(self.mtu)
        {
            return fail("cross", &error.to_string());
        }
        if let Some(trunk) = &self.trunk {
            self.check_trunk(trunk)?;
        }
        for companion in &self.companions {
            self.check_congestion(companion.sender)?;
        }
        match entrant.into() {
            Entrant::Oracle => match no_oracle(self) {
                Some(why) => fail("oracle", why),
                None => Ok(()),
            },
            Entrant::Tcp(sender) => {
                self.check_congestion(sender)?;
                self.check_features(sender)
            }
        }
    }

    fn check_hops(&self) -> Result<(), InvalidScenario> {
        let fail = |subject: &str, problem: String| Err(InvalidScenario { subject: subject.into(), problem });
        let links = self.links();
        let missing = |range: HopRange| {
            let expected = match links.len() {
                1 => "there is one hop: expected 1 or all".into(),
                count => {
                    format!("there are {count} hops: expected some of them, such as {count} or 1-{count}")
                }
            };
            (!range.is_within(links.len())).then(|| format!("hops {range}: {expected}"))
        };
        if let Some(problem) = missing(self.flow_hops) {
            return fail("flow-hops", problem);
        }
        if let Some(problem) = missing(self.cross_hops) {
            return fail("cross-hops", problem);
        }
        for companion in &self.companions {
            if let Some(problem) = missing(companion.hops) {
                let subject = if companion.rival { "rivals" } else { "companions" };
                return fail(subject, format!("{}: {problem}", companion.sender));
            }
        }
        let is_trace = |damage: &Damage| matches!(damage, Damage::Trace(_));
        let recorded = [
            links.iter().filter(|(forward, _)| is_trace(&forward.damage)).count(),
            links.iter().filter(|(_, reverse)| is_trace(&reverse.damage)).count(),
        ];
        if recorded.into_iter().any(|hops| hops > 1) {
            let problem = "recorded damage would hit the same packets on several hops, in the same places: expected it \
                           on one of them, and another damage or none on the others";
            return fail("hops", problem.into());
        }
        Ok(())
    }

    fn check_trunk(&self, trunk: &Trunk) -> Result<(), InvalidScenario> {
        let fail = |problem: &str| Err(InvalidScenario { subject: "trunk".into(), problem: problem.into() });
        if self.hops.len() > 1 {
            return fail("it has a gateway at each end of one link: expected one hop");
        }
        if self.companions.iter().any(|companion| !companion.damaged) {
            return fail("it carries all flows, and damage hits all of it: expected no undamaged ones");
        }
        if trunk.mode == TrunkMode::Split && self.cross.is_some() {
            return fail(
                "in split mode it carries TCP and nothing else: expected no cross traffic, or mode packets",
            );
        }
        self.check_congestion(trunk.sender)
    }

    fn check_congestion(&self, sender: TcpSender) -> Result<(), InvalidScenario> {
        let Some(congestion) = sender.congestion else { return Ok(()) };
        if congestion == Algorithm::Custom && self.custom.is_none() {
            return Err(InvalidScenario {
                subject: "congestion controller custom".into(),
                problem: "a program in Python or Rust gives it, and none is given here".into(),
            });
        }
        if !self.is_linux22(sender) {
            return Ok(());
        }
        Err(InvalidScenario {
            subject: format!("congestion controller {}", congestion_name(congestion)),
            problem: format!(
                "{} of profile linux22 has the window of Linux 2.2, which is part of what the papers measured; \
                 expected modern, modern+hack or headway, or profile standard or modern",
                sender.variant
            ),
        })
    }

    fn check_features(&self, sender: TcpSender) -> Result<(), InvalidScenario> {
        let complaint = |problem: String| InvalidScenario { subject: self.features.to_string(), problem };
        if !self.features.is_empty() && self.profile_name(sender) != ProfileName::Modern {
            let profile = self.profile_name(sender);
            return Err(complaint(format!(
                "{} of profile {profile} has no such features; expected modern, modern+hack or headway, or \
                 profile modern",
                sender.variant
            )));
        }
        let profile = self.profile_of(sender);
        if profile.features.partial && profile.hack != HackMode::V2 {
            let why = "partial recovery needs HACK v2, which";
            return Err(complaint(format!("{why} {} does not have; expected headway", sender.variant)));
        }
        profile
            .check()
            .map_err(|error| InvalidScenario { subject: sender.to_string(), problem: error.to_string() })
    }

    fn is_linux22(&self, sender: TcpSender) -> bool {
        self.profile_name(sender) == ProfileName::Linux22
    }
}
