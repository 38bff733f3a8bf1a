//! Keys of what is sent, of its two ends, and of how long it may take.

use headway_units::{Duration, Size};

use super::text::{check, parse, unless, window};
use crate::key::{Access, Key, Scope, Unset};
use crate::quantity::{Dimension, Quantity};

/// The smallest MTU that leaves room for data beside every option.
const MIN_MTU: u16 = 128;

pub(super) const TRANSFER: [Key; 6] = [
    Key {
        name: "size",
        dimension: Dimension::Bytes,
        value_name: Some("SIZE"),
        help: "How much to send",
        meaning: Some("bytes to send"),
        default: Unset::Nothing("2MiB; of a file that is named, all"),
        empty: Some("a run of fixed duration"),
        scope: Scope::Transfer,
        access: Access::Settings {
            set: |settings, text| {
                let size: Size = parse(text)?;
                check(size.bytes() > 0, text, "expected at least one byte to send")?;
                settings.size = Some(size);
                Ok(())
            },
            get: |settings| settings.sent_size().map_or(Quantity::Unset(""), Quantity::Size),
        },
        ..Key::PLAIN
    },
    Key {
        name: "duration",
        dimension: Dimension::Time,
        help: "Send all the time, and count what has arrived after this time, from the first SYN",
        meaning: Some("fixed duration of the run"),
        default: Unset::Nothing("until all has arrived"),
        scope: Scope::Transfer,
        access: Access::Settings {
            set: |settings, text| {
                let duration: Duration = parse(text)?;
                check(!duration.is_zero(), text, "expected some virtual time, such as 60s")?;
                settings.scenario.duration = Some(duration);
                Ok(())
            },
            get: |settings| settings.scenario.duration.map_or(Quantity::Unset(""), Quantity::Time),
        },
        ..Key::PLAIN
    },
    Key {
        name: "window",
        dimension: Dimension::Bytes,
        value_name: Some("SIZE"),
        help: "The largest window that the receiver offers",
        default: Unset::Value("1MiB"),
        scope: Scope::Transfer,
        access: Access::Settings {
            set: |settings, text| {
                settings.scenario.window = window(text)?;
                Ok(())
            },
            get: |settings| Quantity::Size(settings.scenario.window),
        },
        ..Key::PLAIN
    },
    Key {
        name: "mtu",
        dimension: Dimension::Bytes,
        help: "Largest IP packet",
        default: Unset::Value("1500"),
        scope: Scope::Transfer,
        access: Access::Settings {
            set: |settings, text| {
                let mtu: u16 = parse(text).map_err(|problem| format!("{problem}; the most is 65535"))?;
                check(mtu >= MIN_MTU, text, "expected at least 128 bytes")?;
                settings.scenario.mtu = mtu;
                Ok(())
            },
            get: |settings| Quantity::Bytes(settings.scenario.mtu.into()),
        },
        ..Key::PLAIN
    },
    Key {
        name: "retries",
        dimension: Dimension::Count,
        help: "Timeouts in a row before a sender gives up (Linux 2.2: 15)",
        default: Unset::Nothing("never"),
        scope: Scope::Transfer,
        access: Access::Settings {
            set: |settings, text| {
                settings.scenario.retries = unless("unlimited", text)?;
                Ok(())
            },
            get: |settings| {
                let retries = settings.scenario.retries;
                retries.map_or(Quantity::Unset("unlimited"), |retries| Quantity::Count(retries.into()))
            },
        },
        ..Key::PLAIN
    },
    Key {
        name: "time-limit",
        dimension: Dimension::Time,
        help: "Time after which a run is ended and shown as unfinished",
        default: Unset::Value("24h"),
        scope: Scope::Run,
        access: Access::Settings {
            set: |settings, text| {
                let limit: Duration = parse(text)?;
                check(!limit.is_zero(), text, "expected some virtual time, such as 24h")?;
                settings.scenario.time_limit = limit;
                Ok(())
            },
            get: |settings| Quantity::Time(settings.scenario.time_limit),
        },
        ..Key::PLAIN
    },
];
