//! Same seed, same bytes, on every machine.

use crate::common;

use common::{HEADERS, Tagged, packet, share, us};
use headway_link::{Link, LinkConfig};
use headway_units::{Duration, Rate};

/// FNV-1a, 64 bits.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A digest of the fates of 10,000 packets with everything switched on.
fn fates(damage: &str, frame_check: &str) -> u64 {
    let config = LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(30),
        queue: "20p".parse().unwrap(),
        overhead: 18,
        jitter: Duration::from_millis(2),
        duplicate: share(0.01),
        reorder: share(0.02),
        reorder_delay: Duration::from_millis(5),
        loss: share(0.01).into(),
        damage: damage.parse().unwrap(),
        header_hit: Some(share(0.4)),
        frame_check: frame_check.parse().unwrap(),
        ..LinkConfig::default()
    };
    let mut link: Link<Tagged> = Link::new(config, 0x5eed);
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    let mut take = |link: &mut Link<Tagged>, now| {
        while let Some(delivery) = link.poll(now) {
            digest.add(&(delivery.packet.id as u64).to_be_bytes());
            digest.add(&delivery.at.as_nanos().to_be_bytes());
            digest.add(&delivery.packet.bytes);
            digest.add(&[delivery.duplicate.into()]);
        }
    };
    for id in 0..10_000u64 {
        // A hundred packets faster than the link, then a pause.
        let now = us(id * 400 + id / 100 * 60_000);
        take(&mut link, now);
        let len = if id % 3 == 0 { 52 } else { 500 + (id as usize * 37) % 1000 };
        // Those that find the queue full are missing among the arrivals.
        let _ = link.enqueue(now, packet(id as usize, len), len, HEADERS, id % 7 != 0);
    }
    while let Some(now) = link.next_event() {
        take(&mut link, now);
    }
    digest.0
}

#[test]
fn fates_are_the_same_everywhere() {
    let expected = [
        ("none", "keep", 0xe5e1_ef73_b425_1d47),
        ("random:2%", "keep", 0x8216_ef6d_e91c_afbd),
        ("burst:5%:5", "keep", 0x86f9_172b_b1d4_87e3),
        ("burst:5%:5:time", "keep", 0x3125_67a6_6f95_5312),
        ("ber:1e-5", "keep", 0xaa6b_9d01_eaaa_f29c),
        ("gilbert:1%:20%:0%:80%", "drop", 0xa81b_04e6_26b4_7cd3),
        ("gilbert-bit:1e-6:1e-4:1e-7:1e-2", "keep", 0x9357_a795_3ea5_b38f),
        ("burst:5%:5", "arq:3", 0x418a_a71b_7027_795b),
        ("modem:20%", "keep", 0x9bdf_0129_b0f6_1987),
        ("modem:20%", "arq:3", 0x6452_31a0_2a7b_da5b),
    ];
    let found = expected.map(|(damage, check, _)| (damage, check, fates(damage, check)));
    assert!(found == expected, "{found:#018x?}");
}
