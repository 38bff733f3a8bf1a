//! The DSCP with which a host opens a connection, at the far end of its stream.

use std::net::SocketAddr;

use headway_net::{keep_syns, set_dscp, syn_dscp};
use headway_wire::Dscp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::pair::{Pair, server};

/// A SOCKS5 client whose SYN has a DSCP.
async fn through(socks: SocketAddr, to: SocketAddr, dscp: Dscp) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    set_dscp(&socket, socks.ip(), dscp).expect("a DSCP");
    let mut stream = socket.connect(socks).await.expect("the SOCKS server");
    let SocketAddr::V4(to) = to else { panic!("an IPv4 address") };
    let [high, low] = to.port().to_be_bytes();
    let request = [&[5, 1, 0, 5, 1, 0, 1][..], &to.ip().octets(), &[high, low]].concat();
    stream.write_all(&request).await.expect("open");
    let mut reply = [0; 12];
    stream.read_exact(&mut reply).await.expect("a reply");
    assert_eq!(reply[3], 0, "{reply:?}");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_sees_the_dscp_of_the_host() {
    let pair = Pair::start("").await;
    let (listener, address) = server().await;
    keep_syns(&listener).expect("Linux 4.2 or later");
    for dscp in ["EF", "CS0", "AF41", "3"] {
        let dscp: Dscp = dscp.parse().expect("a codepoint");
        let client = through(pair.socks, address, dscp).await;
        let (served, _) = listener.accept().await.expect("a connection");
        assert_eq!(syn_dscp(&served).expect("a SYN"), dscp);
        drop((client, served));
    }
}
