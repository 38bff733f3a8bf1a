//! Keys of several links in a row, and of who passes which of them.

use super::text::put;
use crate::key::{Access, Key, Scope, Unset};
use crate::quantity::Quantity;

/// The name of the key of the links.
pub(crate) const NAME: &str = "hops";

pub(super) const HOPS: [Key; 3] = [
    Key {
        name: NAME,
        value_name: Some("HOPS"),
        help: "Several links in a row in place of one, with ; between them, as `rate 5mbit delay 20ms; 2 queue 50p`: perhaps \
               how many alike, and keys of a link with their values; what a hop does not say is as of the one link (virtual \
               time only)",
        meaning: Some(
            "links in a row, with what each has in place of the columns of the link, which are of those that say nothing",
        ),
        default: Unset::Nothing("one link"),
        empty: Some("one link"),
        scope: Scope::Hops,
        access: Access::Settings {
            set: |settings, text| put(&mut settings.hops, text),
            get: |settings| match settings.hops.count() {
                0 => Quantity::Unset("none"),
                _ => Quantity::text(&settings.hops),
            },
        },
        ..Key::PLAIN
    },
    Key {
        name: "flow-hops",
        value_name: Some("N|N-M|all"),
        help: "The hops that the measured flow passes, counted from 1: 2, 1-3 or all; other flows say theirs in --rivals and \
               --companions, as `modern:cubic hops 2`",
        meaning: Some("hops that the measured flow passes"),
        default: Unset::Value("all"),
        scope: Scope::Hops,
        access: Access::Settings {
            set: |settings, text| put(&mut settings.scenario.flow_hops, text),
            get: |settings| Quantity::text(settings.scenario.flow_hops),
        },
        ..Key::PLAIN
    },
    Key {
        name: "cross-hops",
        value_name: Some("N|N-M|all"),
        help: "The hops that cross traffic passes",
        default: Unset::Value("all"),
        scope: Scope::Hops,
        access: Access::Settings {
            set: |settings, text| put(&mut settings.scenario.cross_hops, text),
            get: |settings| Quantity::text(settings.scenario.cross_hops),
        },
        ..Key::PLAIN
    },
];
