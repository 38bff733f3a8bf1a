//! Gateways that cannot connect say so, and why.

use headway_test_fixture::log::Log;
use headway_test_fixture::process::free_addresses;
use headway_trunk::{Config, Gateway};
use headway_trunk_proto::SecretKey;

use super::pair::{key_file, wait_until};

#[tokio::test]
async fn a_peer_that_does_not_answer_and_one_that_is_refused_are_named() {
    let log = Log::up_to(tracing::Level::WARN);
    let _guard = tracing::subscriber::set_default(log.clone());
    let folder = tempfile::tempdir().expect("a folder");
    let [near_at, far_at, closed] = free_addresses();
    let keys = [1, 2, 3].map(|byte| SecretKey::from_bytes([byte; 32]));
    key_file(folder.path(), "near.key", &keys[0]);
    key_file(folder.path(), "far.key", &keys[1]);
    let path = folder.path().join("gateway.toml");
    let start =
        |text: &str| Gateway::start(&Config::parse(text, &path).expect("a configuration")).expect("a start");
    let near = start(&format!(
        "gateway = {{ key-file = 'near.key', listen = '{near_at}' }}\n\
         [[peer]]\nname = 'mistaken'\npublic-key = '{}'\nendpoint = '{far_at}'\n\
         [[peer]]\nname = 'closed'\npublic-key = '{}'\nendpoint = '{closed}'\n",
        keys[2].public(),
        keys[1].public()
    ));
    let _far = start(&format!(
        "gateway = {{ key-file = 'far.key', listen = '{far_at}' }}\n\
         [[peer]]\nname = 'near'\npublic-key = '{}'\n",
        keys[0].public()
    ));
    let is_said = || log.lines("no answer").len() >= 2 && !log.lines("another public key").is_empty();
    wait_until("a line of each", is_said).await;
    let no_answer =
        |name: &str| log.lines("no answer").into_iter().find(|line| line.contains(name)).expect(name);
    assert!(no_answer("closed").contains(&format!("endpoint={closed} seconds=")), "{}", no_answer("closed"));
    assert!(no_answer("closed").contains("Connection refused"), "{}", no_answer("closed"));
    assert!(no_answer("mistaken").contains("icmp=\"nothing\""), "{}", no_answer("mistaken"));
    let line = &log.lines("another public key")[0];
    assert!(line.contains(&format!("from={near_at}")) && line.contains("times="), "{line}");
    for peer in near.status().peers {
        assert!(!peer.connected && peer.trying_seconds.is_some_and(|seconds| seconds > 4.0), "{peer:?}");
    }
    // Once a minute: ICMP of the one that does not answer is waited for longer than until the next look.
    assert_eq!(log.lines("no answer").len(), 2);
}
