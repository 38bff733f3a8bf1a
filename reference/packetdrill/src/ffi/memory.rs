//! Bytes in C memory, and results in C conventions.

use std::ffi::c_int;

use libc::{iovec, ssize_t};

use crate::errno::{Errno, Result};

/// The maximum number of parts of a vector (`IOV_MAX`).
const MAX_PIECES: usize = 1024;

/// Copies `len` bytes from C memory.
///
/// # Safety
///
/// `from` is null or points to `len` readable bytes.
pub(super) unsafe fn copy_in(from: *const u8, len: usize) -> Result<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if from.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, and the caller guarantees the length.
    Ok(unsafe { std::slice::from_raw_parts(from, len) }.to_vec())
}

/// Copies `data` to C memory.
///
/// # Safety
///
/// `to` is null or points to at least as many writable bytes.
pub(super) unsafe fn copy_out(data: &[u8], to: *mut u8) -> Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    if to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, the caller guarantees the room, and the memory does not overlap.
    unsafe { data.as_ptr().copy_to_nonoverlapping(to, data.len()) };
    Ok(())
}

/// Writes one value to C memory.
///
/// # Safety
///
/// `to` is null or points to room for it, aligned or not.
pub(super) unsafe fn put<T>(to: *mut T, value: T) -> Result<()> {
    if to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, and the caller guarantees the room.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// The addresses and lengths of the parts of a vector.
///
/// # Safety
///
/// `vector` is null or points to `count` entries.
pub(super) unsafe fn pieces(vector: *const iovec, count: usize) -> Result<Vec<(*mut u8, usize)>> {
    if count > MAX_PIECES {
        return Err(Errno(libc::EINVAL));
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    if vector.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, and the caller guarantees the count.
    let entries = unsafe { std::slice::from_raw_parts(vector, count) };
    let pieces: Vec<_> = entries.iter().map(|entry| (entry.iov_base.cast(), entry.iov_len)).collect();
    let total = pieces.iter().try_fold(0usize, |sum, (_, len)| sum.checked_add(*len));
    match total {
        Some(total) if ssize_t::try_from(total).is_ok() => Ok(pieces),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Copies all parts of a vector from C memory, in order.
///
/// # Safety
///
/// Every part is null or points to as many readable bytes as its length.
pub(super) unsafe fn gather(pieces: &[(*mut u8, usize)]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for &(from, len) in pieces {
        // SAFETY: as the caller guarantees.
        all.append(&mut unsafe { copy_in(from, len) }?);
    }
    Ok(all)
}

/// Copies `data` to the parts of a vector, in order.
///
/// # Safety
///
/// Every part is null or points to as many writable bytes as its length.
pub(super) unsafe fn scatter(mut data: &[u8], pieces: &[(*mut u8, usize)]) -> Result<()> {
    for &(to, len) in pieces {
        let (now, later) = data.split_at(len.min(data.len()));
        // SAFETY: as the caller guarantees.
        unsafe { copy_out(now, to) }?;
        data = later;
    }
    Ok(())
}

/// Sets `errno` and returns -1.
fn fail(error: Errno) -> c_int {
    // SAFETY: the C library's own address of this thread's `errno`.
    unsafe { *libc::__errno_location() = error.0 };
    -1
}

/// The result of a call that returns a number.
pub(super) fn number<T: TryInto<c_int>>(result: Result<T>) -> c_int {
    match result {
        Ok(value) => value.try_into().unwrap_or(c_int::MAX),
        Err(error) => fail(error),
    }
}

/// The result of a call that returns only success.
pub(super) fn success(result: Result<()>) -> c_int {
    number(result.map(|()| 0))
}

/// The result of a call that returns a number of bytes.
pub(super) fn byte_count(result: Result<usize>) -> ssize_t {
    match result {
        Ok(count) => count.try_into().unwrap_or(ssize_t::MAX),
        Err(error) => fail(error) as ssize_t,
    }
}
