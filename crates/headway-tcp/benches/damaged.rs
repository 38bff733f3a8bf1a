//! What a damaged packet costs its receiver: `cargo bench -p headway-tcp`. The worst is one that an attacker on the
//! path makes up so that header repair searches for it in vain.

use divan::counter::ItemsCount;
use headway_tcp::{Profile, Variant};
use headway_test_fixture::rng::Rng;
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts};
use headway_units::Duration;

fn main() {
    divan::main();
}

/// Where the TCP header begins.
const TCP: usize = 20;
/// With timestamps: the header CRC, the payload CRC, and what is behind them.
const CRC: usize = TCP + 36;
const BEHIND: usize = TCP + 44;

/// Two hosts that both have data in the network, of which the server misses every second segment, and the first of
/// those: each field
/// of the next header has as many possible values as it ever has.
fn hosts() -> (TwoHosts, Vec<u8>) {
    let mut pair = TwoHosts::connected(Variant::Headway.apply(Profile::modern()));
    for host in [CLIENT, SERVER] {
        pair.write(host, 50_000);
        pair.wait(Duration::from_secs(1));
    }
    pair.read(SERVER);
    pair.read(CLIENT);
    pair.write(SERVER, 2000);
    pair.sent(SERVER);
    pair.write(CLIENT, 50_000);
    let flight = pair.sent(CLIENT);
    pair.now += Duration::from_millis(3);
    let every_second: Vec<_> = flight.iter().skip(1).step_by(2).collect();
    pair.deliver(SERVER, &every_second);
    pair.sent(SERVER);
    (pair, flight[0].clone())
}

/// Bits that no search explains.
fn spoil_crcs(packet: &mut [u8]) {
    for byte in [CRC, CRC + 1, CRC + 2, CRC + 4, CRC + 5, CRC + 6] {
        packet[byte] ^= 0x11;
    }
}

/// What arrives.
#[derive(Clone, Copy, Debug)]
enum Arriving {
    /// An intact segment that the server has already.
    Repeated,
    /// A segment whose payload is corrupted.
    DamagedPayload,
    /// A header with one flipped bit: it is repaired.
    OneFlip,
    /// Right ports and random numbers, as of a blind attacker.
    Blind,
    /// Numbers as expected, and no header that its CRC confirms.
    Vain,
    /// The same, with a data offset that permits SACK blocks: two layouts are searched.
    VainTwice,
}

impl Arriving {
    /// Made of a segment that the server waits for.
    fn packet(self, pair: &mut TwoHosts, mut packet: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Repeated => pair.deliver(SERVER, &[&packet]),
            Self::DamagedPayload => *packet.last_mut().expect("data") ^= 1,
            Self::OneFlip => packet[TCP + 5] ^= 1,
            Self::Blind => {
                let mut rng = Rng::new(1);
                rng.fill(&mut packet[TCP + 4..TCP + 12]);
                rng.fill(&mut packet[TCP + 24..TCP + 32]);
            }
            Self::Vain => spoil_crcs(&mut packet),
            Self::VainTwice => {
                spoil_crcs(&mut packet);
                packet[TCP + 12] = 14 << 4;
                packet[BEHIND..BEHIND + 4].copy_from_slice(&[1, 1, 5, 10]);
            }
        }
        packet
    }
}

/// Each is received, and what the server has to send then is built. They come as fast as headers are searched.
#[divan::bench(args = [
    Arriving::Repeated, Arriving::DamagedPayload, Arriving::OneFlip, Arriving::Blind, Arriving::Vain,
    Arriving::VainTwice,
])]
fn receive(bencher: divan::Bencher<'_, '_>, arriving: Arriving) {
    let (mut pair, awaited) = hosts();
    let packet = arriving.packet(&mut pair, awaited);
    pair.sent(SERVER);
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
        pair.now += Duration::from_micros(100);
        pair.deliver(SERVER, &[&packet]);
        pair.sent(SERVER)
    });
}
