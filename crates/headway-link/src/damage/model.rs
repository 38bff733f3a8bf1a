//! The damage models and how people write them.

use super::FrameErrors;
use crate::{ParseLinkError, Trace};
use headway_units::Share;
use std::{fmt, str::FromStr};

/// Which packets are damaged.
///
/// Written as `none`, `random:2%`, `burst:5%:5`, `burst:5%:5:time`, `burst-hit:20%:5`, `ber:1e-5`,
/// `gilbert:P:R:GOOD:BAD`, `gilbert-bit:P:R:BER_GOOD:BER_BAD`, `modem:10%` or `modem:10%:cut+split`. `burst-hit:S:L` is `burst:P:L` with
/// the start probability that hits the share S of all packets: P = S / (L - S (L - 1)).
///
/// [`Damage::Trace`] is shown as `trace:NAME` and not read from text: a name is not yet a trace.
///
/// Packets and bits are counted as they are transmitted, and only those open to damage: neither idle
/// time nor packets exempt from damage move a model on.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Damage {
    /// No packet.
    #[default]
    None,
    /// Each packet independently of the others: white noise in the papers (000 section 5.1).
    Random {
        /// Probability that a packet is hit.
        p: Share,
    },
    /// Several packets in a row (000 section 5.2).
    Burst {
        /// Probability that a packet outside a burst starts one.
        p: Share,
        /// Length of a burst, in packets (0 is taken as 1): 5 % and 5 hit 20.8 % of the packets.
        length: u32,
        /// What ends a burst.
        clock: BurstClock,
    },
    /// Each bit independently of the others.
    BitErrors {
        /// Bit error rate, 0 to 1.
        ber: f64,
    },
    /// The Gilbert-Elliott model at packet level: a link that is good or bad, and may change after
    /// each packet. It starts in its stationary distribution.
    Gilbert {
        /// Probability of going from good to bad.
        p: Share,
        /// Probability of going from bad to good.
        r: Share,
        /// Share of the packets hit while good.
        good: Share,
        /// Share of the packets hit while bad.
        bad: Share,
    },
    /// The Gilbert-Elliott model at bit level: the link may change after each bit.
    GilbertBit {
        /// Probability of going from good to bad.
        p: Share,
        /// Probability of going from bad to good.
        r: Share,
        /// Bit error rate while good, 0 to 1.
        good: f64,
        /// Bit error rate while bad, 0 to 1.
        bad: f64,
    },
    /// The frame errors of a modem: each packet independently of the others, and each error with the same probability. The
    /// place where it begins is that of a single flipped bit.
    Modem {
        /// Probability that a packet is hit.
        p: Share,
        /// What goes wrong with it.
        errors: FrameErrors,
    },
    /// A recorded link, packet by packet.
    Trace(Trace),
}

/// What ends a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BurstClock {
    /// The burst hits its first packet and the next `length - 1`, however long they take to come.
    /// This reading reproduces the papers.
    #[default]
    Packets,
    /// The burst lasts `length` times the transmission time of a 1500-byte packet and hits what the
    /// link begins to transmit in that time. This is kinder to timers: a burst ends while nothing is
    /// sent. On a link without a rate it ends at once.
    Time,
}

const MODELS: &str = "none, random:P, burst:P:L[:time], burst-hit:S:L, ber:RATE, gilbert:P:R:GOOD:BAD, \
                      gilbert-bit:P:R:BER_GOOD:BER_BAD or modem:P[:ERRORS], such as random:2% or burst:5%:5";
const RANDOM: &str = "random:P with a share P of packets, such as random:2%";
const BURST: &str =
    "burst:P:L or burst:P:L:time with a share P and a length of L >= 1 packets, such as burst:5%:5";
const BURST_HIT: &str = "burst-hit:S:L with the share S of packets that are hit and a length of L >= 1 packets, such as \
                         burst-hit:20%:5";
const BIT_ERRORS: &str = "ber:RATE with a bit error rate from 0 to 1, such as ber:1e-5";
const GILBERT: &str = "gilbert:P:R:GOOD:BAD, four shares such as gilbert:1%:20%:0%:80%";
const GILBERT_BIT: &str = "gilbert-bit:P:R:BER_GOOD:BER_BAD with two shares and two bit error rates, \
                           such as gilbert-bit:1e-6:1e-4:0:1e-2";
const MODEM: &str = "modem:P or modem:P:ERRORS with a share P of packets and different ones of cut, split, join, slip and dense, \
                     such as modem:10%:cut+split";
const TRACE: &str = "a model of chance, such as burst:5%:5 (a trace is read from its file first)";

