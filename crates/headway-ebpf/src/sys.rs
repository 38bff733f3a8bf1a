//! Links without a safe binding: those of tcx, and those of other processes.
//!
//! All functions are safe: what is passed to the kernel outlives the call.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Attaches a program to a hook of an interface (`BPF_TCX_...`). It is detached when the descriptor is closed, unless that is
/// pinned.
pub(crate) fn attach_tcx(program: BorrowedFd<'_>, index: u32, hook: u32) -> io::Result<OwnedFd> {
    let index = i32::try_from(index).map_err(io::Error::other)?;
    // SAFETY: without options nothing is pointed to.
    let link = unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), index, hook, std::ptr::null()) };
    owned(link)
}

/// Opens a link by its number.
pub(crate) fn link_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: numbers alone are passed.
    owned(unsafe { libbpf_sys::bpf_link_get_fd_by_id(id) })
}

/// Detaches a link, whoever holds it.
pub(crate) fn detach(link: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    check(unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) }).map(|_| ())
}

/// Gives a link a file, which keeps it.
pub(crate) fn pin(link: BorrowedFd<'_>, path: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: the path ends with zero, and lives until the call returns.
    check(unsafe { libbpf_sys::bpf_obj_pin(link.as_raw_fd(), path.as_ptr()) }).map(|_| ())
}

fn owned(result: i32) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has made this descriptor for the caller.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// libbpf returns the number of an error, negated.
fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}
