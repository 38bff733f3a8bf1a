//! Formatted values parse to the same value, and no text panics.

use headway_units::{Duration, Rate, Share, Size};
use proptest::prelude::*;

/// Numbers of every magnitude, round ones among them.
fn magnitudes() -> impl Strategy<Value = u64> {
    prop_oneof![
        (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift),
        (0_u64..10_000, 0_u32..16).prop_map(|(value, zeros)| value.saturating_mul(10_u64.pow(zeros))),
        (0_u64..10_000, 0_u32..40).prop_map(|(value, shift)| value << shift),
        (0_u64..10_000).prop_map(|minutes| minutes * 60_000_000_000),
    ]
}

/// Shares of every magnitude.
fn parts_of_one() -> impl Strategy<Value = f64> {
    let small = (0.0..=1.0_f64, 0..300).prop_map(|(value, zeros): (f64, i32)| value * 10_f64.powi(-zeros));
    prop_oneof![0.0..=1.0_f64, small]
}

proptest! {
    #[test]
    fn quantities(value in magnitudes()) {
        let (duration, rate, size) =
            (Duration::from_nanos(value), Rate::from_bits_per_second(value), Size::from_bytes(value));
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        prop_assert_eq!(size.to_string().parse(), Ok(size));
    }

    #[test]
    fn shares(value in parts_of_one()) {
        let share = Share::new(value).unwrap();
        prop_assert_eq!(share.to_string().parse(), Ok(share));
    }

    #[test]
    fn transmit_time_is_the_ceiling(bytes in magnitudes(), bits in magnitudes()) {
        let took = Rate::from_bits_per_second(bits).transmit_time(bytes);
        let work = u128::from(bytes) * 8_000_000_000;
        let sent = |nanos: u64| u128::from(nanos) * u128::from(bits);
        if took < Duration::MAX {
            prop_assert!(sent(took.as_nanos()) >= work);
            prop_assert!(took.is_zero() || sent(took.as_nanos() - 1) < work);
        } else {
            prop_assert!(sent(u64::MAX) <= work);
        }
    }

    #[test]
    fn no_text_panics(text in r"[0-9]{0,22}(\.[0-9]{0,22})?[ eE%/a-zA-Zµ-]{0,5}") {
        let _ = text.parse::<Duration>();
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Size>();
        let _ = text.parse::<Share>();
    }
}
