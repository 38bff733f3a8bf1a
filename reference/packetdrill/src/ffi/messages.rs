//! Reading and writing.

use std::ffi::{c_int, c_void};
use std::mem;

use libc::{iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use super::memory::{byte_count, copy_in, gather, pieces, scatter};
use super::shared;
use crate::blocking::Shared;
use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::settings::TCP_INQ;
use crate::socket::{Flags, WaitLimit};

/// Waits for data and reads at most `len` bytes of it, if there is a buffer.
fn take(shared: &Shared, fd: c_int, len: usize, bits: c_int, has_room: bool) -> Result<Vec<u8>> {
    let flags = Flags::parse(bits)?;
    let wait_limit = shared.with(|stack| stack.wait_limit(fd, flags, false));
    shared.wait(wait_limit, |stack| match stack.descriptors.get(fd)?.kind {
        Kind::Pipe(end) => stack.pipe_read(end, len),
        _ if has_room => stack.receive(fd, len, flags),
        // As in the system, the error occurs only when there is data, which is not consumed.
        _ => match stack.receive(fd, len, Flags { peek: true, ..flags })? {
            data if data.is_empty() => Ok(data),
            _ => Err(Errno(libc::EFAULT)),
        },
    })
}

/// Writes all of `data`, waiting for room if it may. A partial write before an error or the wait limit is
/// a success.
fn write_all(shared: &Shared, fd: c_int, data: &[u8], bits: c_int) -> Result<usize> {
    let flags = Flags::parse(bits)?;
    let wait_limit = shared.with(|stack| stack.wait_limit(fd, flags, true));
    let mut written = 0;
    let result = shared.wait(wait_limit, |stack| {
        loop {
            let rest = &data[written..];
            written += match stack.descriptors.get(fd)?.kind {
                Kind::Pipe(end) => stack.pipe_write(end, rest)?,
                _ => stack.send(fd, rest, flags)?,
            };
            if written == data.len() {
                return Ok(written);
            }
            if wait_limit == WaitLimit::NoWait {
                return Err(Errno::WOULD_BLOCK);
            }
        }
    });
    match result {
        Err(_) if written > 0 => Ok(written),
        result => result,
    }
}

pub(super) unsafe extern "C" fn read(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: as the module guarantees.
    unsafe { recv(userdata, fd, buffer, len, 0) }
}

pub(super) unsafe extern "C" fn recv(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module guarantees.
    unsafe { receive_into(userdata, fd, &[(buffer.cast(), len)], flags) }
}

pub(super) unsafe extern "C" fn readv(
    userdata: *mut c_void,
    fd: c_int,
    vector: *const iovec,
    count: c_int,
) -> ssize_t {
    let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL));
    // SAFETY: as the module guarantees.
    match count.and_then(|count| unsafe { pieces(vector, count) }) {
        // SAFETY: as the module guarantees.
        Ok(pieces) => unsafe { receive_into(userdata, fd, &pieces, 0) },
        Err(error) => byte_count(Err(error)),
    }
}

/// # Safety
///
/// As for `readv`.
unsafe fn receive_into(
    userdata: *mut c_void,
    fd: c_int,
    pieces: &[(*mut u8, usize)],
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let len = pieces.iter().map(|(_, len)| len).sum();
    let is_dropped = flags & libc::MSG_TRUNC != 0;
    let has_room = is_dropped || pieces.iter().all(|(to, len)| *len == 0 || !to.is_null());
    let result = take(shared, fd, len, flags, has_room).and_then(|data| {
        if !is_dropped {
            // SAFETY: as the caller guarantees; it is not longer than the parts together.
            unsafe { scatter(&data, pieces) }?;
        }
        Ok(data.len())
    });
    byte_count(result)
}

pub(super) unsafe extern "C" fn recvfrom(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
    _source: *mut sockaddr,
    source_len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: as the module guarantees.
    let count = unsafe { recv(userdata, fd, buffer, len, flags) };
    if count >= 0 && !source_len.is_null() {
        // SAFETY: not null, and as the module guarantees. TCP returns no source address.
        unsafe { source_len.write(0) };
    }
    count
}

