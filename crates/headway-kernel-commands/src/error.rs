//! Why a command for the kernel's TCP failed.

use headway_command::Failure;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KernelError {
    /// Built without the feature.
    #[cfg(not(feature = "programs"))]
    #[error(
        "kernel {0}: this headway was built without it; expected `cargo build --release --features kernel` (with clang, \
         make, pkg-config and the headers of libelf and zlib)"
    )]
    NotBuilt(&'static str),
    #[cfg(feature = "programs")]
    #[error(transparent)]
    BadOption(#[from] headway_command::BadOption),
    #[cfg(feature = "programs")]
    #[error(transparent)]
    Ebpf(#[from] headway_ebpf::EbpfError),
    #[cfg(feature = "programs")]
    #[error(transparent)]
    Output(#[from] headway_command::output::OutputError),
    #[cfg(feature = "programs")]
    #[error("{what}: {error}")]
    System { what: String, error: std::io::Error },
    #[cfg(feature = "programs")]
    #[error("{name} is missing; with it {purpose}")]
    Missing { name: &'static str, purpose: &'static str },
    #[cfg(feature = "programs")]
    #[error("the programs were detached by others")]
    Detached,
}

impl Failure for KernelError {
    fn is_usage(&self) -> bool {
        match self {
            #[cfg(not(feature = "programs"))]
            Self::NotBuilt(_) => false,
            #[cfg(feature = "programs")]
            Self::BadOption(_) => true,
            #[cfg(feature = "programs")]
            Self::Ebpf(error) => matches!(
                error,
                headway_ebpf::EbpfError::Interface { .. } | headway_ebpf::EbpfError::Cgroup { .. }
            ),
            #[cfg(feature = "programs")]
            _ => false,
        }
    }
}
