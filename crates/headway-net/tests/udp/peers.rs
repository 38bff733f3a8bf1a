//! Many peers of one server: each is an address and a port.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use headway_net::{Stack, StackConfig, TcpListener, UdpCarrier, UdpConfig};
use headway_tcp::{Profile, Variant};
use headway_test_fixture::packet;
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::free_addresses;
use headway_test_fixture::rng::Rng;
use headway_test_fixture::translator::Translator;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::pair::{receive, send};

fn start(config: &UdpConfig) -> Stack {
    let carrier = UdpCarrier::open(config).unwrap();
    let addresses = vec![carrier.inner_address()];
    let profile = Some(Variant::Headway.apply(Profile::modern()));
    Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() }).unwrap()
}

/// A server that sends each client the pattern it asks for, and takes the same from it.
struct Server {
    _stack: Stack,
    place: SocketAddr,
}

impl Server {
    fn start(len: usize) -> Self {
        let [place] = free_addresses();
        let stack = start(&UdpConfig { peer: None, ..UdpConfig::new(place, place) });
        let listener = stack.listen(SocketAddr::new(place.ip(), 80), 1024).unwrap();
        tokio::spawn(serve(listener, len));
        Self { _stack: stack, place }
    }
}

async fn serve(listener: TcpListener, len: usize) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let Ok(seed) = stream.read_u32().await else { return };
            let (from, to) = tokio::io::split(stream);
            let bytes = Pattern(seed).bytes(0, len);
            let (sent, got) = tokio::join!(send(to, &bytes), receive(from, Pattern(seed + 1000)));
            // A client that failed says so itself.
            let _ = (sent, got);
        });
    }
}

/// A client of `server`, reached at `at`, exchanges `len` bytes in both directions.
async fn exchange(from: IpAddr, at: SocketAddr, seed: u32, len: usize) {
    let client = start(&UdpConfig::new(SocketAddr::new(from, 0), at));
    let mut stream = client.connect(SocketAddr::new(at.ip(), 80)).await.unwrap();
    stream.write_u32(seed).await.unwrap();
    let (from, to) = tokio::io::split(stream);
    let bytes = Pattern(seed + 1000).bytes(0, len);
    // Generous: a transfer that hangs is to fail, and not to hang the test.
    let both = async { tokio::join!(send(to, &bytes), receive(from, Pattern(seed))) };
    let (sent, got) = timeout(Duration::from_secs(120), both).await.expect("a transfer that ends");
    sent.unwrap_or_else(|error| panic!("client {seed}: {error}"));
    assert_eq!(got.unwrap_or_else(|error| panic!("client {seed}: {error}")), len, "client {seed}");
}

async fn exchange_at_once(count: u32, from: IpAddr, at: SocketAddr, len: usize) {
    let clients: Vec<_> = (0..count).map(|seed| tokio::spawn(exchange(from, at, seed, len))).collect();
    for client in clients {
        client.await.unwrap();
    }
}

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_clients_at_one_address() {
    let len = 1_000_000;
    let server = Server::start(len);
    exchange_at_once(10, LOOPBACK, server.place, len).await;
}

/// They do not know the address that the server sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_clients_behind_a_translator() {
    let len = 500_000;
    let server = Server::start(len);
    let inlet = free_addresses::<1>()[0];
    let inlet = SocketAddr::new([127, 0, 0, 3].into(), inlet.port());
    let _translator = Translator::new(inlet, [127, 0, 0, 4].into(), server.place, usize::MAX);
    exchange_at_once(10, [127, 0, 0, 2].into(), inlet, len).await;
}

/// A translator forgets the ports under way, and gives others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_translator_that_changes_the_port() {
    // In each direction 3,500 datagrams.
    let len = 5_000_000;
    let server = Server::start(len);
    let inlet = free_addresses::<1>()[0];
    let _translator = Translator::new(inlet, LOOPBACK, server.place, 1000);
    exchange(LOOPBACK, inlet, 1, len).await;
}

/// From other ports of the client's address, and with the TCP ports of its connection: SYNs, and segments with
/// numbers that were guessed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spoofed_datagrams_move_no_one() {
    let len = 5_000_000;
    let server = Server::start(len);
    let client = start(&UdpConfig::new(SocketAddr::new(LOOPBACK, 0), server.place));
    let mut stream = client.connect(SocketAddr::new(LOOPBACK, 80)).await.unwrap();
    stream.write_u32(1).await.unwrap();
    let port = stream.local_addr().unwrap().port();
    let impostor = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    impostor.connect(server.place).unwrap();
    let mut rng = Rng::new(1);
    let mut spoof = move || {
        for flags in
            [TcpFlags::SYN, TcpFlags::ACK, TcpFlags::RST | TcpFlags::ACK, TcpFlags::FIN | TcpFlags::ACK]
        {
            let (seq, ack) = (SeqNumber(rng.next() as u32), SeqNumber(rng.next() as u32));
            let segment = datagram(&TcpHeader { seq, ack, ..packet::tcp(port, 80, flags) }, b"");
            // The server may have said that its socket is full.
            let _ = impostor.send(&segment);
        }
    };
    spoof();
    let (mut from, to) = tokio::io::split(stream);
    let bytes = Pattern(1001).bytes(0, len);
    let reading = async {
        let (mut buffer, mut got) = (vec![0; 1 << 16], 0);
        while let n @ 1.. = from.read(&mut buffer).await.unwrap() {
            Pattern(1).check(got, &buffer[..n]);
            got += n;
            spoof();
        }
        got
    };
    let (sent, got) = tokio::join!(send(to, &bytes), reading);
    sent.unwrap();
    assert_eq!(got, len);
}

/// Two hosts behind one address that use the same port of TCP: both are answered, each with its own connection.
#[tokio::test]
async fn equal_ports_of_tcp() {
    let server = Server::start(0);
    let mut answers = Vec::new();
    let hosts = [1, 2].map(|isn| {
        let host = UdpSocket::bind((LOOPBACK, 0)).unwrap();
        host.connect(server.place).unwrap();
        host.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let syn =
            TcpHeader { seq: SeqNumber(isn), ack: SeqNumber(0), ..packet::tcp(50_000, 80, TcpFlags::SYN) };
        host.send(&datagram(&syn, b"")).unwrap();
        (host, isn)
    });
    for (host, isn) in &hosts {
        let mut answer = [0; 2048];
        let len = host.recv(&mut answer).unwrap();
        assert!(len >= 20);
        let ack = u32::from_be_bytes(*answer[8..].first_chunk().unwrap());
        assert_eq!(answer[13] & 0x17, 0x12, "a SYN-ACK");
        assert_eq!(ack, isn + 1);
        answers.push(answer[4..8].to_vec());
    }
    assert_ne!(answers[0], answers[1], "two connections");
}

/// A segment as it is in a datagram.
fn datagram(tcp: &TcpHeader, payload: &[u8]) -> Vec<u8> {
    let zero = packet::ip([0; 4].into(), [0; 4].into());
    packet::segment(&zero, tcp, &TcpOptions::default(), payload)[20..].to_vec()
}
