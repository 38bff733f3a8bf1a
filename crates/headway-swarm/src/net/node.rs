//! A host, or a gateway, and its clock.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{Host, HostConfig, ListenerId, Profile};
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Instant};

use super::plan::{LISTEN, Plan, START};
use super::sealed::Gateway;
use super::wire::Wire;
use crate::side::recorder::Recorder;

/// A host with its clock.
pub(super) struct Node {
    pub(super) host: Host<Recorder>,
    pub(super) listeners: Vec<ListenerId>,
    pub(super) profile: Arc<Profile>,
    /// Its end of the tunnels, if it is a gateway.
    pub(super) gateway: Option<Gateway>,
    /// By how much its clock is ahead.
    ahead: Duration,
    /// Until when it stands still.
    pub(super) stalled: Option<Instant>,
    /// What has arrived since.
    pub(super) waiting: Vec<Wire>,
    /// How often it was restarted.
    pub(super) restarts: u32,
    /// Its present outer address.
    pub(super) outer: SocketAddr,
}

impl Node {
    pub(super) fn new(plan: &Plan, number: usize, outers: &[SocketAddr], trace: bool) -> Self {
        let mut node = Self {
            host: Host::with_observer(
                HostConfig::new(plan.hosts[number].address, [0; 16]),
                recorder(number, trace),
            ),
            listeners: Vec::new(),
            profile: plan.hosts[number].profile.clone(),
            gateway: None,
            ahead: Duration::ZERO,
            stalled: None,
            waiting: Vec::new(),
            restarts: 0,
            outer: outers[number],
        };
        node.start(plan, number, outers, trace);
        node
    }

    /// The process begins, and knows nothing of an earlier one.
    fn start(&mut self, plan: &Plan, number: usize, outers: &[SocketAddr], trace: bool) {
        let of_host = &plan.hosts[number];
        let mut rng = Rng::new(plan.seed ^ (number as u64 + 1) << 32 ^ u64::from(self.restarts) << 48);
        let mut secret = [0; 16];
        rng.fill(&mut secret);
        let mut config = HostConfig::new(of_host.address, secret);
        config.max_connections = of_host.max_connections;
        self.gateway = plan.is_sealed.then(|| Gateway::new(plan, number, outers, rng.next()));
        if let Some(gateway) = &self.gateway {
            config.addresses = gateway.addresses();
            self.profile = Arc::new(gateway.profile(&of_host.profile));
        }
        let addresses = config.addresses.clone();
        self.host = Host::with_observer(config, recorder(number, trace));
        self.listeners = addresses
            .into_iter()
            .map(|address| {
                let local = SocketAddr::new(address, LISTEN);
                self.host.listen(local, of_host.backlog, self.profile.clone()).expect("nothing listens yet")
            })
            .collect();
    }

    /// The process begins anew.
    pub(super) fn restart(&mut self, plan: &Plan, number: usize, outers: &[SocketAddr], trace: bool) {
        self.restarts += 1;
        self.waiting.clear();
        self.stalled = None;
        self.start(plan, number, outers, trace);
    }

    /// What its clock says.
    pub(super) fn clock(&self, now: Instant) -> Instant {
        now + self.ahead
    }

    pub(super) fn jump(&mut self, by: Duration) {
        self.ahead += by;
    }

    /// When it has to do something.
    pub(super) fn next(&mut self, now: Instant) -> Option<Instant> {
        if let Some(until) = self.stalled {
            return Some(until);
        }
        let gateway = self.gateway.as_ref().and_then(Gateway::next_deadline);
        let due = self.host.next_deadline().into_iter().chain(gateway).min()?;
        Some(now + due.saturating_since(self.clock(now)))
    }

    /// What is due is done.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let clock = self.clock(now);
        if self.host.next_deadline().is_some_and(|at| at <= clock) {
            self.host.handle_timeout(clock);
        }
        if let Some(gateway) = &mut self.gateway
            && gateway.next_deadline().is_some_and(|at| at <= clock)
        {
            gateway.handle_timeout(clock);
        }
    }

    /// Whether something is due now: after it was done and sent, nothing may be.
    pub(super) fn is_overdue(&mut self, now: Instant) -> bool {
        let clock = self.clock(now);
        let gateway = self.gateway.as_ref().and_then(Gateway::next_deadline);
        self.host.next_deadline().into_iter().chain(gateway).any(|at| at <= clock)
    }
}

fn recorder(number: usize, on: bool) -> Recorder {
    Recorder { host: number, start: START, on, keep_alive: Vec::new(), completed: Vec::new() }
}

/// Where gateway `number` is at first.
pub(super) fn outer(number: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1 + number as u8)), 4433)
}
