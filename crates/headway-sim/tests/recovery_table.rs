//! A reviewed table of how every sender recovers: one flow and several, damage and tail drop.
//!
//! The table is `tests/recovery_table.txt`. A change of loss recovery, congestion control or HACK
//! changes it; look at the difference, and write it anew with
//! `HEADWAY_UPDATE=1 cargo test -p headway-sim --test all recovery_table`. Ours have a table of their own,
//! `tests/recovery_table_ours.txt`.
//!
//! The last column digests every packet of the runs, so the table also shows that the same seed
//! gives the same packets on every machine.

use std::fmt::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;

use headway_link::{FrameCheck, LinkConfig, QueueLimit};
use headway_sim::race::{
    Companion, CrossTraffic, ProfileName, Racer, RunSettings, Scenario, TcpSender, run, run_recorded,
};
use headway_sim::{Content, LinkPorts, Network, NodeId, Passing, Receiver, Sender, Tap, derive_seed};
use headway_tcp::congestion::Algorithm;
use headway_tcp::{Host, HostConfig, Variant};
use headway_units::{Duration, Instant, Share, Size};
use sha2::{Digest, Sha256};

const RUNS: u64 = 5;

/// Digests every packet with its time and place.
#[derive(Default)]
struct Fingerprint(Sha256);

impl Tap for Fingerprint {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.0.update(passing.at.as_nanos().to_le_bytes());
        self.0.update([u8::from(passing.outbound)]);
        self.0.update(passing.packet);
    }
}

fn share(value: f64) -> Share {
    Share::new(value).expect("a share")
}

fn content(bytes: u32) -> Content {
    Content::from_bytes((0..bytes).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 21) as u8).collect::<Vec<u8>>())
}

/// The cells of one flow: name and what differs from 10 Mbit/s, one-way delay 50 ms, 100 packets of queue.
fn cells() -> Vec<(&'static str, Scenario)> {
    let clean = Scenario::default();
    let link = LinkConfig { delay: Duration::from_millis(50), ..clean.reverse };
    let window = Size::from_bytes(256 << 10);
    let base = Scenario { forward: link.clone(), reverse: link.clone(), window, ..clean };
    let damaged = |damage: &str, header_hit: f64| LinkConfig {
        damage: damage.parse().expect("a damage model"),
        header_hit: Some(share(header_hit)),
        ..link.clone()
    };
    let with = |forward| Scenario { forward, ..base.clone() };
    vec![
        ("no damage", base.clone()),
        ("tail drop", with(LinkConfig { queue: QueueLimit::Packets(20), ..link.clone() })),
        ("loss 2 %", with(LinkConfig { loss: share(0.02).into(), ..link.clone() })),
        ("random 2 %, h 0", with(damaged("random:2%", 0.0))),
        ("random 2 %, h 0.95", with(damaged("random:2%", 0.95))),
        ("burst 5 % x 5, h 0", with(damaged("burst:5%:5", 0.0))),
        ("burst 5 % x 5, h 0.4", with(damaged("burst:5%:5", 0.4))),
        ("ber 1e-5", with(LinkConfig { header_hit: None, ..damaged("ber:1e-5", 0.0) })),
        ("burst both ways", {
            let both = damaged("burst:3%:3", 0.05);
            Scenario { forward: both.clone(), reverse: both, ..base.clone() }
        }),
        ("damage dropped", with(LinkConfig { frame_check: FrameCheck::Drop, ..damaged("random:2%", 0.0) })),
        ("reordering 2 %", {
            let forward =
                LinkConfig { reorder: share(0.02), reorder_delay: Duration::from_millis(5), ..link.clone() };
            with(forward)
        }),
    ]
}

fn papers() -> Vec<TcpSender> {
    Variant::PAPERS.map(TcpSender::from).to_vec()
}

/// Ours, and two of them with BBR.
fn ours() -> Vec<TcpSender> {
    let bbr = |variant| TcpSender { variant, congestion: Some(Algorithm::Bbr) };
    let own = Variant::OURS.map(TcpSender::from);
    own.into_iter().chain([Variant::Modern, Variant::Headway].map(bbr)).collect()
}

fn one_flow(table: &mut String, profile: ProfileName, senders: &[TcpSender]) {
    let content = content(1 << 20);
    for (name, scenario) in cells() {
        let scenario = Scenario { profile, ..scenario };
        for &variant in senders {
            let mut fingerprint = Fingerprint::default();
            let (mut seconds, mut retransmitted, mut timeouts, mut special) = (0.0, 0, 0, 0);
            for seed in 1..=RUNS {
                let settings = RunSettings { scenario: &scenario, content: &content, seed, hash: true };
                let recording = run_recorded(settings, variant, || (), fingerprint).expect("a run");
                let outcome = recording.outcome;
                assert!(outcome.metrics.finished, "{name}, {variant}, seed {seed}");
                assert!(
                    outcome.metrics.sha256_ok == Some(true) || outcome.metrics.damaged_bytes_delivered > 0
                );
                seconds += outcome.metrics.seconds / RUNS as f64;
                retransmitted += outcome.metrics.retransmissions.unwrap_or_default();
                timeouts += outcome.metrics.timeouts.unwrap_or_default();
                special += outcome.metrics.special_acks.unwrap_or_default();
                fingerprint = recording.tap;
            }
            let digest = fingerprint.0.finalize();
            writeln!(
                table,
                "{:<9} {name:<21} {variant:<11} {seconds:>8.2} {retransmitted:>7} {timeouts:>7} {special:>7}  {:02x}{:02x}{:02x}{:02x}",
                profile.name(), digest[0], digest[1], digest[2], digest[3]
            )
            .expect("a string takes all");
        }
    }
}

