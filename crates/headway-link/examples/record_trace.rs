//! Records a link: what becomes of each packet, as a trace that replays it bit by bit.
//!
//! `cargo run -p headway-link --example record_trace > link.fates`, then
//! `headway race --damage trace:link.fates`. A live link is recorded in the same way: number the
//! packets, compare what arrives with what was sent.

use headway_link::{BitOrigin, EnqueueResult, Fate, Headers, Link, LinkConfig, TraceBuilder};
use headway_units::Instant;

const PACKETS: usize = 2_000;
const HEADERS: Headers = Headers { ip_header_len: 20, header_len: 52 };

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = LinkConfig {
        damage: "gilbert:4%:25%:0%:80%".parse()?,
        flips: Some(3),
        header_hit: Some("40%".parse()?),
        loss: "2%".parse()?,
        ..LinkConfig::default()
    };
    let mut link: Link<Vec<u8>> = Link::new(config, 2002);
    let mut trace = TraceBuilder::new();
    for _ in 0..PACKETS {
        let sent = vec![0; 1500];
        let EnqueueResult::Queued = link.enqueue(Instant::ZERO, sent.clone(), sent.len(), HEADERS, true)
        else {
            return Err("the link has no queue that could be full".into());
        };
        trace.push(match link.poll(Instant::ZERO) {
            None => Fate::Lost,
            Some(arrived) => difference(&sent, &arrived.packet),
        })?;
    }
    println!(
        "# 2000 packets of 1500 bytes: a Gilbert-Elliott link, 4 % to bad, 25 % to good, 80 % hit while bad,"
    );
    println!("# 3 bits of each, 40 % of them in the header too; 2 % of the packets lost.");
    println!("# Made by: cargo run -p headway-link --example record_trace");
    print!("{}", trace.finish("").ok_or("no packet")?);
    Ok(())
}

/// The bits in which two packets differ.
fn difference(sent: &[u8], arrived: &[u8]) -> Fate {
    let bits = (0..sent.len() as u32 * 8).filter(|bit| {
        let (byte, mask) = ((bit / 8) as usize, 0x80 >> (bit % 8));
        (sent[byte] ^ arrived[byte]) & mask != 0
    });
    // Without a difference the trace takes it for an intact packet.
    Fate::Bits { from: BitOrigin::Ip, bits: bits.collect() }
}