impl Damage {
    /// Bits flipped in a packet that is hit: 1 for `random`, 64 for `burst` and `gilbert`. `None` for
    /// no damage and for the models that say themselves which bits or how many: those that count in
    /// bits, modems, and traces.
    pub fn default_flips(&self) -> Option<u32> {
        match self {
            Self::Random { .. } => Some(1),
            Self::Burst { .. } | Self::Gilbert { .. } => Some(64),
            Self::None
            | Self::BitErrors { .. }
            | Self::GilbertBit { .. }
            | Self::Modem { .. }
            | Self::Trace(_) => None,
        }
    }
}

impl FromStr for Damage {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let text = input.trim();
        let (model, parameters) = text.split_once(':').unwrap_or((text, ""));
        let parameters: Vec<&str> =
            if parameters.is_empty() { Vec::new() } else { parameters.split(':').collect() };
        let (damage, expected) = match model {
            "none" => (parameters.is_empty().then_some(Self::None), MODELS),
            "random" => (random(&parameters), RANDOM),
            "burst" => (burst(&parameters), BURST),
            "burst-hit" => (burst_hit(&parameters), BURST_HIT),
            "ber" => (bit_errors(&parameters), BIT_ERRORS),
            "gilbert" => (gilbert(&parameters), GILBERT),
            "gilbert-bit" => (gilbert_bit(&parameters), GILBERT_BIT),
            "modem" => (modem(&parameters), MODEM),
            "trace" => (None, TRACE),
            _ => (None, MODELS),
        };
        damage.ok_or_else(|| ParseLinkError::new(input, expected))
    }
}

fn share(text: &str) -> Option<Share> {
    text.parse().ok()
}

fn random(parameters: &[&str]) -> Option<Damage> {
    let [p] = parameters else { return None };
    Some(Damage::Random { p: share(p)? })
}

fn burst(parameters: &[&str]) -> Option<Damage> {
    let (p, length, clock) = match parameters {
        [p, length] | [p, length, "packets"] => (p, length, BurstClock::Packets),
        [p, length, "time"] => (p, length, BurstClock::Time),
        _ => return None,
    };
    let length = length.parse().ok().filter(|length| *length >= 1)?;
    Some(Damage::Burst { p: share(p)?, length, clock })
}

fn burst_hit(parameters: &[&str]) -> Option<Damage> {
    let [hit, length] = parameters else { return None };
    let length: u32 = length.parse().ok().filter(|length| *length >= 1)?;
    let (hit, packets) = (share(hit)?.value(), f64::from(length));
    // (1 - p) / p undamaged packets between bursts of L, solved for p.
    let p = Share::new(hit / (packets - hit * (packets - 1.0)))?;
    Some(Damage::Burst { p, length, clock: BurstClock::Packets })
}

fn bit_errors(parameters: &[&str]) -> Option<Damage> {
    let [ber] = parameters else { return None };
    Some(Damage::BitErrors { ber: share(ber)?.value() })
}

fn gilbert(parameters: &[&str]) -> Option<Damage> {
    let [p, r, good, bad] = parameters else { return None };
    Some(Damage::Gilbert { p: share(p)?, r: share(r)?, good: share(good)?, bad: share(bad)? })
}

fn gilbert_bit(parameters: &[&str]) -> Option<Damage> {
    let [p, r, good, bad] = parameters else { return None };
    Some(Damage::GilbertBit {
        p: share(p)?,
        r: share(r)?,
        good: share(good)?.value(),
        bad: share(bad)?.value(),
    })
}

