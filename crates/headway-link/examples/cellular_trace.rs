//! Makes a delivery trace of a cellular link, for `rate-trace`: the model of Winstein, Sivaraman, Balakrishnan,
//! "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013, section 3.1:
//! packets are delivered by a Poisson process whose rate varies in Brownian motion, and which stays at zero for a
//! while once it is there.
//!
//! ```text
//! cargo run --release -p headway-link --example cellular_trace -- 5 300 > beyond/traces/cellular-1.trace
//! ```
//!
//! The arguments are the seed and the mean rate, packets of 1500 bytes a second.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const MILLISECONDS: u32 = 30_000;
/// "sigma = 200 packets per second per sqrt(second)".
const SIGMA: f64 = 200.0;
/// The rate is changed this often: "20 ms".
const TICK: u32 = 20;
/// "lambda_z = 1": an outage ends with this rate, per second.
const OUTAGES_END: f64 = 1.0;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seed: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mean: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(300.0);
    let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut uniform = move || ((source.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    println!("# made by cellular_trace, seed {seed}, {mean} packets a second at first");
    let tick = f64::from(TICK) / 1000.0;
    let mut rate = mean;
    for now in 1..=MILLISECONDS {
        if now % TICK == 0 {
            // A normal step as the sum of twelve uniform numbers.
            let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let resumes = rate > 0.0 || uniform() < OUTAGES_END * tick;
            let step = SIGMA * libm::sqrt(tick) * if rate > 0.0 { normal } else { normal.abs() };
            rate = if resumes { (rate + step).clamp(0.0, 2.0 * mean) } else { 0.0 };
        }
        // Poisson by its definition: as many as fit of exponential gaps.
        let mut passed = -libm::log(uniform());
        while passed < rate / 1000.0 {
            println!("{now}");
            passed -= libm::log(uniform());
        }
    }
}
