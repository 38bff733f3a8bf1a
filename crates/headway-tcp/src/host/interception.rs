//! Connections to any address, as a transparent proxy takes them: a SYN waits for the program's decision, so that the
//! peer is answered with what became of it further on.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use core::net::SocketAddr;

use headway_units::{Duration, Instant};
use headway_wire::icmp::Unreachable;
use headway_wire::{Dscp, IpHeader, Segment, SeqNumber, TcpHeader, TcpOptions, emit};

use super::listeners::REOPEN_STEP;
use super::{ConnectionId, Host};
use crate::Error;
use crate::connection::Endpoints;
use crate::event::Observer;
use crate::profile::Profile;

/// Room for a SYN: both headers with all options.
const LONGEST_SYN: usize = 40 + 60;

/// How long a peer may take for its second SYN. RFC 6298, 2.1: "the sender SHOULD set RTO <- 1 second"; of RFC 1122 it was 3 s.
const SECOND_SYN: Duration = Duration::from_secs(4);

/// What a peer is told whose connection is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A RST: nothing listens there.
    Reset,
    /// An ICMP destination unreachable.
    Unreachable(Unreachable),
    /// Nothing: it tries again, or gives up.
    Silence,
}

/// Connections to any address.
pub(super) struct Interception {
    profile: Arc<Profile>,
    backlog: usize,
    /// By the two ends, the peer's first.
    waiting: BTreeMap<(SocketAddr, SocketAddr), KeptSyn>,
    /// Those of `waiting` that the program was not told of.
    untold: VecDeque<Endpoints>,
}

/// A SYN without its data, which is sent again.
struct KeptSyn {
    ip: IpHeader,
    tcp: TcpHeader,
    options: TcpOptions,
    header_lens: (usize, usize),
    /// The last number of a connection in TIME-WAIT that it replaces.
    beyond: Option<SeqNumber>,
    /// When it and the last retransmission of it arrived.
    first_at: Instant,
    last_at: Instant,
}

impl KeptSyn {
    /// When its peer has given up, unless it is heard of before. RFC 6298, 5.5: each time "The host MUST set RTO <- RTO * 2", so
    /// after the time S since the first SYN the next one follows within S and a RTO. One that is lost makes it 3 S + 3 RTO.
    fn ends_at(&self) -> Instant {
        self.last_at + self.last_at.saturating_since(self.first_at) * 3 + SECOND_SYN
    }

    fn segment(&self) -> Segment<'_> {
        let (ip_header_len, header_len) = self.header_lens;
        let Self { ip, tcp, options, .. } = *self;
        Segment { ip, tcp, options, payload: &[], blocks: &[], ip_header_len, header_len }
    }
}

impl Interception {
    /// A SYN has arrived; says whether there was room for it.
    fn keep(&mut self, ends: &Endpoints, at: Instant, syn: &Segment<'_>, beyond: Option<SeqNumber>) -> bool {
        let key = (ends.remote, ends.local);
        let mut kept = KeptSyn {
            ip: syn.ip,
            tcp: syn.tcp,
            options: syn.options,
            header_lens: (syn.ip_header_len, syn.header_len),
            beyond,
            first_at: at,
            last_at: at,
        };
        if let Some(known) = self.waiting.get_mut(&key) {
            // The same again, or a new attempt from the same port.
            if known.tcp.seq == kept.tcp.seq {
                kept.first_at = known.first_at;
            }
            *known = kept;
            return true;
        }
        if self.waiting.len() >= self.backlog {
            return false;
        }
        self.waiting.insert(key, kept);
        self.untold.push_back(*ends);
        true
    }
}

impl<O: Observer> Host<O> {
    /// From now on the host takes connections to every address and port, beside those of its listeners. A SYN waits
    /// for [`Host::admit`] or [`Host::refuse`]; at most `backlog` wait, further ones are dropped, as if lost. Where
    /// connections go on to somewhere else, they are admitted when that is connected, so the peer sees what a
    /// connection without a proxy would have shown it.
    ///
    /// # Errors
    ///
    /// The profile cannot work.
    pub fn intercept(&mut self, backlog: usize, profile: Arc<Profile>) -> Result<(), Error> {
        profile.check()?;
        let (waiting, untold) = (BTreeMap::new(), VecDeque::new());
        self.interception = Some(Interception { profile, backlog: backlog.max(1), waiting, untold });
        Ok(())
    }

    /// Whether [`Host::incoming`] has one.
    pub fn has_incoming(&self) -> bool {
        self.interception.as_ref().is_some_and(|interception| !interception.untold.is_empty())
    }

