//! How long a queue is, also by the path that it stands before.

use std::fmt;
use std::str::FromStr;

use headway_link::{ParseLinkError, QueueLimit};
use headway_units::{Duration, Rate};

/// A limit, or a number of bandwidth-delay products.
///
/// Written as a [`QueueLimit`] or as `1bdp`, `0.5bdp`, `0.05bdp`: a shallow buffer has at least one packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSize {
    /// As it says.
    Limit(QueueLimit),
    /// Bandwidth-delay products: rate times twice the one-way propagation delay, in packets
    /// of the MTU, rounded up.
    Products(f64),
}

/// More than this many products are a typing mistake.
const MOST: f64 = 1000.0;

impl QueueSize {
    /// The limit on a path of this rate, of this round-trip propagation delay, and with packets
    /// of at most `mtu` bytes. Without a rate there is no product, and nothing queues.
    pub fn limit(self, rate: Option<Rate>, round_trip: Duration, mtu: u16) -> QueueLimit {
        let products = match self {
            Self::Limit(limit) => return limit,
            Self::Products(products) => products,
        };
        let Some(rate) = rate else { return QueueLimit::Unlimited };
        let bits = rate.bits_per_second() as f64 * (round_trip.as_nanos() as f64 / 1e9) * products;
        let packets = (bits / (8.0 * f64::from(mtu))).ceil().clamp(1.0, f64::from(u32::MAX));
        QueueLimit::Packets(packets as u32)
    }
}

impl FromStr for QueueSize {
    type Err = String;

    fn from_str(input: &str) -> Result<Self, String> {
        let Some(number) = input.trim().strip_suffix("bdp") else {
            return input.parse().map(Self::Limit).map_err(|error: ParseLinkError| {
                format!("{error}; or bandwidth-delay products such as 1bdp")
            });
        };
        match number.parse::<f64>() {
            Ok(products) if products > 0.0 && products <= MOST => Ok(Self::Products(products)),
            _ => Err(format!(
                "{input:?}: expected bandwidth-delay products above 0 and up to 1000, such as 1bdp"
            )),
        }
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Products(products) => f.pad(&format!("{products}bdp")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_rounded_up_to_packets() {
        let limit = |size: &str, one_way: u64| {
            let size: QueueSize = size.parse().expect("a size");
            assert_eq!(size.to_string().parse(), Ok(size));
            size.limit(Some(Rate::from_bits_per_second(10_000_000)), Duration::from_millis(2 * one_way), 1500)
        };
        assert_eq!(limit("1bdp", 300), QueueLimit::Packets(500));
        assert_eq!(limit("1bdp", 10), QueueLimit::Packets(17));
        assert_eq!(limit("2bdp", 10), QueueLimit::Packets(34));
        assert_eq!(limit("0.05bdp", 300), QueueLimit::Packets(25));
        assert_eq!(limit(".05bdp", 10), QueueLimit::Packets(1));
        assert_eq!(limit("0.5bdp", 0), QueueLimit::Packets(1));
        assert_eq!(limit("64KiB", 10), QueueLimit::Bytes(65_536));
        for bad in ["bdp", "0bdp", "-1bdp", "nanbdp", "1e9bdp", "100q"] {
            let error = bad.parse::<QueueSize>().expect_err(bad);
            assert!(error.contains(bad) && error.contains("1bdp"), "{error}");
        }
    }
}
