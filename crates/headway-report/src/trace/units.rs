//! Numbers as text.

/// A count with thousands separators.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time, with a precision of microseconds for short ones.
pub fn seconds(value: f64) -> String {
    match value {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.3} s"),
        s => format!("{s:.1} s"),
    }
}

/// A rate in bits per second.
pub fn rate(bits: f64) -> String {
    match bits {
        b if b >= 1e9 => format!("{:.2} Gbit/s", b / 1e9),
        b if b >= 1e6 => format!("{:.2} Mbit/s", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kbit/s", b / 1e3),
        b => format!("{b:.0} bit/s"),
    }
}

/// A count of things.
pub fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.000_012, 0.0431, 2.5, 123.45].map(seconds), ["12 µs", "43.1 ms", "2.500 s", "123.5 s"]);
        assert_eq!(
            [12.0, 1500.0, 2.5e6, 3e9].map(rate),
            ["12 bit/s", "1.5 kbit/s", "2.50 Mbit/s", "3.00 Gbit/s"]
        );
    }
}