    /// The ends of the next connection that waits for a decision: `local` is where the peer wants to go. Each is given
    /// once.
    pub fn incoming(&mut self) -> Option<Endpoints> {
        let interception = self.interception.as_mut()?;
        loop {
            let ends = interception.untold.pop_front()?;
            if interception.waiting.contains_key(&(ends.remote, ends.local)) {
                return Some(ends);
            }
        }
    }

    /// Until when the peer of a connection that waits for a decision is taken to be there, if nothing more arrives from it: a host
    /// that gives up says nothing, and only its SYN comes no more. `None`: the connection waits no more.
    pub fn incoming_until(&self, ends: &Endpoints) -> Option<Instant> {
        let interception = self.interception.as_ref()?;
        interception.waiting.get(&(ends.remote, ends.local)).map(KeptSyn::ends_at)
    }

    /// The DSCP of the SYN of a connection that waits for a decision.
    pub fn incoming_dscp(&self, ends: &Endpoints) -> Option<Dscp> {
        let interception = self.interception.as_ref()?;
        Some(interception.waiting.get(&(ends.remote, ends.local))?.ip.dscp)
    }

    /// Answers the SYN of a connection that waits for a decision. The connection is in SYN-RECEIVED, and can be
    /// written to.
    ///
    /// # Errors
    ///
    /// It waits no more, or the host is full.
    pub fn admit(&mut self, now: Instant, ends: &Endpoints) -> Result<ConnectionId, Error> {
        let full = self.connections.len() >= self.config.max_connections;
        let interception = self.interception.as_mut().ok_or(Error::UnknownConnection)?;
        let kept = interception.waiting.remove(&(ends.remote, ends.local)).ok_or(Error::UnknownConnection)?;
        if full {
            return Err(Error::TooManyConnections);
        }
        let profile = interception.profile.clone();
        let iss = self.identity.initial_sequence(ends, now);
        let iss = kept.beyond.filter(|&beyond| iss.le(beyond)).map_or(iss, |beyond| beyond + REOPEN_STEP);
        self.add_answering(now, (ends, &kept.segment()), (profile, iss), (None, None))
            .ok_or(Error::UnknownConnection)
    }

    /// Ends the wait of a connection for a decision. It does nothing if it waits no more.
    pub fn refuse(&mut self, ends: &Endpoints, refusal: Refusal) {
        let Some(interception) = &mut self.interception else { return };
        let Some(kept) = interception.waiting.remove(&(ends.remote, ends.local)) else { return };
        match refusal {
            Refusal::Reset => {
                let ip = interception.profile.ip_header(ends.local.ip(), ends.remote.ip());
                self.reset_unmatched(Some(ip), &kept.segment());
            }
            Refusal::Unreachable(reason) => self.report_unreachable(ends, &kept, reason),
            Refusal::Silence => {}
        }
    }

    /// RFC 792 has a router or the destination send it: it comes from our address of the family, if there is one.
    fn report_unreachable(&mut self, ends: &Endpoints, kept: &KeptSyn, reason: Unreachable) {
        let is_alike = |address: &&core::net::IpAddr| address.is_ipv4() == ends.local.is_ipv4();
        let from = self.config.addresses.iter().find(is_alike).copied().unwrap_or(ends.local.ip());
        let mut quoted = [0; LONGEST_SYN];
        let Ok(len) = emit(&mut quoted, &kept.ip, &kept.tcp, &kept.options, (&[], &[])) else { return };
        let mut message = alloc::vec![0; Unreachable::message_len(from, len)];
        if reason.emit(&mut message, from, ends.remote.ip(), &quoted[..len]).is_ok() {
            self.echoes.push(message);
        }
    }

    /// A SYN for no listener and no connection; says whether it is taken.
    pub(super) fn intercept_syn(
        &mut self,
        ends: &Endpoints,
        at: Instant,
        syn: &Segment<'_>,
        beyond: Option<SeqNumber>,
    ) -> bool {
        let Some(interception) = &mut self.interception else { return false };
        if !interception.keep(ends, at, syn, beyond) {
            self.counters.backlog_drops += 1;
        }
        true
    }

    /// A RST may end the wait of a connection: RFC 5961, 3.2 wants its number to be exactly the next.
    pub(super) fn intercept_reset(&mut self, ends: &Endpoints, reset: &Segment<'_>) {
        let Some(interception) = &mut self.interception else { return };
        let key = (ends.remote, ends.local);
        if interception.waiting.get(&key).is_some_and(|kept| reset.tcp.seq == kept.tcp.seq + 1) {
            interception.waiting.remove(&key);
            // So that what the program was not told of stays as bounded as what waits.
            interception.untold.retain(|untold| untold != ends);
        }
    }
}
