//! How many connections a server has, counted by client.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open connections of each client.
pub struct Clients {
    /// The most of one client.
    most: usize,
    open: Mutex<BTreeMap<IpAddr, Client>>,
}

#[derive(Default)]
struct Client {
    connections: usize,
    is_told: bool,
}

/// A client has all the connections that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// It was not refused since it last had none.
    pub is_first: bool,
}

/// A place for one connection. Its drop is the connection's end.
pub struct ClientPlace {
    clients: Arc<Clients>,
    client: IpAddr,
}

impl Clients {
    /// At most as many connections of each client.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    /// A place for a connection from this address.
    pub fn admit(self: &Arc<Self>, from: IpAddr) -> Result<ClientPlace, TooMany> {
        let client = client(from);
        let mut open = self.open();
        let entry = open.entry(client).or_default();
        if entry.connections >= self.most {
            return Err(TooMany { is_first: !std::mem::replace(&mut entry.is_told, true) });
        }
        entry.connections += 1;
        Ok(ClientPlace { clients: self.clone(), client })
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Client>> {
        // Nothing panics while it holds the lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        let mut open = self.clients.open();
        if let Some(entry) = open.get_mut(&self.client) {
            entry.connections -= 1;
            if entry.connections == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// A host chooses addresses within its /64 network as it likes (RFC 8981), so that all of them are one client.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(clients: &Arc<Clients>, from: &str) -> Result<ClientPlace, TooMany> {
        clients.admit(from.parse().expect("an address"))
    }

    #[test]
    fn each_client_has_its_own_share() {
        let clients = Clients::new(2);
        let mut first = vec![admit(&clients, "10.0.0.1"), admit(&clients, "::ffff:10.0.0.1")];
        assert!(first.iter().all(Result::is_ok));
        assert_eq!(admit(&clients, "10.0.0.1").err(), Some(TooMany { is_first: true }));
        assert_eq!(admit(&clients, "10.0.0.1").err(), Some(TooMany { is_first: false }));
        let _other = admit(&clients, "10.0.0.2").expect("a place");
        first.pop();
        first.push(admit(&clients, "10.0.0.1"));
        assert!(first.iter().all(Result::is_ok));
        first.clear();
        assert_eq!(clients.open().len(), 1, "a client without connections is forgotten");
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_are_one_client() {
        let clients = Clients::new(1);
        let _place = admit(&clients, "2001:db8::1").expect("a place");
        assert!(admit(&clients, "2001:db8::ffff:1").is_err());
        assert!(admit(&clients, "2001:db8:0:1::1").is_ok());
    }
}
