//! The peer, with the kernel's TCP.

use std::net::{Shutdown, TcpListener, TcpStream};

use socket2::SockRef;

use crate::{Error, traffic};

/// Serves one connection at the address in `words`.
pub(crate) fn run(words: &[&str]) -> Result<(), Error> {
    let &[address] = words else { return Err("peer: expected ADDRESS:PORT".into()) };
    let port = address.rsplit_once(':').ok_or("expected ADDRESS:PORT")?.1;
    let listener = TcpListener::bind(format!("0.0.0.0:{port}"))?;
    println!("listening");
    let (mut stream, _) = listener.accept()?;
    use_cubic(&stream)?;
    traffic::answer(&mut stream)?;
    stream.shutdown(Shutdown::Write)?;
    Ok(())
}

/// Sets the kernel's congestion control to that of the stack's profile, independent of the machine's
/// default.
pub(crate) fn use_cubic(stream: &TcpStream) -> Result<(), Error> {
    let set = SockRef::from(stream).set_tcp_congestion(b"cubic");
    Ok(set.map_err(|error| format!("the kernel has no cubic: {error}"))?)
}
