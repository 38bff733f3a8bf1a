//! What the system refused, in words.

use std::io;

use headway_lab::LabError;

/// What a system call was for, before what the system said.
pub(crate) fn real_time_error(what: &'static str) -> impl Fn(io::Error) -> LabError {
    move |error| LabError::RealTime(format!("{what}: {error}"))
}

/// A namespace cannot be made or entered.
pub(crate) fn no_namespace(error: io::Error) -> LabError {
    LabError::RealTime(format!(
        "a network namespace: {error}; expected root, or CAP_SYS_ADMIN and CAP_NET_ADMIN"
    ))
}