/// Senders side by side through one bottleneck between two routers, over IPv6.
struct Dumbbell {
    network: Network<Racer<()>>,
    pairs: Vec<(NodeId, NodeId)>,
}

fn dumbbell(variants: &[Variant], scenario: &Scenario, content: &Content, seed: u64) -> Dumbbell {
    let address =
        |side: u16, host: usize| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, side, 0, 0, 0, host as u16 + 1));
    let edge =
        LinkConfig { delay: Duration::from_millis(1), queue: QueueLimit::Unlimited, ..LinkConfig::default() };
    let mut network = Network::new(1500);
    let (left, right) = (network.add_router(), network.add_router());
    let mut pairs = Vec::new();
    let host = |address, purpose, i| {
        let mut secret = [0; 16];
        secret[..8].copy_from_slice(&derive_seed(seed, purpose, i as u64).to_le_bytes());
        Host::new(HostConfig::new(address, secret))
    };
    for (i, &variant) in variants.iter().enumerate() {
        let (from, to) = (address(1, i), address(2, i));
        let profile = scenario.profile_of(variant);
        let (source, sink) = (SocketAddr::new(from, 4000), SocketAddr::new(to, 5000));
        let receiver = Receiver::new(sink, profile.clone(), content, true).expect("content in memory");
        let sender = Sender::new(source, sink, profile, content).expect("content in memory");
        let receiver = network.add_host(host(to, "receiver", i), Racer::Receiver(Box::new(receiver)));
        let sender = network
            .add_host(host(from, "sender", i), Racer::Sender(Box::new(sender), std::marker::PhantomData));
        network.add_link(LinkPorts { from: sender, to: left }, edge.clone(), 0);
        network.add_link(LinkPorts { from: receiver, to: right }, edge.clone(), 0);
        let to_sender = network.add_link(LinkPorts { from: left, to: sender }, edge.clone(), 0);
        let to_receiver = network.add_link(LinkPorts { from: right, to: receiver }, edge.clone(), 0);
        network.add_route(left, from, to_sender);
        network.add_route(right, to, to_receiver);
        pairs.push((sender, receiver));
    }
    let there = network.add_link(
        LinkPorts { from: left, to: right },
        scenario.forward.clone(),
        derive_seed(seed, "there", 0),
    );
    let back = network.add_link(
        LinkPorts { from: right, to: left },
        scenario.reverse.clone(),
        derive_seed(seed, "back", 0),
    );
    for i in 0..variants.len() {
        network.add_route(left, address(2, i), there);
        network.add_route(right, address(1, i), back);
    }
    Dumbbell { network, pairs }
}

fn receiver_of(network: &Network<Racer<()>>, node: NodeId) -> &Receiver {
    match network.host(node).1 {
        Racer::Receiver(receiver) => receiver,
        Racer::Sender(..) => panic!("a sender where a receiver was put"),
    }
}

fn several_flows(table: &mut String, profile: ProfileName, flows: &[Variant]) {
    let content = content(2 << 20);
    let (_, clean) = cells().swap_remove(0);
    for (name, damage) in [("4 flows, clean", "none"), ("4 flows, random 2 %", "random:2%")] {
        let mut scenario = Scenario { profile, ..clean.clone() };
        scenario.forward.damage = damage.parse().expect("a damage model");
        scenario.forward.header_hit = Some(share(0.4));
        let Dumbbell { mut network, pairs } = dumbbell(flows, &scenario, &content, 1);
        let all = network.run(Instant::ZERO + Duration::from_secs(3600), |network| {
            pairs.iter().all(|pair| receiver_of(network, pair.1).is_complete())
        });
        assert!(all, "{name}: a flow did not finish");
        let seconds: Vec<f64> = pairs
            .iter()
            .map(|pair| receiver_of(&network, pair.1).report())
            .map(|report| {
                assert_eq!(report.sha256_ok, Some(report.damaged == 0), "{name}");
                report.completed.map_or(0.0, |at| at.saturating_since(Instant::ZERO).as_secs_f64())
            })
            .collect();
        // Jain's index of the mean rates.
        let rates: Vec<f64> = seconds.iter().map(|seconds| 1.0 / seconds).collect();
        let sum: f64 = rates.iter().sum();
        let jain = sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>());
        let listed: Vec<String> =
            flows.iter().zip(&seconds).map(|(variant, seconds)| format!("{variant} {seconds:.2}")).collect();
        writeln!(table, "{:<9} {name:<21} {}  Jain {jain:.3}", profile.name(), listed.join(", "))
            .expect("a string takes all");
    }
}

