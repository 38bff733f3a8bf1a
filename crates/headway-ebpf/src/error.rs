//! Why programs cannot be attached or found.

use std::io;
use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EbpfError {
    /// The crate was built without clang.
    #[error("this program was built without its eBPF programs; expected clang when it was built")]
    NotCompiled,
    /// The kernel did not accept a program.
    #[error("the kernel refuses {program}: {reason}")]
    Refused {
        /// Which program, or all of them.
        program: String,
        /// The kernel's reason, in short.
        reason: String,
    },
    /// An interface cannot be used.
    #[error("interface {name}: {problem}")]
    Interface {
        /// Its name.
        name: String,
        /// Why.
        problem: String,
    },
    /// A cgroup cannot be used.
    #[error("cgroup {}: {problem}", path.display())]
    Cgroup {
        /// Its folder.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A file of a pinned link.
    #[error("{}: {problem}", path.display())]
    Pin {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What it was for.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl EbpfError {
    pub(crate) fn system(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Self {
        move |error| Self::System { what, error: io::Error::other(error) }
    }
}
