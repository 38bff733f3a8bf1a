//! Numbers and names in words.

use headway_lab::Aim;

/// What an aim wants.
pub(super) fn aim_text(aim: Aim) -> String {
    match aim {
        Aim::AtLeast(least) => format!("\u{2265} {least}"),
        Aim::AtMost(most) => format!("\u{2264} {most}"),
    }
}

/// Three digits that matter.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A number with its unit.
pub(super) fn with_unit(number: &str, unit: &str) -> String {
    match unit {
        "" => number.into(),
        "\u{d7}" => format!("{number}\u{d7}"),
        _ => format!("{number}\u{a0}{unit}"),
    }
}

/// In how many places an order holds.
pub(super) fn share_of_places(share: f64) -> String {
    format!("in {:.0}\u{a0}% of places", 100.0 * share)
}

/// A number of things.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A value of an axis, short enough to stand under a chart: a list of equal parts is counted.
pub(super) fn short(value: &str) -> String {
    let parts: Vec<&str> = value.split(',').map(str::trim).collect();
    match parts[..] {
        [first, _, ..] if parts.iter().all(|part| *part == first) => {
            format!("{} \u{d7} {first}", parts.len())
        }
        _ => value.into(),
    }
}

/// A name in the form in which one writes it in a sentence.
pub(super) fn spoken(axis: &str) -> String {
    axis.replace('-', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_are_counted() {
        assert_eq!(short("sack undamaged, sack undamaged"), "2 \u{d7} sack undamaged");
        assert_eq!(short("sack, hack"), "sack, hack");
        assert_eq!(short("5%"), "5%");
    }

    #[test]
    fn numbers_have_their_unit() {
        assert_eq!(with_unit(&number(123.4), "KB/s"), "123.4\u{a0}KB/s");
        assert_eq!(with_unit(&number(99.6), "\u{d7}"), "99.60\u{d7}");
        assert_eq!(with_unit("0.5", ""), "0.5");
    }
}
