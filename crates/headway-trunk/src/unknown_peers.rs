//! Gateways that are no peers, and ask: the log has the key of each, as a configuration takes it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use headway_trunk_proto::PublicKey;

use crate::status::Repeated;

/// Keys that are remembered; anyone can make others.
const MOST: usize = 64;

/// Those that were refused.
#[derive(Default)]
pub(crate) struct UnknownPeers {
    keys: BTreeMap<PublicKey, Repeated>,
    /// Of keys that are too many to be remembered.
    others: Repeated,
}

impl UnknownPeers {
    /// A handshake of the key was refused, from there. Each key is said at once, and then once a minute.
    pub(crate) fn refused(&mut self, key: PublicKey, from: SocketAddr) {
        let is_known = self.keys.len() < MOST || self.keys.contains_key(&key);
        let repeated = if is_known { self.keys.entry(key).or_default() } else { &self.others };
        if let Some(times) = repeated.happened() {
            tracing::warn!(
                %from,
                times,
                "a gateway that is no peer was refused; if it is to be one, add: [[peer]] public-key = \"{key}\""
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::log::Log;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_key_is_said_at_once_and_whole() {
        let log = Log::up_to(tracing::Level::WARN);
        let _guard = tracing::subscriber::set_default(log.clone());
        let mut unknown = UnknownPeers::default();
        let keys = [1, 2].map(|byte| PublicKey::from_bytes([byte; 32]));
        for key in [keys[0], keys[0], keys[1]] {
            unknown.refused(key, ([192, 0, 2, 1], 9).into());
        }
        let lines = log.lines("no peer");
        assert_eq!(lines.len(), 2, "{lines:?}");
        for (line, key) in lines.iter().zip(keys) {
            assert!(line.contains(&format!("add: [[peer]] public-key = \"{key}\"")), "{line}");
            assert!(line.contains("from=192.0.2.1:9"), "{line}");
        }
        for byte in 3..=255 {
            unknown.refused(PublicKey::from_bytes([byte; 32]), ([192, 0, 2, 1], 9).into());
        }
        assert_eq!(log.lines("no peer").len(), MOST + 1);
    }
}
