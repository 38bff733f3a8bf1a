use headway_sim::{Content, race};
use headway_tcp::*;
struct P;
impl Observer for P { fn event(&mut self, now: headway_units::Instant, _c: ConnectionId, e: &Event) { if now.as_nanos() < 40_000_000_000 { println!("{:.4} {:?}", now.as_nanos() as f64/1e9, e); } } }
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let get = |k: &str, d: &str| args.iter().position(|a| a == k).map(|i| args[i + 1].clone()).unwrap_or(d.to_string());
    let mut s = race::Scenario::default();
    s.forward.damage = get("--damage", "burst:5%:5").parse().unwrap();
    s.forward.header_hit = Some(get("-h", "40%").parse().unwrap());
    s.forward.delay = get("--delay", "300ms").parse().unwrap();
    s.reverse.delay = s.forward.delay;
    s.reverse.damage = get("--reverse", "none").parse().unwrap();
    s.window = get("--window", "1MiB").parse().unwrap();
    s.forward.queue = get("--queue", "100p").parse().unwrap();
    s.profile = get("--profile", "linux22").parse().unwrap();
    if get("--rules", "default") == "literal" { s.rules = HackRules::Literal }
    let size: headway_units::Size = get("--size", "2MiB").parse().unwrap();
    let runs: u64 = get("--runs", "10").parse().unwrap();
    let content = Content::from_bytes((0..size.bytes()).map(|i| (i * 2654435761 >> 7) as u8).collect::<Vec<u8>>());
    let t = std::time::Instant::now();
    for v in get("--variant", "newreno,sack,hack,hack+sack,xhack,xhack+sack").split(',') {
        let v: Variant = v.parse().unwrap();
        if args.contains(&"-t".to_string()) { race::run_recorded(&s, v, &content, headway_sim::derive_seed(1, "run", get("--run","0").parse().unwrap()), true, || P, ()).unwrap(); continue; }
        let t0 = std::time::Instant::now();
        let outs: Vec<_> = (0..runs).map(|r| race::run(&s, v, &content, headway_sim::derive_seed(1, "run", r), true).unwrap()).collect();
        if args.contains(&"-v".to_string()) { let mut o: Vec<_> = outs.iter().collect(); o.sort_by(|a,b| a.time.cmp(&b.time)); for o in o { println!("   {:8.2} retx {} rto {} ss {} sp {} qd {} fr {}", o.time.as_secs_f64(), o.retransmissions, o.timeouts, o.slow_starts, o.special_acks, o.queue_drops, o.fast_recoveries); } }
        let sum = &race::summarize(&outs)[0];
        let sec = sum.seconds.unwrap();
        println!("{:11} mean {:9.1} med {:9.1} p10 {:8.1} p90 {:9.1} KB/s {:8.2} share {:.3} retx {:7.1} rto {:6.1} ss {:5.1} sp {:6.1} fin {}/{} hash {} dmg {} qd {} ev/s {:.2}M {:.2}s", v.name(), sec.mean, sec.median, sec.p10, sec.p90, size.bytes() as f64/1024./sec.mean, sum.share_of_bound.unwrap().median, sum.retransmissions, sum.timeouts, sum.slow_starts, sum.special_acks, sum.finished, sum.runs, outs.iter().filter(|o| o.sha256_ok == Some(true)).count(), sum.damaged_bytes_delivered, outs.iter().map(|o| o.queue_drops).sum::<u64>()/runs, outs.iter().map(|o| o.events).sum::<u64>() as f64/t0.elapsed().as_secs_f64()/1e6, t0.elapsed().as_secs_f64());
    }
    let _ = t;
}
