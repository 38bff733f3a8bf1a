//! The entries of a running gateway: which listen, and how they are changed while streams go on.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::task::{AbortHandle, JoinSet};

use super::{EntryKind, OpenEntry, Target};
use crate::request::Destination;
use crate::stream::{PeerLink, trains};
use crate::{Config, Reloaded, TrunkError};

/// An entry of the configuration.
struct Wanted {
    listen: SocketAddr,
    target: Target,
    /// For messages.
    what: String,
}

/// An entry that listens.
struct Running {
    /// What the configuration says; the port may be 0.
    listen: SocketAddr,
    address: SocketAddr,
    target: Arc<RwLock<Target>>,
    what: String,
    task: AbortHandle,
}

/// What another configuration asks for. Its new entries listen, and take no connections yet.
pub(crate) struct Prepared {
    wanted: Vec<Wanted>,
    /// For each, the place of the running entry that stays.
    kept: Vec<Option<usize>>,
    bound: Vec<(SocketAddr, OpenEntry, Arc<RwLock<Target>>)>,
}

/// The entries of a gateway, in the order of its configuration.
#[derive(Default)]
pub(crate) struct Entries {
    running: Vec<Running>,
    tasks: JoinSet<()>,
}

impl Entries {
    /// Where they listen.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.running.iter().map(|entry| entry.address).collect()
    }

    /// Does all that may fail of bringing them to what a configuration says: new ones listen. Nothing changes before
    /// [`Entries::apply`].
    pub(crate) fn prepare(&self, config: &Config, links: &[Arc<PeerLink>]) -> Result<Prepared, TrunkError> {
        let wanted = wanted(config, links)?;
        let mut kept: Vec<Option<usize>> = Vec::new();
        let mut bound = Vec::new();
        for entry in &wanted {
            let is_same = |at: &usize| {
                let running = &self.running[*at];
                let is_alike = running.target().kind.is_transparent() == entry.target.kind.is_transparent();
                running.listen == entry.listen && is_alike && !kept.contains(&Some(*at))
            };
            let same = (0..self.running.len()).find(is_same);
            kept.push(same);
            if same.is_none() {
                let failed = |source: io::Error| TrunkError::Listen { what: entry.what.clone(), source };
                let target = Arc::new(RwLock::new(entry.target.clone()));
                let opened = OpenEntry::listen(entry.listen, target.clone()).map_err(failed)?;
                bound.push((opened.local_addr().map_err(failed)?, opened, target));
            }
        }
        Ok(Prepared { wanted, kept, bound })
    }

    /// Brings them to what was prepared. Those that stay go on listening; streams go on in any case.
    pub(crate) fn apply(&mut self, prepared: Prepared) -> Reloaded {
        let Prepared { wanted, kept, bound } = prepared;
        let mut reloaded = Reloaded::default();
        let mut before: Vec<Option<Running>> =
            std::mem::take(&mut self.running).into_iter().map(Some).collect();
        let mut bound = bound.into_iter();
        for (entry, same) in wanted.into_iter().zip(kept) {
            if let Some(mut running) = same.and_then(|at| before[at].take()) {
                if !running.target().is_same(&entry.target) {
                    *running.target.write().unwrap_or_else(PoisonError::into_inner) = entry.target;
                    reloaded.changed.push(entry.what.clone());
                }
                running.what = entry.what;
                self.running.push(running);
            } else if let Some((address, opened, target)) = bound.next() {
                let task = self.tasks.spawn(opened.serve());
                reloaded.added.push(entry.what.clone());
                self.running.push(Running { listen: entry.listen, address, target, what: entry.what, task });
            }
        }
        for gone in before.into_iter().flatten() {
            gone.task.abort();
            reloaded.removed.push(gone.what);
        }
        self.keep_spare();
        while self.tasks.try_join_next().is_some() {}
        reloaded
    }

    /// Connections are opened ahead of need to those peers to which an entry leads, from now on, and the links are measured.
    fn keep_spare(&mut self) {
        let links: Vec<Arc<PeerLink>> =
            self.running.iter().map(|entry| entry.target().link.clone()).collect();
        for link in links {
            self.tasks.spawn(link.clone().keep_spare());
            self.tasks.spawn(trains::exchange(link));
        }
    }

    /// Ends all of them.
    pub(crate) fn abort(&mut self) {
        self.tasks.abort_all();
    }
}

impl Running {
    fn target(&self) -> std::sync::RwLockReadGuard<'_, Target> {
        self.target.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a configuration says, in the order of [`Entries::addresses`]: forwards, SOCKS, transparent.
fn wanted(config: &Config, links: &[Arc<PeerLink>]) -> Result<Vec<Wanted>, TrunkError> {
    let mut wanted = Vec::new();
    let mut add = |listen: SocketAddr, peer: Option<&str>, kind: EntryKind, name: &str| {
        let what = format!("{name} {listen}");
        let link = links[config.peer_of(peer, &what)?].clone();
        wanted.push(Wanted { listen, target: Target { kind, link }, what });
        Ok::<_, TrunkError>(())
    };
    for forward in &config.forwards {
        let to = Destination::parse(&forward.to).ok_or_else(|| {
            TrunkError::value(
                "forward.to",
                &forward.to,
                "a host and a port, such as 10.0.0.5:22, and no interface: the peer connects",
            )
        })?;
        add(forward.listen, forward.peer.as_deref(), EntryKind::Forward(to), "forward")?;
    }
    for socks in &config.socks {
        add(socks.listen, socks.peer.as_deref(), EntryKind::Socks { fast_open: socks.fast_open }, "socks")?;
    }
    for transparent in &config.transparent {
        add(transparent.listen, transparent.peer.as_deref(), EntryKind::Transparent, "transparent")?;
    }
    Ok(wanted)
}
