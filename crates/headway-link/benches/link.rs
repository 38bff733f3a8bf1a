//! Packets per second through a link: enqueue, transmission, arrival.
//!
//! The load is that of a simulator: a packet is offered every 1.2 ms of virtual time to a link of
//! 10 Mbit/s and 300 ms, so that 250 are on their way.

use divan::{Bencher, black_box, counter::ItemsCount};
use headway_link::{Headers, Link, LinkConfig};
use headway_units::{Duration, Instant, Rate, Share};

const PACKETS: u64 = 10_000;
const HEADERS: Headers = Headers { ip_header_len: 20, header_len: 52 };

fn main() {
    divan::main();
}

fn config(damage: &str) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(300),
        damage: damage.parse().expect("a damage model"),
        ..LinkConfig::default()
    }
}

fn carry(bencher: Bencher, config: LinkConfig) {
    let mut link: Link<Vec<u8>> = Link::new(config, 1);
    let mut pool: Vec<Vec<u8>> = (0..1_000).map(|_| vec![0; 1500]).collect();
    let mut now = Instant::ZERO;
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        for id in 0..PACKETS {
            now += Duration::from_micros(1_200);
            while let Some(delivery) = link.poll(now) {
                // Copies that the link made are not of the pool.
                if !delivery.duplicate {
                    pool.push(delivery.packet);
                }
            }
            let packet = pool.pop().unwrap_or_else(|| vec![0; 1500]);
            // A nanosecond late, so that the next one finds the link busy: every other packet is queued.
            let at = if id % 2 == 0 { now } else { now + Duration::from_nanos(1) };
            if let headway_link::EnqueueResult::Dropped(packet) =
                link.enqueue(at, packet, 1500, HEADERS, true)
            {
                pool.push(packet);
            }
            black_box(link.next_event());
        }
    });
}

#[divan::bench(args = ["none", "random:1%", "burst:5%:5", "gilbert:1%:20%:0%:80%", "ber:1e-6", "gilbert-bit:1e-7:1e-4:0:1e-2"])]
fn damage(bencher: Bencher, damage: &str) {
    carry(bencher, config(damage));
}

#[divan::bench]
fn header_hit(bencher: Bencher) {
    carry(bencher, LinkConfig { header_hit: Share::new(0.95), ..config("burst:5%:5") });
}

#[divan::bench]
fn reorder(bencher: Bencher) {
    let reorder = Share::new(0.01).expect("a share");
    carry(bencher, LinkConfig { reorder, reorder_delay: Duration::from_millis(5), ..config("none") });
}

#[divan::bench]
fn arq(bencher: Bencher) {
    let frame_check = "arq:3".parse().expect("a frame check");
    carry(bencher, LinkConfig { frame_check, ..config("random:1%") });
}
