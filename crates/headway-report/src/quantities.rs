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

/// A round rate, without decimals that say nothing.
pub(crate) fn short_rate(bits: f64) -> String {
    [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")]
        .into_iter()
        .find(|(size, _)| bits >= *size)
        .map_or_else(|| format!("{bits} bit/s"), |(size, name)| format!("{} {name}", bits / size))
}
