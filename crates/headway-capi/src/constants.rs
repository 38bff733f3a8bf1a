//! The numbers of the header.

use headway_embed::names::{FAILURES, NOTIFICATIONS, STATES, VERDICTS};

use crate::status::Code;

/// The version of the interface: it changes when a program has to be compiled anew.
pub const ABI_VERSION: u32 = 1;

/// Every constant of the header that is a number, with its value.
pub fn all() -> Vec<(String, u64)> {
    let mut all = vec![
        ("HEADWAY_ABI_VERSION".to_owned(), ABI_VERSION.into()),
        ("HEADWAY_NEVER".to_owned(), headway_embed::NEVER),
    ];
    let mut add = |prefix: &str, names: &[&str]| {
        all.extend(names.iter().zip(0..).map(|(name, number)| (format!("HEADWAY_{prefix}{name}"), number)));
    };
    add("", &Code::NAMES);
    add("STATE_", &STATES);
    add("FAILURE_", &FAILURES);
    add("NOTIFICATION_", &NOTIFICATIONS);
    add("PACKET_", &VERDICTS);
    all
}

/// The number of the constant at a place of its table.
pub(crate) fn number(place: usize) -> i32 {
    i32::try_from(place).unwrap_or(i32::MAX)
}
