//! Times and rates as results show them.

/// A time.
pub fn seconds_text(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 1000.0 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

/// A rate in bits per second.
pub fn rate_text(bits: f64) -> String {
    match bits {
        b if b >= 1e9 => format!("{:.2} Gbit/s", b / 1e9),
        b if b >= 1e6 => format!("{:.2} Mbit/s", b / 1e6),
        b => format!("{:.1} kbit/s", b / 1e3),
    }
}
