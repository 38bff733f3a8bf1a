//! Unnamed network namespaces, which are removed with the last process that uses them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// A network namespace with a loopback interface that is down.
///
/// It exists as long as this value, or a socket, thread or process in it. Since it has no name and no
/// mount, the kernel then removes it with all its interfaces, also after SIGKILL.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates a namespace.
    ///
    /// # Errors
    ///
    /// CAP_SYS_ADMIN is missing, or the system has no namespaces.
    pub fn new() -> io::Result<Self> {
        // Only this thread enters the namespace, and ends: then only the file refers to it.
        let file = in_thread("headway-namespace", || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })??;
        Ok(Self { file })
    }

    /// A path for other programs while this process runs, as in `ip link set NAME netns PATH`.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs `work` in it, in a thread of this name. Sockets opened and threads and processes started by
    /// `work` stay in the namespace.
    ///
    /// # Errors
    ///
    /// The namespace cannot be entered.
    ///
    /// # Panics
    ///
    /// `work` panics.
    pub fn run<T: Send>(&self, name: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        in_thread(name, || {
            setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)?;
            Ok(work())
        })?
    }
}

fn in_thread<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.into()).spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// For tests: runs one in a namespace of its own.
#[cfg(test)]
pub(crate) fn within(test: impl FnOnce(&Namespace) + Send) {
    match Namespace::new() {
        Ok(namespace) => namespace.run("test", || test(&namespace)).expect("a thread in the namespace"),
        Err(error) => {
            headway_test_fixture::process::say_skipped("root", &format!("network namespaces: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interface;

    #[test]
    fn it_has_its_own_loopback_and_is_removed() {
        let number = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let outside = number();
        within(|namespace| {
            let interfaces = Interface::all().unwrap();
            assert_eq!(interfaces.iter().map(|one| &one.name).collect::<Vec<_>>(), ["lo"]);
            assert_ne!(number(), outside);
            assert_eq!(std::fs::read_link(namespace.path()).unwrap(), number());
        });
        assert_eq!(number(), outside, "other threads stay in their namespace");
    }
}
