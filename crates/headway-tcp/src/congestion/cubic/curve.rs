//! The cubic function of RFC 9438, in integers: bytes and microseconds.

/// RFC 9438, 5.1: "`C` SHOULD be set to 0.4": segments per cubed second, as a fraction.
const C: (u128, u128) = (4, 10);
/// A cubed second in cubed microseconds.
const CUBED_SECOND: u128 = 1_000_000_000_000_000_000;
/// Microseconds beyond which the curve is far above every window, and its cube still fits.
const LONGEST: u64 = 1 << 31;

/// `K`: RFC 9438, equation (2): "K = cubic root of ((W_max - cwnd_epoch) / C)", in microseconds.
pub(super) fn plateau(w_max: u32, cwnd_epoch: u32, mss: u32) -> u64 {
    let distance = u128::from(w_max.saturating_sub(cwnd_epoch));
    cube_root(distance * C.1 * CUBED_SECOND / (C.0 * u128::from(mss.max(1))))
}

/// RFC 9438, equation (1): "`W_cubic`(t) = C*(t-K)^3 + `W_max`", in bytes; `t` and `k` in microseconds.
pub(super) fn window(t: u64, k: u64, w_max: u32, mss: u32) -> u32 {
    let distance = u128::from(t.abs_diff(k).min(LONGEST));
    let bytes = distance.pow(3) * C.0 * u128::from(mss) / (C.1 * CUBED_SECOND);
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    if t < k { w_max.saturating_sub(bytes) } else { w_max.saturating_add(bytes) }
}

/// The largest integer whose cube is not above `value`.
fn cube_root(value: u128) -> u64 {
    // One bit after the other, from the highest that a cube of 128 bits can have.
    let mut root = 0_u128;
    for bit in (0..42).rev() {
        let candidate = root | 1 << bit;
        if candidate.pow(3) <= value {
            root = candidate;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for root in [0_u64, 1, 2, 3, 99, 1_000_000, 123_456_789, (1 << 42) - 1] {
            let cube = u128::from(root).pow(3);
            assert_eq!(cube_root(cube), root);
            if root > 0 {
                assert_eq!(cube_root(cube - 1), root - 1);
            }
        }
    }

    #[test]
    fn the_curve_falls_to_the_epoch_and_rises_beyond_the_maximum() {
        // 100 segments, reduced to 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.217163 s.
        let k = plateau(100_000, 70_000, 1000);
        assert_eq!(k, 4_217_163);
        assert_eq!(window(0, k, 100_000, 1000), 70_001);
        assert_eq!(window(k, k, 100_000, 1000), 100_000);
        // 0.4 * 2^3 = 3.2 segments, on either side.
        assert_eq!(window(k + 2_000_000, k, 100_000, 1000), 103_200);
        assert_eq!(window(k - 2_000_000, k, 100_000, 1000), 96_800);
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(window(u64::MAX, 0, u32::MAX, u32::MAX), u32::MAX);
        assert_eq!(window(0, u64::MAX, 1, 65_535), 0);
        assert!(plateau(u32::MAX, 0, 1) > 0);
    }
}
