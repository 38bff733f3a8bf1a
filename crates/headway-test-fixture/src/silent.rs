//! A destination that answers no SYN, without privilege: a listener whose backlog is full.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// At a free port of the loopback. It is silent until something is accepted from it.
#[derive(Debug)]
pub struct Silent {
    listener: TcpListener,
    _filling: Vec<TcpStream>,
}

impl Silent {
    /// Makes one. It blocks for a moment.
    pub fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
        socket.listen(0).expect("a listener");
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().expect("an address");
        // Beyond its backlog the kernel answers no SYN.
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
        let filling = std::iter::from_fn(connect).collect();
        Self { listener, _filling: filling }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    /// Waits for a connection, the first of which are its own. From then on it answers.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn accept(&self) -> io::Result<TcpStream> {
        self.listener.accept().map(|(stream, _)| stream)
    }
}

impl Default for Silent {
    fn default() -> Self {
        Self::new()
    }
}
