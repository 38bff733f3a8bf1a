//! Draws the queueing delay of `modern:cubic` under each queue discipline, one SVG each:
//! `cargo run --release -p headway-sim --example queue_over_time docs/figures`.
//!
//! 10 Mbit/s, an RTT of 40 ms, a limit of 100 packets; every packet of 1500 bytes that arrives is a sample.

use std::fmt::Write as _;
use std::path::PathBuf;

use headway_sim::race::{Entrant, RunSettings, Scenario, run_recorded};
use headway_sim::{Content, OneWayDelays};
use headway_units::{Duration, Instant, Size};

const DISCIPLINES: [(&str, &str); 5] =
    [("none", "drop-tail"), ("codel", "CoDel"), ("fq-codel", "FQ-CoDel"), ("pie", "PIE"), ("red", "RED")];
const SECONDS: u32 = 20;
/// Samples of one interval are drawn as their mean.
const BIN: Duration = Duration::from_millis(50);
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 28.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).map(PathBuf::from).ok_or("expected a folder for the figures")?;
    for (aqm, title) in DISCIPLINES {
        let path = folder.join(format!("queue-{}.svg", title.to_lowercase()));
        std::fs::write(&path, draw(title, &delays(aqm)?))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The mean queueing delay of each interval in milliseconds.
fn delays(aqm: &str) -> Result<Vec<Option<f64>>, Box<dyn std::error::Error>> {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(20);
    scenario.reverse.delay = Duration::from_millis(20);
    scenario.forward.damage = headway_link::Damage::None;
    scenario.forward.aqm = aqm.parse()?;
    scenario.window = Size::from_bytes(4 << 20);
    scenario.duration = Some(Duration::from_secs(SECONDS.into()));
    let content = Content::generated(100 << 20);
    let settings = RunSettings { scenario: &scenario, content: &content, seed: 1, hash: false };
    let sender: Entrant = "modern:cubic".parse()?;
    let tap = run_recorded(settings, sender, || (), OneWayDelays::default())?.tap;
    let transmission = scenario.forward.rate.map_or(Duration::ZERO, |rate| rate.transmit_time(1500));
    let path = scenario.forward.delay + transmission;
    let bins = (Duration::from_secs(SECONDS.into()).as_nanos() / BIN.as_nanos()) as usize;
    let mut sums = vec![(0.0, 0u32); bins];
    for packet in tap.arrived().iter().filter(|packet| packet.len == 1500) {
        let bin = packet.sent.saturating_since(Instant::ZERO).as_nanos() / BIN.as_nanos();
        if let Some((sum, count)) = sums.get_mut(bin as usize) {
            *sum += (packet.delay - path).as_secs_f64() * 1e3;
            *count += 1;
        }
    }
    Ok(sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect())
}

fn draw(title: &str, delays: &[Option<f64>]) -> String {
    let most = delays.iter().flatten().copied().fold(20.0, f64::max);
    let top = (most / 20.0).ceil() * 20.0;
    let (right, bottom) = (WIDTH - 12.0, HEIGHT - 32.0);
    let x = |bin: f64| LEFT + (right - LEFT) * bin / delays.len() as f64;
    let y = |delay: f64| bottom - (bottom - TOP) * delay / top;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"11\" role=\"img\"><title>Queueing delay with {title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"16\">{title}: queueing delay of modern:cubic, ms (10 Mbit/s, RTT 40 ms, limit 100 \
         packets)</text>\n"
    );
    for tick in 0..=4 {
        let delay = top * f64::from(tick) / 4.0;
        let at = y(delay);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{delay:.0}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for second in (0..=SECONDS).step_by(5) {
        let at = x(f64::from(second) / f64::from(SECONDS) * delays.len() as f64);
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{second} s</text>",
            bottom + 18.0
        );
    }
    let points: Vec<String> = (0..)
        .zip(delays)
        .filter_map(|(bin, delay)| {
            delay.map(|delay| format!("{:.1},{:.1}", x(f64::from(bin) + 0.5), y(delay)))
        })
        .collect();
    let _ =
        writeln!(svg, "<polyline fill=\"none\" stroke=\"#1f5fa8\" points=\"{}\"/>\n</svg>", points.join(" "));
    svg
}
