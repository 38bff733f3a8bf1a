//! A process in a network namespace of its own, also of a user without privilege.

use std::fmt;
use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

/// How a process became isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// With the privilege that it had.
    Privileged,
    /// In a user namespace of its own, in which its user remains who they are.
    UserNamespace,
}

/// What the process and the programs that it starts may do in a user namespace: set up interfaces, open packet
/// sockets and listen at any port. No file and no process of the machine is concerned.
const OF_PROGRAMS: [CapabilitySet; 3] =
    [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW, CapabilitySet::NET_BIND_SERVICE];
/// What it needs besides to make further namespaces.
const OF_SETUP: CapabilitySet = CapabilitySet::SYS_ADMIN;

/// Moves the process to a new network namespace, whose loopback is down. Without the privilege for it, also to a
/// new user namespace. To be called before any other thread is started.
///
/// # Errors
///
/// The system permits neither, or there are other threads.
pub fn isolate() -> Result<Isolation, IsolationError> {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => return Ok(Isolation::Privileged),
        Err(nix::errno::Errno::EPERM) => {}
        Err(error) => return Err(IsolationError::new(error)),
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(IsolationError::new)?;
    // user_namespaces(7): a process without privilege maps its own IDs alone, and groups only if none can be dropped.
    fs::write("/proc/self/setgroups", "deny").map_err(IsolationError::new)?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n")).map_err(IsolationError::new)?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n")).map_err(IsolationError::new)?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(IsolationError::new)?;
    keep_capabilities().map_err(IsolationError::new)?;
    Ok(Isolation::UserNamespace)
}

/// A program started by a user other than root has the capabilities of the ambient set only (capabilities(7)).
fn keep_capabilities() -> io::Result<()> {
    let all = OF_PROGRAMS.into_iter().fold(OF_SETUP, |all, one| all | one);
    set_capabilities(None, CapabilitySets { effective: all, permitted: all, inheritable: all })?;
    for one in OF_PROGRAMS.into_iter().chain([OF_SETUP]) {
        configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}

impl Isolation {
    /// Ends the set-up: programs that this thread starts from now on cannot make namespaces by the capabilities of this
    /// one.
    ///
    /// # Errors
    ///
    /// The system call failed.
    pub fn end_setup(self) -> io::Result<()> {
        match self {
            Self::Privileged => Ok(()),
            Self::UserNamespace => {
                let inheritable = OF_PROGRAMS.into_iter().fold(CapabilitySet::empty(), |all, one| all | one);
                // What is not inheritable leaves the ambient set too.
                Ok(set_capabilities(None, CapabilitySets { inheritable, ..capabilities(None)? })?)
            }
        }
    }
}

/// The system permits no network namespace.
#[derive(Debug)]
pub struct IsolationError {
    source: io::Error,
    forbidden_by: Option<&'static str>,
}

impl IsolationError {
    fn new(source: impl Into<io::Error>) -> Self {
        let forbids = |name: &str, value: &str| {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            fs::read_to_string(path).is_ok_and(|found| found.trim() == value)
        };
        let forbidden_by = SETTINGS.into_iter().find(|(name, value, _)| forbids(name, value));
        Self { source: source.into(), forbidden_by: forbidden_by.map(|(.., setting)| setting) }
    }
}

/// The settings that forbid namespaces to users: name, value, and what was expected.
const SETTINGS: [(&str, &str, &str); 3] = [
    ("kernel.unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone = 1, which is 0"),
    ("user.max_user_namespaces", "0", "user.max_user_namespaces above 0"),
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "1",
        "kernel.apparmor_restrict_unprivileged_userns = 0, which is 1",
    ),
];

impl fmt::Display for IsolationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a network namespace: {}; expected root, or ", self.source)?;
        match self.forbidden_by {
            Some(setting) => write!(f, "the kernel setting {setting}"),
            None => {
                f.write_str("a system that permits user namespaces (a container or a chroot may forbid them)")
            }
        }
    }
}

impl std::error::Error for IsolationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn the_setting_that_forbids_a_namespace_is_named() {
        let error =
            |forbidden_by| IsolationError { source: io::ErrorKind::PermissionDenied.into(), forbidden_by };
        let by_setting = error(Some("user.max_user_namespaces above 0"));
        assert_eq!(
            by_setting.to_string(),
            "a network namespace: permission denied; expected root, or the kernel setting \
             user.max_user_namespaces above 0"
        );
        assert!(error(None).to_string().contains("a container or a chroot may forbid them"));
        assert!(by_setting.source().is_some_and(|source| source.to_string() == "permission denied"));
    }
}
