//! Rates in bits per second, volumes in bytes, gains and shares in percent.

use headway_units::Duration;

/// The bytes at `bw` bits per second in `nanos`, times `percent`.
pub(in super::super) fn volume(bw: u64, nanos: u64, percent: u64) -> u32 {
    let bytes = u128::from(bw) * u128::from(nanos) * u128::from(percent) / (8 * 100 * 1_000_000_000);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// A window each round trip, in bits per second.
pub(in super::super) fn rate_of(window: u32, round_trip: Duration) -> u64 {
    let bits = u128::from(window) * 8 * 1_000_000_000 / u128::from(round_trip.as_nanos().max(1));
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// `percent` of a rate.
pub(in super::super) fn gained(rate: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

/// `percent` of a volume.
pub(in super::super) fn share(bytes: u32, percent: u64) -> u32 {
    u32::try_from(u64::from(bytes) * percent / 100).unwrap_or(u32::MAX)
}

/// A volume, at most the largest that is counted.
pub(in super::super) fn bytes(volume: u64) -> u32 {
    u32::try_from(volume).unwrap_or(u32::MAX)
}