pub(super) unsafe extern "C" fn recvmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return byte_count(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: not null, and as the module guarantees.
    let header = unsafe { &mut *message };
    // SAFETY: as the module guarantees.
    let pieces = match unsafe { pieces(header.msg_iov, header.msg_iovlen) } {
        Ok(pieces) => pieces,
        Err(error) => return byte_count(Err(error)),
    };
    // SAFETY: as the module guarantees.
    let count = unsafe { receive_into(userdata, fd, &pieces, flags) };
    if count >= 0 {
        header.msg_namelen = 0;
        header.msg_flags = 0;
        // SAFETY: as the module guarantees.
        let left = unsafe { shared(userdata) }.with(|stack| {
            let socket = stack.descriptors.socket(fd).ok()?;
            socket.settings.reports_unread.then(|| stack.unread(fd))
        });
        // SAFETY: as the module guarantees.
        unsafe { tell_left(header, left) };
    }
    count
}

/// The control message of `TCP_INQ`, if enabled and there is room.
///
/// # Safety
///
/// `msg_control` is null or points to `msg_controllen` writable bytes.
unsafe fn tell_left(header: &mut msghdr, left: Option<c_int>) {
    let room = mem::replace(&mut header.msg_controllen, 0) as usize;
    let Some(left) = left else { return };
    let payload = size_of::<c_int>() as u32;
    // SAFETY: plain arithmetic.
    let (len, space) = unsafe { (libc::CMSG_LEN(payload), libc::CMSG_SPACE(payload) as usize) };
    if header.msg_control.is_null() || room < space {
        return;
    }
    let control = header.msg_control.cast::<libc::cmsghdr>();
    // SAFETY: there is room for the header and one number.
    unsafe {
        (&raw mut (*control).cmsg_len).write_unaligned(len as _);
        (&raw mut (*control).cmsg_level).write_unaligned(libc::IPPROTO_TCP);
        (&raw mut (*control).cmsg_type).write_unaligned(TCP_INQ);
        libc::CMSG_DATA(control).cast::<c_int>().write_unaligned(left);
    }
    header.msg_controllen = space as _;
}

pub(super) unsafe extern "C" fn write(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: as the module guarantees.
    unsafe { send(userdata, fd, buffer, len, 0) }
}

pub(super) unsafe extern "C" fn send(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module guarantees.
    let (shared, data) = unsafe { (shared(userdata), copy_in(buffer.cast(), len)) };
    byte_count(data.and_then(|data| write_all(shared, fd, &data, flags)))
}

pub(super) unsafe extern "C" fn sendto(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
    _destination: *const sockaddr,
    _destination_len: socklen_t,
) -> ssize_t {
    // The destination of a stream is that of `connect`; it is ignored.
    // SAFETY: as the module guarantees.
    unsafe { send(userdata, fd, buffer, len, flags) }
}

pub(super) unsafe extern "C" fn writev(
    userdata: *mut c_void,
    fd: c_int,
    vector: *const iovec,
    count: c_int,
) -> ssize_t {
    let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL));
    // SAFETY: as the module guarantees.
    count.map_or_else(
        |error| byte_count(Err(error)),
        |count| unsafe { send_from(userdata, fd, vector, count, 0) },
    )
}

pub(super) unsafe extern "C" fn sendmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return byte_count(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: not null, and as the module guarantees.
    unsafe {
        let header = &*message;
        send_from(userdata, fd, header.msg_iov, header.msg_iovlen, flags)
    }
}

/// # Safety
///
/// As for `writev`.
unsafe fn send_from(
    userdata: *mut c_void,
    fd: c_int,
    vector: *const iovec,
    count: usize,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the caller guarantees.
    let data = unsafe { pieces(vector, count).and_then(|pieces| gather(&pieces)) };
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    byte_count(data.and_then(|data| write_all(shared, fd, &data, flags)))
}
