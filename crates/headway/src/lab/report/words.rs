//! Numbers and names in words.

/// Three digits that matter.
pub(super) use crate::lab::table::number;

/// A value with its unit.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "" => number(value),
        "\u{d7}" => format!("{}\u{d7}", number(value)),
        _ => format!("{}\u{a0}{unit}", number(value)),
    }
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
    fn quantities_have_their_unit() {
        assert_eq!(quantity(123.4, "KB/s"), "123.4\u{a0}KB/s");
        assert_eq!(quantity(99.6, "\u{d7}"), "99.60\u{d7}");
        assert_eq!(quantity(0.5, ""), "0.500");
    }
}
