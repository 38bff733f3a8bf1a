//! Options in `--so_flags`.

use std::net::IpAddr;

use headway_tcp::{Profile, Variant};
use headway_units::Duration;

/// The configuration of the stack under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// The profile of every connection, which socket options can change.
    pub(crate) profile: Profile,
    /// Set PSH on bursts like segmentation offload.
    pub(crate) offload: bool,
    /// The local addresses of unbound sockets, one of each family.
    pub(crate) local: [IpAddr; 2],
}

/// An invalid flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FlagError {
    #[error(
        "unknown flag {0:?}: expected a profile (linux, linux22, standard, modern), a variant (newreno, sack, hack, \
         hack+sack, xhack, xhack+sack, modern+hack, headway) or NAME=VALUE with NAME one of mtu, initial_window, \
         timestamps, sack, window_scaling, nagle, ecn, pacing, autotune, tlp, prr, hystart, delayed_ack, min_rto, retries, syn_retries, send_buffer, receive_buffer, \
         offload, local"
    )]
    Unknown(String),
    #[error("flag {name}={value:?}: expected {expected}")]
    Value { name: String, value: String, expected: &'static str },
}

impl Config {
    /// Parses flags separated by commas; later ones override. No flags: profile `linux`.
    pub(crate) fn parse(flags: &str) -> Result<Self, FlagError> {
        let mut config = Self {
            profile: Profile::linux(),
            offload: true,
            local: [IpAddr::from([192, 168, 0, 1]), IpAddr::from([0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1])],
        };
        for flag in flags.split(',').map(str::trim).filter(|flag| !flag.is_empty()) {
            config.set(flag)?;
        }
        Ok(config)
    }

    fn set(&mut self, flag: &str) -> Result<(), FlagError> {
        if let Some((name, value)) = flag.split_once('=') {
            return self.set_value(name.trim(), value.trim());
        }
        match flag {
            "linux" => self.profile = Profile::linux(),
            "linux22" => self.profile = Profile::linux22(),
            "standard" => self.profile = Profile::standard(),
            "modern" => self.profile = Profile::modern(),
            name => {
                let variant: Variant = name.parse().map_err(|_| FlagError::Unknown(name.to_owned()))?;
                let base = if variant.is_modern() { Profile::modern() } else { self.profile.clone() };
                self.profile = variant.apply(base);
            }
        }
        Ok(())
    }

    fn set_value(&mut self, name: &str, value: &str) -> Result<(), FlagError> {
        let fails = |expected| FlagError::Value { name: name.to_owned(), value: value.to_owned(), expected };
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(fails("on or off")),
        };
        let time = || value.parse::<Duration>().map_err(|_| fails("a time such as 40ms"));
        let count = || value.parse::<u32>().map_err(|_| fails("a whole number"));
        let bytes = || value.parse::<usize>().map_err(|_| fails("a number of bytes"));
        let profile = &mut self.profile;
        match name {
            "mtu" => {
                let mtu = value.parse().ok().filter(|mtu| (128..=u16::MAX).contains(mtu));
                profile.mtu = mtu.ok_or_else(|| fails("bytes, 128 to 65535"))?;
            }
            "initial_window" => profile.initial_window = count()?,
            "timestamps" => profile.timestamps = switch()?,
            "sack" => profile.sack = switch()?,
            "window_scaling" => profile.window_scaling = switch()?,
            "nagle" => profile.nagle = switch()?,
            "ecn" => profile.features.ecn = switch()?,
            "pacing" => profile.features.pacing = switch()?,
            "autotune" => profile.features.autotune = switch()?,
            "tlp" => profile.features.tlp = switch()?,
            "prr" => profile.features.prr = switch()?,
            "hystart" => profile.features.hystart = switch()?,
            "delayed_ack" => profile.delayed_ack.timeout = time()?,
            "min_rto" => profile.rto.min = time()?,
            "retries" => profile.rto.retries = Some(count()?),
            "syn_retries" => profile.syn_retries = count()?,
            "send_buffer" => profile.send_buffer = bytes()?,
            "receive_buffer" => profile.receive_buffer = bytes()?,
            "offload" => self.offload = switch()?,
            "local" => {
                let local: IpAddr = value.parse().map_err(|_| fails("an address"))?;
                self.local[usize::from(local.is_ipv6())] = local;
            }
            _ => return Err(FlagError::Unknown(format!("{name}={value}"))),
        }
        Ok(())
    }

    /// The local address of unbound sockets of a family.
    pub(crate) fn local(&self, v6: bool) -> IpAddr {
        self.local[usize::from(v6)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_tcp::HackMode;

    #[test]
    fn no_flags_are_linux() {
        assert_eq!(Config::parse("").unwrap().profile, Profile::linux());
        assert_eq!(Config::parse("linux").unwrap().profile, Profile::linux());
    }

    #[test]
    fn a_variant_changes_a_profile() {
        let profile = Config::parse("linux22, xhack+sack, mtu=576, timestamps=off").unwrap().profile;
        assert_eq!(profile.hack, HackMode::Xhack);
        assert!(profile.sack && !profile.timestamps);
        assert_eq!((profile.mtu, profile.initial_window), (576, 2));
    }

    #[test]
    fn todays_sender_is_a_profile_with_features() {
        assert_eq!(Config::parse("modern").unwrap().profile, Profile::modern());
        let profile = Config::parse("modern,ecn=off,pacing=off").unwrap().profile;
        assert!(!profile.features.ecn && !profile.features.pacing && profile.features.tlp);
        assert!(Config::parse("linux,ecn=on").unwrap().profile.features.ecn);
        assert_eq!(Config::parse("headway").unwrap().profile, Variant::Headway.apply(Profile::modern()));
    }

    #[test]
    fn an_address_replaces_that_of_its_family() {
        let config = Config::parse("local=10.0.0.7").unwrap();
        assert_eq!(config.local(false), IpAddr::from([10, 0, 0, 7]));
        assert!(config.local(true).is_ipv6());
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(Config::parse("linx").unwrap_err(), FlagError::Unknown("linx".into()));
        assert_eq!(Config::parse("mtn=3").unwrap_err(), FlagError::Unknown("mtn=3".into()));
        for flag in ["mtu=100", "mtu=70000", "sack=yes", "min_rto=200", "local=here", "retries=-1"] {
            assert!(matches!(Config::parse(flag), Err(FlagError::Value { .. })), "{flag}");
        }
    }
}
