//! TCP over the frames of modems, damaged in many places and in both directions.

mod datagrams;
mod kiss;
mod monitor;
mod serial;

use std::net::{IpAddr, SocketAddr};

use headway_net::{FramesCarrier, FramesConfig, ModemConfig, NetError, Stack, StackConfig, TcpStream};
use headway_tcp::{Profile, Statistics, Variant};
use headway_test_fixture::pattern::Pattern;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn name(host: u8) -> IpAddr {
    IpAddr::from([10, 77, 2, host])
}

/// The carrier of end 1 or 2.
fn open(modem: ModemConfig, own: u8, mtu: u16) -> Result<FramesCarrier, NetError> {
    FramesCarrier::open(&FramesConfig { modem, address: name(own), peer: name(3 - own), mtu })
}

/// A stack of end 1 or 2.
fn start(modem: ModemConfig, own: u8, mtu: u16) -> Stack {
    let profile = Some(Variant::Headway.apply(Profile::modern()));
    let config = StackConfig { addresses: vec![name(own)], profile, ..StackConfig::default() };
    Stack::start(open(modem, own, mtu).unwrap(), config).unwrap()
}

/// Sends `len` bytes each way over a connection of the two, and compares all of them. What both ends say of it; `half` is
/// called when half of the client's have been sent.
async fn both_ways(stacks: &[Stack; 2], len: usize, half: impl FnOnce()) -> [Statistics; 2] {
    let address = SocketAddr::from(([10, 77, 2, 2], 80));
    let listener = stacks[1].listen(address, 1).unwrap();
    let (client, server) = tokio::join!(stacks[0].connect(address), listener.accept());
    let (mut client, (mut server, _)) = (client.unwrap(), server.unwrap());
    let (up, down) = (Pattern(31), Pattern(32));
    {
        let ((client_in, mut client_out), (server_in, mut server_out)) =
            (tokio::io::split(&mut client), tokio::io::split(&mut server));
        let send_up = async {
            client_out.write_all(&up.bytes(0, len / 2)).await.unwrap();
            half();
            client_out.write_all(&up.bytes(len / 2, len - len / 2)).await.unwrap();
            client_out.shutdown().await.unwrap();
        };
        let send_down = async {
            server_out.write_all(&down.bytes(0, len)).await.unwrap();
            server_out.shutdown().await.unwrap();
        };
        let ((), (), got_up, got_down) =
            tokio::join!(send_up, send_down, receive(server_in, up), receive(client_in, down));
        assert_eq!((got_up, got_down), (len, len));
    }
    [client, server].map(|end: TcpStream| end.statistics().unwrap())
}

async fn receive(mut stream: impl tokio::io::AsyncRead + Unpin, pattern: Pattern) -> usize {
    let (mut len, mut buffer) = (0, vec![0; 1 << 14]);
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => return len,
            n => {
                pattern.check(len, &buffer[..n]);
                len += n;
            }
        }
    }
}
