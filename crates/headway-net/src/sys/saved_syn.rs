//! The SYN of a connection that the kernel has accepted (`TCP_SAVE_SYN`, `TCP_SAVED_SYN`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The longest headers of a SYN: IPv6 without extension headers, or IPv4 with options, and TCP.
const LONGEST: usize = 60 + 60;

/// Calls `read` with the IP and the TCP header of a connection's SYN, or with what fits of them. They can be had once.
pub(crate) fn saved_syn<T>(fd: BorrowedFd<'_>, read: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
    let mut headers = [0_u8; LONGEST];
    let mut len = LONGEST as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which `headers` has.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_SAVED_SYN,
            headers.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if result == 0 {
        Ok(read(&headers[..(len as usize).min(LONGEST)]))
    } else {
        Err(io::Error::last_os_error())
    }
}
