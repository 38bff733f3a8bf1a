//! Congestion domains that connections share.

use alloc::boxed::Box;

use super::Host;
use crate::congestion::{CongestionControl, CongestionDomain, DomainStatus, Setup};
use crate::connection::Endpoints;
use crate::event::Observer;
use crate::profile::Profile;
use crate::slab::Key;
use crate::{DomainId, Error, ListenerId};

impl<O: Observer> Host<O> {
    /// Makes a congestion domain for connections that [`Host::connect_in`] or a listener of
    /// [`Host::set_listener_domain`] opens in it. They share one congestion window and its pacing, and take
    /// turns; what one of them loses reduces the window of all. `profile` says how it is controlled.
    ///
    /// # Errors
    ///
    /// The profile cannot work.
    pub fn open_domain(&mut self, profile: &Profile) -> Result<DomainId, Error> {
        profile.check()?;
        // The seed makes controllers differ: members share one.
        let control = build(profile, 0);
        Ok(DomainId(self.domains.insert(CongestionDomain::shared(control).starting_from(profile.start))))
    }

    /// No more connections are opened in the domain; those that are go on.
    ///
    /// # Errors
    ///
    /// The domain is unknown.
    pub fn close_domain(&mut self, domain: DomainId) -> Result<(), Error> {
        self.check_domain(domain)?;
        if self.domains.get_mut(domain.0).is_some_and(CongestionDomain::close) {
            self.domains.remove(domain.0);
        }
        Ok(())
    }

    /// How many connections share the domain.
    ///
    /// # Errors
    ///
    /// The domain is unknown.
    pub fn domain_members(&self, domain: DomainId) -> Result<u32, Error> {
        self.domains.get(domain.0).map(CongestionDomain::members).ok_or(Error::UnknownDomain)
    }

    /// What is known of the domain.
    ///
    /// # Errors
    ///
    /// The domain is unknown.
    pub fn domain_status(&self, domain: DomainId) -> Result<DomainStatus, Error> {
        self.domains.get(domain.0).map(CongestionDomain::status).ok_or(Error::UnknownDomain)
    }

    /// Connections that `listener` answers from now on share `domain`; with `None`, each has its own.
    ///
    /// # Errors
    ///
    /// The listener or the domain is unknown.
    pub fn set_listener_domain(
        &mut self,
        listener: ListenerId,
        domain: Option<DomainId>,
    ) -> Result<(), Error> {
        domain.map_or(Ok(()), |domain| self.check_domain(domain))?;
        self.listeners.get_mut(listener.0).ok_or(Error::UnknownListener)?.set_domain(domain);
        Ok(())
    }

    pub(super) fn check_domain(&self, domain: DomainId) -> Result<(), Error> {
        match self.domains.get(domain.0) {
            Some(found) if found.is_open() => Ok(()),
            _ => Err(Error::UnknownDomain),
        }
    }

    /// Where a new connection belongs: `shared`, if that is open, or else a domain of its own.
    pub(super) fn join_domain(
        &mut self,
        shared: Option<DomainId>,
        profile: &Profile,
        ends: &Endpoints,
    ) -> Key {
        if let Some(DomainId(key)) = shared
            && let Some(domain) = self.domains.get_mut(key).filter(|domain| domain.is_open())
        {
            domain.join();
            return key;
        }
        let control = build(profile, self.identity.seed(ends));
        self.domains.insert(CongestionDomain::new(control).starting_from(profile.start))
    }
}

fn build(profile: &Profile, seed: u64) -> Box<dyn CongestionControl> {
    let setup = Setup {
        initial_window: profile.initial_window,
        slow_start_limit: profile.slow_start_limit,
        hystart: profile.features.hystart,
        pacing: profile.features.pacing,
        deliveries: profile.recovery.measures_delivery(),
        seed,
        rules_off: profile.features.rules_off,
    };
    profile.congestion.build(setup, profile.custom.as_ref())
}
