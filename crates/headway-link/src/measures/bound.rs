//! What a link can carry at best.

use crate::{Damage, FrameError, damage::share_bad};
use headway_units::Rate;

/// The share of packets that a damage model hits in the long run, if each has `exposed_len` bytes open
/// to damage: the whole packet, less the IP header where the [zone](crate::HitZone) leaves it out.
/// Only the models that count in bits ask for the length.
///
/// A packet that is joined to the one before it counts as hit, as on a link that is never idle.
///
/// Bursts counted in time hit as many packets as those counted in packets while a link is never idle
/// and sends full-sized packets; less otherwise.
///
/// ```
/// # use headway_link::share_hit;
/// let share = share_hit(&"burst:5%:5".parse()?, 1480);
/// assert!((share - 0.208).abs() < 0.001);
/// # Ok::<(), headway_link::ParseLinkError>(())
/// ```
pub fn share_hit(damage: &Damage, exposed_len: usize) -> f64 {
    let bits = exposed_len as u64 * 8;
    match *damage {
        Damage::None => 0.0,
        Damage::Random { p } => p.value(),
        Damage::Burst { p, length, .. } => {
            // (1 - p) / p undamaged packets between bursts of L: L / (L + (1 - p) / p).
            let (p, length) = (p.value(), f64::from(length.max(1)));
            p * length / (1.0 + p * (length - 1.0))
        }
        Damage::Modem { p, errors } => {
            // A packet that is joined to the one before it has no frame of its own.
            let joins =
                if errors.has(FrameError::Join) { p.value() / f64::from(errors.count()) } else { 0.0 };
            p.value() + (1.0 - p.value()) * joins
        }
        Damage::Trace(ref trace) => trace.share_hit(),
        Damage::BitErrors { ber } => hit_in(bits, ber),
        Damage::Gilbert { p, r, good, bad } => {
            let bad_share = share_bad(p, r);
            (1.0 - bad_share) * good.value() + bad_share * bad.value()
        }
        Damage::GilbertBit { p, r, good, bad } => {
            let (good, bad) = (rate(good), rate(bad));
            let (p, r, bad_share) = (p.value(), r.value(), share_bad(p, r));
            // One step: this bit is right, then the state may change.
            let step =
                [[(1.0 - good) * (1.0 - p), (1.0 - good) * p], [(1.0 - bad) * r, (1.0 - bad) * (1.0 - r)]];
            let all = power(step, bits);
            let right = (1.0 - bad_share) * (all[0][0] + all[0][1]) + bad_share * (all[1][0] + all[1][1]);
            (1.0 - right).clamp(0.0, 1.0)
        }
    }
}

/// The bound on the goodput of a link, in bits per second, the same for every sender that retransmits
/// whole packets: the rate of IP bytes times the payload's share of a packet times the share of packets
/// that arrive intact.
///
/// `payload` and `packet` are bytes: 1448 and 1500 for full-sized segments with timestamps.
///
/// ```
/// # use headway_link::bound;
/// assert_eq!(bound("10mbit".parse()?, 1448, 1500, 0.0).round(), 9_653_333.0);
/// # Ok::<(), headway_units::ParseUnitError>(())
/// ```
pub fn bound(ip_rate: Rate, payload: u32, packet: u32, share_lost: f64) -> f64 {
    ip_rate.bits_per_second() as f64 * f64::from(payload) / f64::from(packet.max(1)) * (1.0 - share_lost)
}

/// A bit error rate as the models take it: not a number is 0.
fn rate(ber: f64) -> f64 {
    if ber > 0.0 { ber.min(1.0) } else { 0.0 }
}

/// The probability that at least one of `bits` bits is wrong: 1 - (1 - ber)^bits, without the loss of
/// digits that this formula has where `ber` is small.
fn hit_in(bits: u64, ber: f64) -> f64 {
    match rate(ber) {
        _ if bits == 0 => 0.0,
        1.0 => 1.0,
        ber => -libm::expm1(bits as f64 * libm::log1p(-ber)),
    }
}

type Matrix = [[f64; 2]; 2];

fn product(a: Matrix, b: Matrix) -> Matrix {
    let cell = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
    [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
}

fn power(mut base: Matrix, mut exponent: u64) -> Matrix {
    let mut result = [[1.0, 0.0], [0.0, 1.0]];
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, base);
        }
        base = product(base, base);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(damage: &str, len: usize) -> f64 {
        share_hit(&damage.parse().unwrap(), len)
    }

    #[test]
    fn packet_models() {
        assert_eq!(share("none", 1480), 0.0);
        assert_eq!(share("random:2%", 1480), 0.02);
        assert_eq!(share("burst:2%:1", 1480), 0.02);
        assert!((share("burst:5%:5", 1480) - 0.25 / 1.2).abs() < 1e-15);
        assert_eq!(share("burst:100%:5", 1480), 1.0);
        assert!((share("gilbert:1%:4%:10%:60%", 1480) - (0.8 * 0.1 + 0.2 * 0.6)).abs() < 1e-15);
        assert_eq!(share("gilbert:0:0:10%:60%", 1480), 0.1);
    }

    /// "packet corruption probabilities ranging from 2% to 15%, which corresponds to a bit error rate of
    /// 1e-6 - 1e-5" (000 section 4)
    #[test]
    fn bit_models() {
        assert!((share("ber:1e-6", 1480) - 0.01177).abs() < 1e-5);
        assert!((share("ber:1e-5", 1480) - 0.1117).abs() < 1e-4);
        assert!((share("ber:1e-18", 1) / 8e-18 - 1.0).abs() < 1e-9);
        assert_eq!((share("ber:1", 1480), share("ber:1", 0), share("ber:0", 1480)), (1.0, 0.0, 0.0));
        // A chain whose states are alike is no chain.
        assert!((share("gilbert-bit:1%:3%:1e-5:1e-5", 1480) - share("ber:1e-5", 1480)).abs() < 1e-12);
        // Bad for whole packets at a time: half of the packets.
        assert!((share("gilbert-bit:1e-12:1e-12:0:1", 1480) - 0.5).abs() < 1e-6);
        // Good, bad, good ...: two bits are enough.
        assert!((share("gilbert-bit:1:1:0:1", 1) - 1.0).abs() < 1e-12);
    }

    /// Bursts of 5 % and 5 on 10 Mbit/s: 20 MB take 20.9 s at best.
    #[test]
    fn bound_of_the_headline_cell() {
        let rate = Rate::from_bits_per_second(10_000_000);
        let goodput = bound(rate, 1448, 1500, share("burst:5%:5", 1480));
        assert!((160e6 / goodput - 20.936).abs() < 1e-3);
    }
}
