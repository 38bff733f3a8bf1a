//! What an interface is connected to on this machine, as the kernel's rtnetlink(7) reports it.

use std::io::{self, Read as _, Write as _};

use socket2::{Domain, Protocol, Socket, Type};

/// What an interface is connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    /// The interface at the other end, as of a veth, if that is in the same namespace.
    pub(crate) peer: Option<u32>,
    /// The bridge or bond whose port it is.
    pub(crate) master: Option<u32>,
}

const HEADER: usize = 16;
const LINK_MESSAGE: usize = 16;
const ATTRIBUTE: usize = 4;

const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
/// Only if the other interface is in another namespace.
const IFLA_LINK_NETNSID: u16 = 37;

impl Topology {
    /// That of the interface of this index, in the namespace of the calling thread.
    pub(crate) fn of(index: u32) -> io::Result<Self> {
        let mut socket = Socket::new(
            Domain::from(libc::AF_NETLINK),
            Type::RAW,
            Some(Protocol::from(libc::NETLINK_ROUTE)),
        )?;
        socket.write_all(&request(index))?;
        let mut buffer = vec![0; 1 << 16];
        let len = socket.read(&mut buffer)?;
        parse(&buffer[..len])
    }
}

/// RTM_GETLINK for one interface.
fn request(index: u32) -> [u8; HEADER + LINK_MESSAGE] {
    let mut message = [0; HEADER + LINK_MESSAGE];
    let mut put = |at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &((HEADER + LINK_MESSAGE) as u32).to_ne_bytes());
    put(4, &libc::RTM_GETLINK.to_ne_bytes());
    put(6, &(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    put(HEADER + 4, &index.to_ne_bytes());
    message
}

fn parse(message: &[u8]) -> io::Result<Topology> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "an answer of rtnetlink that is too short");
    let kind = u16::from_ne_bytes(message.get(4..6).and_then(|b| b.try_into().ok()).ok_or_else(bad)?);
    if i32::from(kind) == libc::NLMSG_ERROR {
        let code = message.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok()).ok_or_else(bad)?;
        return Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(code)));
    }
    let mut rest = message.get(HEADER + LINK_MESSAGE..).ok_or_else(bad)?;
    let (mut topology, mut is_elsewhere) = (Topology::default(), false);
    while let Some((header, _)) = rest.split_first_chunk::<ATTRIBUTE>() {
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]);
        let value = rest.get(ATTRIBUTE..len).ok_or_else(bad)?;
        let number = || value.try_into().ok().map(u32::from_ne_bytes);
        match kind {
            IFLA_LINK => topology.peer = number(),
            IFLA_MASTER => topology.master = number(),
            IFLA_LINK_NETNSID => is_elsewhere = true,
            _ => {}
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    if is_elsewhere {
        topology.peer = None;
    }
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interface;

    #[test]
    fn the_loopback_is_connected_to_nothing() {
        let index = Interface::named("lo").unwrap().index;
        assert_eq!(Topology::of(index).unwrap(), Topology::default());
        assert_eq!(Topology::of(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }

    fn answer(attributes: &[(u16, u32)]) -> Vec<u8> {
        let mut message = vec![0; HEADER + LINK_MESSAGE];
        message[4..6].copy_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
        for (kind, value) in attributes {
            message.extend_from_slice(&8_u16.to_ne_bytes());
            message.extend_from_slice(&kind.to_ne_bytes());
            message.extend_from_slice(&value.to_ne_bytes());
        }
        message
    }

    #[test]
    fn a_peer_in_another_namespace_is_none() {
        let of = |attributes: &[_]| parse(&answer(attributes)).unwrap();
        let (peer, master) = (Some(7), Some(9));
        assert_eq!(of(&[(IFLA_LINK, 7), (IFLA_MASTER, 9)]), Topology { peer, master });
        assert_eq!(of(&[(IFLA_LINK, 7), (IFLA_LINK_NETNSID, 0)]), Topology::default());
        for len in 0..answer(&[(IFLA_LINK, 7)]).len() {
            // Whatever is missing, nothing panics.
            let _ = parse(&answer(&[(IFLA_LINK, 7)])[..len]);
        }
        let mut long = answer(&[(IFLA_LINK, 7)]);
        long[HEADER + LINK_MESSAGE] = 200;
        assert!(parse(&long).is_err());
    }
}
