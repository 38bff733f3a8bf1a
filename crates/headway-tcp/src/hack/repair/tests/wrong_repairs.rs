//! How often a repair is wrong, over many damaged headers, and how often it may be (`docs/repair.md`): each test of a
//! header that was not sent accepts it with a probability of 2^-32.

extern crate std;

use headway_wire::ip::Datagram;

use super::super::limit::Budget;
use super::*;

/// Where the two CRCs stand in a header with timestamps.
const CRCS: core::ops::Range<usize> = IP + 36..IP + 44;

/// How headers are damaged.
#[derive(Clone, Copy)]
enum Damage {
    /// Between these two numbers of bits, anywhere in the header.
    Flips(usize, usize),
    /// The two CRCs are noise, and everything else is as expected: of what an attacker can send, this makes the
    /// receiver test most. With this number of SACK blocks.
    Crcs(u32),
}

/// What came of the headers.
#[derive(Default)]
struct Tally {
    repaired: u32,
    wrong: u32,
    tests: u64,
}

impl Tally {
    /// The number of wrong repairs that the derived probability gives in the mean.
    fn expected(&self) -> f64 {
        self.tests as f64 / (1_u64 << 32) as f64
    }
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}

/// What leaves every field as many values as there ever are, all of them near.
fn least_certain() -> Knowledge {
    let any = |newest| Span { newest, ahead: u32::MAX };
    Knowledge {
        seqs: (0..256).map(|place| SeqNumber(SEQ ^ place)).collect(),
        acks: [0, 1, 2].map(|step| SeqNumber(ACK - step)),
        timestamps: Some((any(70_000), any(90_000))),
        ..known(Seal::V2)
    }
}

fn measure(known: &Knowledge, damage: Damage, packets: u32) -> Tally {
    let blocks = if let Damage::Crcs(blocks) = damage { blocks } else { 0 };
    let (sent, tcp): (Vec<u8>, TcpHeader) = segment(known, 0, blocks);
    let timestamps = Some((70_002, 90_001));
    let header_len = if known.seal == Seal::V2 { 44 } else { 36 };
    let (mut noise, mut repairer, mut tally) =
        (Noise(0x9e37_79b9_7f4a_7c15), Repairer::default(), Tally::default());
    let mut body = sent.clone();
    for _ in 0..packets {
        body.copy_from_slice(&sent);
        match damage {
            Damage::Flips(least, most) => {
                let count = least + noise.below(most - least + 1);
                let bits: Vec<_> = (0..count).map(|_| noise.below(8 * header_len)).collect();
                flip(&mut body, &bits);
            }
            Damage::Crcs(_) => body[CRCS].iter_mut().for_each(|byte| *byte = noise.next() as u8),
        }
        let mut budget = Budget::default();
        let repaired = repairer.repair(&Datagram::parse(&body).unwrap(), known, &mut budget);
        tally.tests += budget.used() as u64;
        if let Some(repaired) = repaired {
            let times = repaired.options.timestamps.map(|times| (times.tsval, times.tsecr));
            tally.repaired += 1;
            tally.wrong += u32::from((repaired.tcp, times) != (tcp, timestamps));
        }
    }
    tally
}

/// Noise in place of the CRCs, so that all repairs are wrong: they are as many as the tests give. More would be tests that
/// the budget does not count, or a sum of which not all bits are compared.
#[test]
fn wrong_repairs_are_as_many_as_the_tests_give() {
    const PACKETS: u32 = 100_000;
    let tally = measure(&least_certain(), Damage::Crcs(0), PACKETS);
    let expected = tally.expected();
    assert!(tally.tests <= u64::from(PACKETS) << 20, "{} tests", tally.tests);
    assert!(expected > 15.0, "{expected}: nothing can be said of so few");
    let deviation = (f64::from(tally.repaired) - expected).abs() / expected.sqrt();
    assert!(deviation < 4.0, "{} of {PACKETS} wrong, {expected} expected", tally.repaired);
}

/// More flips than a search can undo, in a header whose fields are as certain as they usually are: what was sent is not
/// among the headers that are tested.
#[test]
fn damage_beyond_repair_is_seldom_repaired_wrongly() {
    const PACKETS: u32 = 100_000;
    let tally = measure(&known(Seal::V2), Damage::Flips(9, 16), PACKETS);
    let expected = tally.expected();
    let most = expected + 4.0 * expected.sqrt();
    assert!(f64::from(tally.wrong) < most, "{} of {PACKETS} wrong, {expected} expected", tally.wrong);
}

/// Headers for each row of the table: `HEADWAY_HEADERS`, or few.
fn headers() -> u32 {
    const FEW: u32 = 5_000;
    match std::env::var("HEADWAY_HEADERS") {
        Ok(number) => number.parse().expect("HEADWAY_HEADERS: a number"),
        Err(_) => FEW,
    }
}

/// The table of `docs/repair.md`: at most as many repairs are wrong as the tests give.
#[test]
fn wrong_repairs_by_damage() {
    let packets = headers();
    let rows = [
        ("CRC-32C | noise for CRCs", Seal::V2, Damage::Crcs(0)),
        ("CRC-32C | noise for CRCs, SACK block", Seal::V2, Damage::Crcs(1)),
        ("CRC-32C | 1 or 2 flips", Seal::V2, Damage::Flips(1, 2)),
        ("CRC-32C | 3 or 4 flips", Seal::V2, Damage::Flips(3, 4)),
        ("CRC-32C | 5 to 8 flips", Seal::V2, Damage::Flips(5, 8)),
        ("CRC-32C | 9 to 16 flips", Seal::V2, Damage::Flips(9, 16)),
        ("16 bits | 1 flip", Seal::Classic, Damage::Flips(1, 1)),
        ("16 bits | 2 flips", Seal::Classic, Damage::Flips(2, 2)),
        ("16 bits | 3 flips", Seal::Classic, Damage::Flips(3, 3)),
        ("16 bits | 4 to 8 flips", Seal::Classic, Damage::Flips(4, 8)),
    ];
    let tallies = rows.map(|(_, seal, damage)| {
        std::thread::spawn(move || match damage {
            Damage::Crcs(_) => measure(&least_certain(), damage, packets),
            Damage::Flips(..) => measure(&known(seal), damage, packets),
        })
    });
    std::println!("| sum | damage | tests of a packet | repaired | wrong, as derived | wrong |");
    std::println!("|---|---|---|---|---|---|");
    for ((name, seal, damage), tally) in rows.into_iter().zip(tallies) {
        let tally = tally.join().unwrap();
        let expected = tally.expected();
        let (tests, derived) = match seal {
            Seal::V2 => (std::format!("{}", tally.tests / u64::from(packets)), std::format!("{expected:.2}")),
            Seal::Classic => ("".into(), "".into()),
        };
        std::println!("| {name} | {tests} | {} | {derived} | {} |", tally.repaired, tally.wrong);
        if seal == Seal::V2 {
            let most = expected + 4.0 * expected.max(1.0).sqrt();
            assert!(f64::from(tally.wrong) <= most, "{name}: {} wrong, {expected} expected", tally.wrong);
        }
        // One or two flips are always undone, where the sum has 32 bits; one flip mostly, where it has 16.
        let least = match (seal, damage) {
            (Seal::V2, Damage::Flips(1, 2)) => packets,
            (Seal::Classic, Damage::Flips(1, 1)) => packets / 100 * 85,
            _ => 0,
        };
        assert!(tally.repaired >= least, "{name}: {} of {packets} repaired", tally.repaired);
    }
}