fn modem(parameters: &[&str]) -> Option<Damage> {
    let (p, errors) = match parameters {
        [p] => (p, FrameErrors::ALL),
        [p, errors] => (p, errors.parse().ok()?),
        _ => return None,
    };
    Some(Damage::Modem { p: share(p)?, errors })
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Random { p } => f.pad(&format!("random:{p}")),
            Self::Burst { p, length, clock: BurstClock::Packets } => f.pad(&format!("burst:{p}:{length}")),
            Self::Burst { p, length, clock: BurstClock::Time } => f.pad(&format!("burst:{p}:{length}:time")),
            Self::BitErrors { ber } => f.pad(&format!("ber:{ber:e}")),
            Self::Gilbert { p, r, good, bad } => f.pad(&format!("gilbert:{p}:{r}:{good}:{bad}")),
            Self::GilbertBit { p, r, good, bad } => f.pad(&format!("gilbert-bit:{p}:{r}:{good:e}:{bad:e}")),
            Self::Modem { p, errors: FrameErrors::ALL } => f.pad(&format!("modem:{p}")),
            Self::Modem { p, errors } => f.pad(&format!("modem:{p}:{errors}")),
            Self::Trace(trace) => f.pad(&format!("trace:{}", trace.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(value: f64) -> Share {
        Share::new(value).unwrap()
    }

    #[test]
    fn reads_and_writes_every_model() {
        for (text, damage) in [
            ("none", Damage::None),
            ("random:2%", Damage::Random { p: part(0.02) }),
            ("burst:5%:5", Damage::Burst { p: part(0.05), length: 5, clock: BurstClock::Packets }),
            ("burst:5%:5:time", Damage::Burst { p: part(0.05), length: 5, clock: BurstClock::Time }),
            ("ber:1e-5", Damage::BitErrors { ber: 1e-5 }),
            (
                "gilbert:1%:20%:0%:80%",
                Damage::Gilbert { p: part(0.01), r: part(0.2), good: Share::ZERO, bad: part(0.8) },
            ),
            (
                "gilbert-bit:0.0001%:0.01%:0e0:1e-2",
                Damage::GilbertBit { p: part(1e-6), r: part(1e-4), good: 0.0, bad: 0.01 },
            ),
            ("modem:10%", Damage::Modem { p: part(0.1), errors: FrameErrors::ALL }),
            ("modem:10%:cut+dense", Damage::Modem { p: part(0.1), errors: "cut+dense".parse().unwrap() }),
        ] {
            assert_eq!(damage.to_string(), text);
            assert_eq!(text.parse(), Ok(damage), "{text}");
        }
        assert_eq!("burst:5%:5:packets".parse::<Damage>(), "burst:0.05:5".parse());
    }

    /// The share that is asked for is the share that is hit, and the start probability is written
    /// exactly enough to be read back.
    #[test]
    fn bursts_by_the_share_that_they_hit() {
        for (hit, length) in [("20%", 5), ("0%", 3), ("100%", 7), ("33%", 1), ("1e-9", 4_294_967_295_u32)] {
            let damage: Damage = format!("burst-hit:{hit}:{length}").parse().unwrap();
            let share = crate::share_hit(&damage, 1480);
            let hit = hit.parse::<Share>().unwrap().value();
            assert!((share - hit).abs() <= 1e-12 * hit, "{share}, not {hit}");
            assert!(damage.to_string().starts_with("burst:"));
            assert_eq!(damage.to_string().parse(), Ok(damage));
        }
        // 5 % and 5 hit 20.8 % of the packets.
        let Ok(Damage::Burst { p, length: 5, clock: BurstClock::Packets }) =
            format!("burst-hit:{}:5", 0.25 / 1.2).parse()
        else {
            panic!("not a burst of five packets")
        };
        assert!((p.value() - 0.05).abs() < 1e-15);
    }

    #[test]
    fn refuses_everything_else_and_says_what_it_wants() {
        for (text, expected) in [
            ("", MODELS),
            ("noise", MODELS),
            ("none:1", MODELS),
            ("random", RANDOM),
            ("random:", RANDOM),
            ("random:200%", RANDOM),
            ("random:1%:2", RANDOM),
            ("burst:5%", BURST),
            ("burst:5%:0", BURST),
            ("burst:5%:-1", BURST),
            ("burst:5%:5:seconds", BURST),
            ("burst-hit:20%", BURST_HIT),
            ("burst-hit:120%:5", BURST_HIT),
            ("burst-hit:20%:0", BURST_HIT),
            ("burst-hit:20%:5:time", BURST_HIT),
            ("trace:uplink.fates", TRACE),
            ("ber:1.5", BIT_ERRORS),
            ("ber:nan", BIT_ERRORS),
            ("ber:-1e-5", BIT_ERRORS),
            ("gilbert:1%:20%:0%", GILBERT),
            ("gilbert-bit:1%:20%:0:2", GILBERT_BIT),
            ("modem", MODEM),
            ("modem:200%", MODEM),
            ("modem:10%:", MODEM),
            ("modem:10%:cut+cut", MODEM),
            ("modem:10%:cut,split", MODEM),
            ("modem:10%:noise", MODEM),
        ] {
            let error = text.parse::<Damage>().unwrap_err();
            assert_eq!((error.input.as_str(), error.expected), (text, expected));
        }
    }

    fn any_share() -> impl Strategy<Value = Share> {
        prop_oneof![0.0..=1.0, (-300i32..0).prop_map(|e| format!("1e{e}").parse().unwrap())]
            .prop_map(|value: f64| part(value))
    }

    proptest! {
        #[test]
        fn text_round_trips(
            model in 0..5,
            p in any_share(), r in any_share(), good in any_share(), bad in any_share(),
            length in 1u32.., time: bool,
        ) {
            let clock = if time { BurstClock::Time } else { BurstClock::Packets };
            let damage = match model {
                0 => Damage::Random { p },
                1 => Damage::Burst { p, length, clock },
                2 => Damage::BitErrors { ber: good.value() },
                3 => Damage::Gilbert { p, r, good, bad },
                _ => Damage::GilbertBit { p, r, good: good.value(), bad: bad.value() },
            };
            prop_assert_eq!(damage.to_string().parse(), Ok(damage.clone()));
        }
    }
}
