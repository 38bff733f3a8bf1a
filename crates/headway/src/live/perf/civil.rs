//! Times since 1970 as dates.

/// `2026-11-23T04:05:06.123456Z`, from nanoseconds since 1970.
pub(super) fn iso_time(nanos: u64) -> String {
    let (seconds, micros) = (nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000);
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, date) = civil(day);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}.{micros:06}Z", second % 60)
}

/// Year, month and day of the month of a day since 1970, in the Gregorian calendar: eras of 400 years, each of which
/// begins on a first of March, have 146,097 days.
fn civil(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March on have 153 days in each five.
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (789, (1972, 2, 29)),
            (10_957, (2000, 1, 1)),
            (11_016, (2000, 2, 29)),
            (20_780, (2026, 11, 23)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(civil(day), date, "{day}");
        }
        assert_eq!(iso_time(951_782_400_000_001_999), "2000-02-29T00:00:00.000001Z");
        assert_eq!(iso_time(1_795_406_706_123_456_789), "2026-11-23T04:05:06.123456Z");
    }
}
