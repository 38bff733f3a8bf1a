//! Throughput on one machine: headway through a TUN with this machine's kernel as its peer, compared with
//! the kernel over veth and smoltcp on a TAP. Needs root, `ip`, and `ethtool` for veth.
//!
//! ```sh
//! cargo bench -p headway-net --bench tun                      # all but smoltcp
//! cargo bench -p headway-net --bench tun -- --smoltcp         # builds and measures reference/smoltcp too
//! cargo bench -p headway-net --bench tun -- --profile send,receive    # their CPU time by function, by perf
//! ```
//!
//! Each repetition measures every case once, so that other load on the machine affects all cases alike.

mod cases;
mod cpu;
mod namespace;
mod peer;
mod profile;
mod report;
mod sample;
mod subject;
mod traffic;

use std::process::ExitCode;

use cases::Case;
use sample::Sample;

/// The command-line options.
struct Options {
    repetitions: usize,
    seconds: f64,
    only: Vec<String>,
    smoltcp: bool,
    profile: Vec<String>,
}

const USAGE: &str = "[--repetitions N] [--seconds S] [--only CASE,...] [--smoltcp] [--profile CASE,...]";

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.split_first() {
        Some((&"peer", rest)) => peer::run(rest),
        Some((&"subject", rest)) => subject::run(rest),
        _ => Options::parse(&words).and_then(|options| measure(&options)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tun: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, Error> {
        let mut options =
            Self { repetitions: 5, seconds: 2.0, only: Vec::new(), smoltcp: false, profile: Vec::new() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let list = |value: &str| value.split(',').map(str::to_owned).collect();
            let mut value = || words.next().copied().ok_or(format!("{word}: expected a value; {USAGE}"));
            match word {
                "--repetitions" => options.repetitions = value()?.parse()?,
                "--seconds" => options.seconds = value()?.parse()?,
                "--only" => options.only = list(value()?),
                "--smoltcp" => options.smoltcp = true,
                "--profile" => options.profile = list(value()?),
                _ => return Err(format!("{word:?}: expected {USAGE}").into()),
            }
        }
        let known = cases::ALL.map(|case| case.key);
        let asked = options.only.iter().chain(&options.profile);
        if let Some(unknown) = asked.into_iter().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("{unknown:?}: expected one of {}", known.join(", ")).into());
        }
        if options.repetitions == 0 || !(0.1..=60.0).contains(&options.seconds) {
            return Err("expected at least one repetition of 0.1 to 60 seconds".into());
        }
        Ok(options)
    }

    fn includes(&self, case: &Case) -> bool {
        let named = self.only.iter().any(|key| key == case.key);
        named || self.only.is_empty() && (self.smoltcp || !case.is_smoltcp())
    }
}

fn measure(options: &Options) -> Result<(), Error> {
    if !options.profile.is_empty() {
        let asked = |case: &&Case| options.profile.iter().any(|key| key == case.key);
        return profile::run(&cases::ALL.iter().filter(asked).collect::<Vec<_>>(), options.seconds.max(5.0));
    }
    let cases: Vec<&Case> = cases::ALL.iter().filter(|case| options.includes(case)).collect();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); cases.len()];
    for repetition in 1..=options.repetitions {
        for (case, samples) in cases.iter().zip(&mut samples) {
            let sample = case.run(options.seconds)?;
            eprintln!("{repetition}/{}  {:20} {sample}", options.repetitions, case.key);
            samples.push(sample);
        }
    }
    report::print(&cases, &samples, options.seconds);
    Ok(())
}
