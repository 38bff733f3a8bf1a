//! The profile that a script chooses.

use std::str::FromStr;

use headway_tcp::congestion::Algorithm;
use headway_tcp::{DelayedAck, Features, HackMode, HackRules, KeepAlive, LossRecovery, Profile, Variant};
use headway_units::Duration;

use super::words::Words;

/// `profile NAME`.
pub(crate) fn profile(name: &str) -> Result<Profile, String> {
    match name {
        "standard" => Ok(Profile::standard()),
        "linux22" => Ok(Profile::linux22()),
        "linux" => Ok(Profile::linux()),
        "modern" => Ok(Profile::modern()),
        _ => Err(format!("unknown profile {name:?}: standard, linux22, linux or modern")),
    }
}

/// `variant NAME`.
pub(crate) fn variant(profile: Profile, name: &str) -> Result<Profile, String> {
    Ok(Variant::from_str(name).map_err(|error| error.to_string())?.apply(profile))
}

/// `set KEY VALUE`.
pub(crate) fn set(profile: &mut Profile, words: &mut Words<'_>) -> Result<(), String> {
    match words.word("a setting")? {
        "mtu" => profile.mtu = words.value("bytes")?,
        "sack" => profile.sack = switch(words)?,
        "mtu-search" => profile.mtu_search = switch(words)?,
        "sack-fin" => profile.sack_fin = switch(words)?,
        "timestamps" => profile.timestamps = switch(words)?,
        "window-scaling" => profile.window_scaling = switch(words)?,
        "rules" => {
            profile.hack_rules = match words.word("literal or default")? {
                "literal" => HackRules::Literal,
                "default" => HackRules::Default,
                other => return Err(format!("rules literal or default, not {other:?}")),
            }
        }
        "hack" => {
            profile.hack = match words.word("off, hack, xhack or v2")? {
                "off" => HackMode::Off,
                "hack" => HackMode::Hack,
                "xhack" => HackMode::Xhack,
                "v2" => HackMode::V2,
                other => return Err(format!("hack off, hack, xhack or v2, not {other:?}")),
            }
        }
        "s-buffer" => profile.s_buffer = words.value("a count")?,
        "recovery" => {
            profile.recovery = match words.word("reno, standard, linux22 or modern")? {
                "reno" => LossRecovery::Reno,
                "standard" => LossRecovery::Standard,
                "linux22" => LossRecovery::Linux22,
                "modern" => LossRecovery::RackTlp,
                other => return Err(format!("recovery reno, standard, linux22 or modern, not {other:?}")),
            }
        }
        "limited-transmit" => profile.limited_transmit = switch(words)?,
        "congestion" => {
            let expected = "a controller of Algorithm::NAMES, reno or linux22";
            profile.congestion = match words.word(expected)? {
                "reno" => Algorithm::Reno,
                "linux22" => Algorithm::Linux22,
                name => match Algorithm::NAMES.into_iter().find(|(known, _)| *known == name) {
                    Some((_, algorithm)) => algorithm,
                    None => return Err(format!("congestion {name:?}: expected {expected}")),
                },
            }
        }
        "slow-start-limit" => profile.slow_start_limit = Some(words.value("segments")?),
        "initial-window" => profile.initial_window = words.value("segments")?,
        "rto-initial" => profile.rto.initial = duration(words)?,
        "rto-min" => profile.rto.min = duration(words)?,
        "rto-min-variation" => profile.rto.min_variation = duration(words)?,
        "rto-max" => profile.rto.max = duration(words)?,
        "retries" => {
            profile.rto.retries = if words.take("none") { None } else { Some(words.value("a count")?) };
        }
        "syn-linear" => profile.syn_linear = words.value("a count")?,
        "syn-retries" => profile.syn_retries = words.value("a count")?,
        "clock" => profile.clock = duration(words)?,
        "delayed-ack" => {
            profile.delayed_ack = DelayedAck { timeout: duration(words)?, ..profile.delayed_ack };
        }
        "nagle" => profile.nagle = switch(words)?,
        "keep-alive" => {
            profile.keep_alive = Some(KeepAlive {
                idle: duration(words)?,
                interval: duration(words)?,
                probes: words.value("a count")?,
            });
        }
        "user-timeout" => profile.user_timeout = Some(duration(words)?),
        "time-wait" => profile.time_wait = duration(words)?,
        "send-buffer" => profile.send_buffer = words.value("bytes")?,
        "receive-buffer" => profile.receive_buffer = words.value("bytes")?,
        other => match feature(&mut profile.features, other) {
            Some(chosen) => *chosen = switch(words)?,
            None => return Err(format!("unknown setting {other:?}")),
        },
    }
    words.end()
}

/// The field of [`Features`] with this name.
fn feature<'a>(features: &'a mut Features, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "tlp" => &mut features.tlp,
        "prr" => &mut features.prr,
        "frto" => &mut features.frto,
        "undo" => &mut features.undo,
        "hystart" => &mut features.hystart,
        "pacing" => &mut features.pacing,
        "ecn" => &mut features.ecn,
        "autotune" => &mut features.autotune,
        "cookies" => &mut features.cookies,
        "sharing" => &mut features.sharing,
        "ledger" => &mut features.ledger,
        "bundling" => &mut features.bundling,
        "tail-copies" => &mut features.tail_copies,
        "repair" => &mut features.repair,
        "partial" => &mut features.partial,
        "own-path" => &mut features.own_path,
        _ => return None,
    })
}

fn switch(words: &mut Words<'_>) -> Result<bool, String> {
    match words.word("on or off")? {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(format!("expected on or off, found {other:?}")),
    }
}

fn duration(words: &mut Words<'_>) -> Result<Duration, String> {
    words.value("a time with a unit, such as 300ms")
}
