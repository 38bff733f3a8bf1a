//! The DSCP of connections of the kernel's TCP.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use headway_wire::{Dscp, Ecn};
use socket2::SockRef;

use crate::sys;

/// Has the kernel keep the SYN of each connection that `listener` accepts from now on, for [`syn_dscp`].
///
/// # Errors
///
/// It is no TCP socket.
pub fn keep_syns(listener: impl AsFd) -> io::Result<()> {
    sys::set_option(listener.as_fd(), libc::IPPROTO_TCP, libc::TCP_SAVE_SYN, 1)
}

/// The DSCP of the SYN of an accepted connection. It can be asked once; after that, and without [`keep_syns`] or with a
/// SYN cookie, it is the default.
///
/// # Errors
///
/// It is no TCP socket.
pub fn syn_dscp(accepted: impl AsFd) -> io::Result<Dscp> {
    sys::saved_syn(accepted.as_fd(), |syn| Dscp::of_packet(syn).unwrap_or_default())
}

/// Sets the DSCP of what a socket sends to `peer`; the ECN bits stay the kernel's.
///
/// # Errors
///
/// The kernel permits this DSCP to the privileged alone, or the socket is not of the family of `peer`.
pub fn set_dscp(socket: &impl AsFd, peer: IpAddr, dscp: Dscp) -> io::Result<()> {
    let (socket, octet) = (SockRef::from(socket), dscp.traffic_class(Ecn::NotEct).into());
    if peer.to_canonical().is_ipv4() { socket.set_tos_v4(octet) } else { socket.set_tclass_v6(octet) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use socket2::{Domain, Socket, Type};

    use super::*;

    fn connected(listen: &str, connect: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(listen).expect("a free port");
        keep_syns(&listener).expect("Linux 4.2 or later");
        let mut to: std::net::SocketAddr = connect.parse().expect("an address");
        to.set_port(listener.local_addr().expect("an address").port());
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        set_dscp(&socket, to.ip(), Dscp::EF).expect("a DSCP");
        socket.connect(&to.into()).expect("a connection");
        (socket.into(), listener.accept().expect("a connection").0)
    }

    #[test]
    fn the_dscp_of_a_syn_is_known_and_answered_with() {
        for (listen, connect) in
            [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")]
        {
            let (_client, accepted) = connected(listen, connect);
            assert_eq!(syn_dscp(&accepted).expect("a SYN"), Dscp::EF, "{listen}");
            assert_eq!(syn_dscp(&accepted).expect("no error"), Dscp::DEFAULT, "{listen}: a second time");
            let peer = accepted.peer_addr().expect("an address").ip();
            set_dscp(&accepted, peer, Dscp::EF).expect("a DSCP");
            let socket = SockRef::from(&accepted);
            let octet = if peer.to_canonical().is_ipv4() { socket.tos_v4() } else { socket.tclass_v6() };
            assert_eq!(octet.expect("an octet"), 0xb8, "{listen}");
        }
    }
}