/// A race beside others: flows that are damaged or not, and traffic that does not answer.
fn companions(table: &mut String) {
    let content = content(1 << 20);
    let (_, clean) = cells().swap_remove(0);
    let beside = |variant: Variant, damaged| Companion { damaged, ..Companion::new(variant.into()) };
    let cross =
        |rate: &str| Some(CrossTraffic::Constant { rate: rate.parse().expect("a rate"), packet: 1500 });
    let cells = [
        ("beside sack, clean", "none", vec![beside(Variant::Sack, false)], None),
        ("beside 2 sack, random", "random:2%", vec![beside(Variant::Sack, false); 2], None),
        ("all damaged", "random:2%", vec![beside(Variant::Sack, true); 2], None),
        ("cross 5 Mbit/s, random", "random:1%", Vec::new(), cross("5mbit")),
        ("cross 12 Mbit/s", "none", Vec::new(), cross("12mbit")),
    ];
    for (name, damage, companions, cross) in cells {
        let mut scenario = Scenario { profile: ProfileName::Standard, companions, cross, ..clean.clone() };
        scenario.forward.damage = damage.parse().expect("a damage model");
        scenario.forward.header_hit = Some(share(0.0));
        scenario.time_limit = Duration::from_secs(600);
        for variant in [Variant::Sack, Variant::HackSack] {
            let outcome = run(&scenario, variant, &content, 1, true).expect("a run");
            assert!(
                outcome.metrics.sha256_ok == Some(true)
                    || !outcome.metrics.finished
                    || outcome.metrics.damaged_bytes_delivered > 0
            );
            let others: Vec<String> = outcome
                .companions
                .iter()
                .map(|other| format!("{} {}", other.sender, other.delivered_bytes))
                .collect();
            writeln!(
                table,
                "standard  {name:<22} {variant:<11} {:>8.2} {:>7} {:>7} drops {:>5}  Jain {:.3}  {}",
                outcome.metrics.seconds,
                outcome.metrics.retransmissions.unwrap_or_default(),
                outcome.metrics.timeouts.unwrap_or_default(),
                outcome.metrics.queue_drops.unwrap_or_default(),
                outcome.metrics.jain,
                others.join(", ")
            )
            .expect("a string takes all");
        }
    }
}

#[test]
fn recovery_is_as_reviewed() {
    let mut table = format!(
        "1 MiB over 10 Mbit/s, one-way delay 50 ms, queue 100 packets, window 256 KiB; {RUNS} runs: mean seconds, \
         totals of segments retransmitted, timeouts, special ACKs; digest of all packets\n\n"
    );
    one_flow(&mut table, ProfileName::Linux22, &papers());
    one_flow(&mut table, ProfileName::Standard, &papers());
    table.push_str("\n2 MiB each, side by side through one bottleneck over IPv6: seconds\n\n");
    let flows = [Variant::NewReno, Variant::Sack, Variant::HackSack, Variant::XhackSack];
    several_flows(&mut table, ProfileName::Standard, &flows);
    table.push_str(
        "\n1 MiB beside others that send the same: seconds, retransmitted, timeouts, packets that the queue dropped, \
         and what the others had when the first was done\n\n",
    );
    companions(&mut table);
    compare(&table, "recovery_table.txt");
}

#[test]
fn so_is_that_of_ours() {
    let mut table = format!(
        "1 MiB over 10 Mbit/s, one-way delay 50 ms, queue 100 packets, window 256 KiB; {RUNS} runs: mean seconds, \
         totals of segments retransmitted, timeouts, special ACKs; digest of all packets\n\n"
    );
    one_flow(&mut table, ProfileName::Modern, &ours());
    table.push_str("\n2 MiB each, side by side through one bottleneck over IPv6: seconds\n\n");
    several_flows(&mut table, ProfileName::Modern, &[Variant::Modern; 4]);
    several_flows(&mut table, ProfileName::Modern, &[Variant::Headway; 4]);
    several_flows(
        &mut table,
        ProfileName::Modern,
        &[Variant::Modern, Variant::ModernHack, Variant::Headway, Variant::Sack],
    );
    compare(&table, "recovery_table_ours.txt");
}

/// `table` must be as the reviewed one in `file`.
fn compare(table: &str, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    if headway_test_fixture::corpus::is_update() {
        std::fs::write(&path, table).expect("the table can be written");
        return;
    }
    let reviewed = std::fs::read_to_string(&path).expect("the reviewed table");
    let differing: Vec<String> = table
        .lines()
        .zip(reviewed.lines())
        .filter(|(now, before)| now != before)
        .map(|(now, before)| format!("- {before}\n+ {now}\n"))
        .collect();
    assert!(
        table == reviewed,
        "the senders recover otherwise than reviewed:\n{}\nIf that is meant, review the table after\n\
         HEADWAY_UPDATE=1 cargo test -p headway-sim --test all recovery_table",
        differing.concat()
    );
}
