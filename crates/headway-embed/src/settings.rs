//! What keys say of a host and of a link.

use std::path::Path;
use std::sync::Arc;

use headway_link::LinkConfig;
use headway_scenario::{Defaults, Key, Scope, Sender, Settings, Traces};
use headway_tcp::Profile;
use headway_tcp::congestion::Custom;
use headway_wire::{Dscp, UnknownDscp};

use crate::{Error, Keys};

/// Keys of a host beside the features.
const OF_HOST: [&str; 7] = ["variant", "profile", "rules", "cc", "window", "mtu", "retries"];
/// A queue may be given in bandwidth-delay products, which are rounded up to packets.
const PACKETS: &str = "mtu";
/// Keys of a host that no scenario has: what its packets are marked with.
const DSCP: &str = "dscp";
const HOPS: &str = "ttl";
/// What keys of the other direction begin with.
const REVERSE: &str = "reverse-";

/// A link that transmits in no time, beside networks that have transmitters of their own: no scenario has one.
const RATE: (&str, &str) = ("rate", "unlimited");

/// The sender where none is named.
const VARIANT: (&str, &str) = ("variant", "headway");

fn is_of_host(key: &Key) -> bool {
    key.scope == Scope::Feature || OF_HOST.contains(&key.name)
}

fn is_of_link(key: &Key) -> bool {
    (key.scope.is_of_link() && !key.name.starts_with(REVERSE)) || key.name == PACKETS
}

/// What connections of a host are configured with.
pub(crate) fn profile(keys: &Keys, custom: Option<Custom>) -> Result<Arc<Profile>, Error> {
    let dscp = keys.value(DSCP).map(dscp).transpose()?;
    let hops = keys.value(HOPS).map(hops).transpose()?;
    let mut settings = read(&keys.without(DSCP).without(HOPS), is_of_host, &[VARIANT])?;
    settings.scenario.custom = custom;
    let problem = match settings.sender()? {
        Sender::Ours(entrant) => match entrant.tcp() {
            Some(tcp) => {
                let mut profile = settings.scenario.profile_of(tcp);
                let marked = Arc::make_mut(&mut profile);
                marked.dscp = dscp.unwrap_or(marked.dscp);
                marked.hop_limit = hops.unwrap_or(marked.hop_limit);
                return Ok(profile);
            }
            None => format!("{:?}: expected a TCP, such as headway or modern", entrant.to_string()),
        },
        Sender::Foreign(foreign) => {
            format!("{:?}: expected a TCP of headway's, such as headway or modern", foreign.to_string())
        }
    };
    Err(Error::Key { key: VARIANT.0.to_owned(), problem })
}

fn dscp(text: &str) -> Result<Dscp, Error> {
    text.parse().map_err(|error: UnknownDscp| Error::Key {
        key: DSCP.to_owned(),
        problem: format!("{text:?}: {error}"),
    })
}

fn hops(text: &str) -> Result<u8, Error> {
    let hops = text.parse().ok().filter(|hops| *hops > 0);
    let problem = || format!("{text:?}: expected a whole number from 1 to 255");
    hops.ok_or_else(|| Error::Key { key: HOPS.to_owned(), problem: problem() })
}

/// One direction of a link.
pub(crate) fn link(keys: &Keys) -> Result<LinkConfig, Error> {
    if let Some(name) = keys.names().find(|name| name.starts_with(REVERSE)) {
        let problem =
            format!("a link here is one direction: expected {} of a second link", &name[REVERSE.len()..]);
        return Err(Error::Key { key: name.to_owned(), problem });
    }
    let has_rate = keys.value(RATE.0) != Some(RATE.1);
    let keys = if has_rate { keys } else { &keys.without(RATE.0) };
    let mut config = read(keys, is_of_link, &[])?.scenario.forward;
    if !has_rate {
        config.rate = None;
    }
    Ok(config)
}

fn read(keys: &Keys, is_known: fn(&Key) -> bool, also: &[(&str, &'static str)]) -> Result<Settings, Error> {
    let known = || headway_scenario::keys().iter().filter(|key| is_known(key)).map(|key| key.name);
    if let Some(name) = keys.names().find(|name| known().all(|known| known != *name)) {
        let problem = headway_scenario::unknown_key(name, known().collect::<Vec<_>>().into_iter());
        return Err(Error::Key { key: name.to_owned(), problem });
    }
    let given = |name: &str| {
        keys.value(name).or_else(|| also.iter().find(|(other, _)| *other == name).map(|(_, value)| *value))
    };
    Ok(headway_scenario::read(given, Defaults::Files, &Traces::in_folder(Path::new("")))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_tcp::{HackMode, Variant};
    use headway_units::Duration;

    fn keys(text: &str) -> Keys {
        text.parse().expect(text)
    }

    #[test]
    fn a_host_is_headways_unless_it_is_another() {
        let ours = profile(&Keys::default(), None).expect("no keys");
        assert_eq!(ours.hack, HackMode::V2);
        let other = profile(&keys("variant=hack+sack profile=linux22 mtu=576"), None).expect("keys");
        assert_eq!((other.hack, other.mtu, other.features.ledger), (HackMode::Hack, 576, false));
        let partial = profile(&keys("partial=on tlp=off window=256KiB"), None).expect("keys");
        assert!(partial.features.partial && !partial.features.tlp);
        assert_eq!(partial.receive_buffer, 256 << 10);
        let marked = profile(&keys("variant=modern dscp=EF ttl=9"), None).expect("keys");
        assert_eq!((marked.dscp, marked.hop_limit), (Dscp::EF, 9));
        let cubic = profile(&keys("variant=headway:cubic"), None).expect("keys");
        assert_ne!(cubic.congestion, Variant::Headway.apply(Profile::modern()).congestion);
    }

    #[test]
    fn a_link_is_one_direction() {
        let config = link(&keys("rate=10mbit delay=50ms queue=1bdp damage=random:1%")).expect("keys");
        assert_eq!(config.delay, Duration::from_millis(50));
        assert_eq!(config.queue.to_string(), "84p", "10 Mbit/s in 100 ms, in packets of 1500 bytes");
        assert!(config.rate.is_some());
        let unlimited = link(&keys("rate=unlimited delay=0 damage=random:1%")).expect("keys");
        assert_eq!((unlimited.rate, unlimited.delay), (None, Duration::ZERO));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, expected) in [
            ("variant=tahoe", "variant: \"tahoe\": expected one of newreno"),
            ("variant=oracle", "variant: "),
            ("variant=kernel", "variant: "),
            ("clock=real", "clock: unknown key"),
            ("vriant=sack", "vriant: unknown key (did you mean variant?)"),
            ("rate=10mbit", "rate: unknown key"),
            ("dscp=fast", "dscp: \"fast\": expected a name (EF,"),
            ("ttl=0", "ttl: \"0\": expected a whole number from 1 to 255"),
            ("mtu=10", "mtu: \"10\": expected at least 128 bytes"),
        ] {
            let error = profile(&keys(text), None).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        for (text, expected) in [
            ("rate=0", "rate: "),
            ("variant=headway", "variant: unknown key"),
            (
                "reverse-rate=1mbit",
                "reverse-rate: a link here is one direction: expected rate of a second link",
            ),
            ("damage=trace:/no/such/file", "damage: /no/such/file: cannot be read"),
        ] {
            let error = link(&keys(text)).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
