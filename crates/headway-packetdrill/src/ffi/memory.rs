//! Octets in C's memory, and results as C has them.

use std::ffi::c_int;

use libc::{iovec, ssize_t};

use crate::errno::{Errno, Result};

/// More pieces than this are refused (`IOV_MAX`).
const MAX_PIECES: usize = 1024;

/// Copies `len` octets out of C's memory.
///
/// # Safety
///
/// `from` is null or points to `len` readable octets.
pub(super) unsafe fn copy_in(from: *const u8, len: usize) -> Result<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if from.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, and the caller vouches for the length.
    Ok(unsafe { std::slice::from_raw_parts(from, len) }.to_vec())
}

/// Copies `data` into C's memory.
///
/// # Safety
///
/// `to` is null or points to at least as many writable octets.
pub(super) unsafe fn copy_out(data: &[u8], to: *mut u8) -> Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    if to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, the caller vouches for the room, and Rust's memory is not C's.
    unsafe { data.as_ptr().copy_to_nonoverlapping(to, data.len()) };
    Ok(())
}

/// Writes one value to C's memory.
///
/// # Safety
///
/// `to` is null or points to room for it, aligned or not.
pub(super) unsafe fn put<T>(to: *mut T, value: T) -> Result<()> {
    if to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, and the caller vouches for the room.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Where the pieces of a vector lie, and how long they are.
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
    // SAFETY: not null, and the caller vouches for the count.
    let entries = unsafe { std::slice::from_raw_parts(vector, count) };
    let pieces: Vec<_> = entries.iter().map(|entry| (entry.iov_base.cast(), entry.iov_len)).collect();
    let total = pieces.iter().try_fold(0usize, |sum, (_, len)| sum.checked_add(*len));
    match total {
        Some(total) if ssize_t::try_from(total).is_ok() => Ok(pieces),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Copies all pieces of a vector out of C's memory, in order.
///
/// # Safety
///
/// Every piece is null or points to as many readable octets as it says.
pub(super) unsafe fn gather(pieces: &[(*mut u8, usize)]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for &(from, len) in pieces {
        // SAFETY: as the caller vouches.
        all.append(&mut unsafe { copy_in(from, len) }?);
    }
    Ok(all)
}

/// Copies `data` into the pieces of a vector, in order.
///
/// # Safety
///
/// Every piece is null or points to as many writable octets as it says.
pub(super) unsafe fn scatter(mut data: &[u8], pieces: &[(*mut u8, usize)]) -> Result<()> {
    for &(to, len) in pieces {
        let (now, later) = data.split_at(len.min(data.len()));
        // SAFETY: as the caller vouches.
        unsafe { copy_out(now, to) }?;
        data = later;
    }
    Ok(())
}

/// Sets `errno` and gives -1.
fn fail(error: Errno) -> c_int {
    // SAFETY: the C library's own address of this thread's `errno`.
    unsafe { *libc::__errno_location() = error.0 };
    -1
}

/// A call that gives a number, or nothing but success.
pub(super) fn number<T: TryInto<c_int>>(result: Result<T>) -> c_int {
    match result {
        Ok(value) => value.try_into().unwrap_or(c_int::MAX),
        Err(error) => fail(error),
    }
}

/// A call that gives nothing but success.
pub(super) fn success(result: Result<()>) -> c_int {
    number(result.map(|()| 0))
}

/// A call that gives a count of octets.
pub(super) fn octets(result: Result<usize>) -> ssize_t {
    match result {
        Ok(count) => count.try_into().unwrap_or(ssize_t::MAX),
        Err(error) => fail(error) as ssize_t,
    }
}
