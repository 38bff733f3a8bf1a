//! Network namespaces without a name: they vanish with whoever holds them, however that ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// A network of its own, whose only interface at first is a loopback that is down.
///
/// It lives as long as this value, or a socket, thread or process in it. Since it has no name and no mount,
/// the kernel takes it away with all its interfaces when the last of them is gone, also where that is by
/// SIGKILL.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new one.
    ///
    /// # Errors
    ///
    /// The right is missing (CAP_SYS_ADMIN), or the system has no namespaces.
    pub fn new() -> io::Result<Self> {
        // The thread alone moves, and ends: nothing but the file remains in the namespace.
        let file = in_thread("headway-namespace", || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })??;
        Ok(Self { file })
    }

    /// A path by which other programs know it while this process lives, such as `ip link set NAME netns
    /// PATH`.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Does something in it, in a thread of this name. Sockets that are opened there stay in the namespace,
    /// and so do threads and processes that are started there.
    ///
    /// # Errors
    ///
    /// The namespace cannot be entered. The closure's own result is inside.
    ///
    /// # Panics
    ///
    /// The closure does.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interface;

    #[test]
    fn it_has_a_loopback_of_its_own_and_goes_by_itself() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => {
                use std::io::Write as _;
                // Past the harness, which keeps to itself what a test that passes prints.
                let _ = writeln!(io::stderr(), "SKIPPED a namespace: needs root: {error}");
                return;
            }
        };
        let number = || std::fs::read_link("/proc/thread-self/ns/net");
        let interfaces = namespace.run("test", Interface::all).unwrap().unwrap();
        assert_eq!(interfaces.iter().map(|one| &one.name).collect::<Vec<_>>(), ["lo"]);
        let inside = namespace.run("test", number).unwrap().unwrap();
        assert_ne!(inside, number().unwrap(), "the others stay where they are");
        assert_eq!(std::fs::read_link(namespace.path()).unwrap(), inside);
    }
}
