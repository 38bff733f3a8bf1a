//! What a run is made of.

use super::scenario::Scenario;
use crate::content::Content;

/// What determines a run, besides its sender.
#[derive(Clone, Copy)]
pub struct RunSettings<'a> {
    /// The links, the hosts and the other flows.
    pub scenario: &'a Scenario,
    /// What is sent. Where the scenario has a fixed duration, it should have more than can be sent in it
    /// ([`Content::generated`]).
    pub content: &'a Content,
    /// Runs with the same seed meet the same damage, packet by packet, whatever the sender.
    pub seed: u64,
    /// Also takes the SHA-256 of what arrives.
    pub hash: bool,
}
