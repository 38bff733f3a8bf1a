//! The machine's interfaces.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};

/// An interface of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// The kernel's addresses on it.
    pub addresses: Vec<IpAddr>,
    /// Its Ethernet address, if it has one.
    pub hardware: Option<[u8; 6]>,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is the loopback.
    pub loopback: bool,
}

impl Interface {
    /// All interfaces, by name.
    ///
    /// # Errors
    ///
    /// The system call failed.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut found: BTreeMap<String, Self> = BTreeMap::new();
        for entry in getifaddrs()? {
            let flags = entry.flags;
            let interface = found.entry(entry.interface_name.clone()).or_insert_with(|| Self {
                index: if_nametoindex(entry.interface_name.as_str()).unwrap_or(0),
                name: entry.interface_name,
                addresses: Vec::new(),
                hardware: None,
                up: flags.contains(InterfaceFlags::IFF_UP),
                loopback: flags.contains(InterfaceFlags::IFF_LOOPBACK),
            });
            let Some(address) = entry.address else { continue };
            if let Some(v4) = address.as_sockaddr_in() {
                interface.addresses.push(v4.ip().into());
            } else if let Some(v6) = address.as_sockaddr_in6() {
                interface.addresses.push(v6.ip().into());
            } else if let Some(link) = address.as_link_addr() {
                interface.hardware = link.addr();
            }
        }
        Ok(found.into_values().collect())
    }

    /// The interface with this name.
    ///
    /// # Errors
    ///
    /// There is none, or the system call failed.
    pub fn named(name: &str) -> io::Result<Self> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such interface");
        Self::all()?.into_iter().find(|interface| interface.name == name).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_known() {
        let loopback = Interface::all().unwrap().into_iter().find(|interface| interface.loopback).unwrap();
        assert_ne!(loopback.index, 0);
        assert_eq!(Interface::named(&loopback.name).unwrap(), loopback);
        let error = Interface::named("no-such-one").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
