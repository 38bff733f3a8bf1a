//! The links to the peers of a running gateway, which come and go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_trunk_proto::PeerId;

use super::PeerLink;

/// The links to the peers, by their places in the tunnel. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Links(Arc<Mutex<Vec<Option<Arc<PeerLink>>>>>);

impl Links {
    /// The place of the next one.
    pub(crate) fn next(&self) -> PeerId {
        PeerId(self.lock().len())
    }

    /// Another one, in the next place.
    pub(crate) fn add(&self, link: Arc<PeerLink>) {
        self.lock().push(Some(link));
    }

    /// That of the peer in a place, unless it was removed.
    pub(crate) fn get(&self, place: PeerId) -> Option<Arc<PeerLink>> {
        self.lock().get(place.0).cloned().flatten()
    }

    /// All, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Arc<PeerLink>> {
        self.lock().iter().flatten().cloned().collect()
    }

    /// Removes the link to a peer.
    pub(crate) fn remove(&self, link: &PeerLink) {
        if let Some(place) = self.lock().get_mut(link.place.0) {
            *place = None;
        }
        link.remove();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Arc<PeerLink>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
