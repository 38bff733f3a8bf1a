//! Reading and writing.

use std::ffi::{c_int, c_void};
use std::mem;

use libc::{iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use super::memory::{copy_in, gather, octets, pieces, scatter};
use super::shared;
use crate::blocking::{Patience, Shared};
use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::options::TCP_INQ;
use crate::sockets::Flags;

/// Waits for data and takes at most `len` octets of it, if there is somewhere to put it.
fn take(shared: &Shared, fd: c_int, len: usize, bits: c_int, has_room: bool) -> Result<Vec<u8>> {
    let flags = Flags::parse(bits)?;
    let patience = shared.with(|stack| stack.patience(fd, flags, false));
    shared.wait(patience, |stack| match stack.descriptors.get(fd)?.kind {
        Kind::Pipe(end) => stack.pipe_read(end, len),
        _ if has_room => stack.receive(fd, len, flags),
        // The system notices only when there is data, and leaves it there.
        _ => match stack.receive(fd, len, Flags { peek: true, ..flags })? {
            data if data.is_empty() => Ok(data),
            _ => Err(Errno(libc::EFAULT)),
        },
    })
}

/// Hands over all of `data`, waiting for room if it may. What went before an error or the end of
/// patience counts as success.
fn give(shared: &Shared, fd: c_int, data: &[u8], bits: c_int) -> Result<usize> {
    let flags = Flags::parse(bits)?;
    let patience = shared.with(|stack| stack.patience(fd, flags, true));
    let mut given = 0;
    let result = shared.wait(patience, |stack| {
        loop {
            let rest = &data[given..];
            given += match stack.descriptors.get(fd)?.kind {
                Kind::Pipe(end) => stack.pipe_write(end, rest)?,
                _ => stack.send(fd, rest, flags)?,
            };
            if given == data.len() {
                return Ok(given);
            }
            if patience == Patience::None {
                return Err(Errno::WOULD_BLOCK);
            }
        }
    });
    match result {
        Err(_) if given > 0 => Ok(given),
        result => result,
    }
}

pub(super) unsafe extern "C" fn read(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: as the module vouches.
    unsafe { recv(userdata, fd, buffer, len, 0) }
}

pub(super) unsafe extern "C" fn recv(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module vouches.
    unsafe { receive_into(userdata, fd, &[(buffer.cast(), len)], flags) }
}

pub(super) unsafe extern "C" fn readv(
    userdata: *mut c_void,
    fd: c_int,
    vector: *const iovec,
    count: c_int,
) -> ssize_t {
    let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL));
    // SAFETY: as the module vouches.
    match count.and_then(|count| unsafe { pieces(vector, count) }) {
        // SAFETY: as the module vouches.
        Ok(pieces) => unsafe { receive_into(userdata, fd, &pieces, 0) },
        Err(error) => octets(Err(error)),
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
    // SAFETY: as the module vouches.
    let shared = unsafe { shared(userdata) };
    let len = pieces.iter().map(|(_, len)| len).sum();
    let is_dropped = flags & libc::MSG_TRUNC != 0;
    let has_room = is_dropped || pieces.iter().all(|(to, len)| *len == 0 || !to.is_null());
    let result = take(shared, fd, len, flags, has_room).and_then(|data| {
        if !is_dropped {
            // SAFETY: as the caller vouches; it is no longer than the pieces together.
            unsafe { scatter(&data, pieces) }?;
        }
        Ok(data.len())
    });
    octets(result)
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
    // SAFETY: as the module vouches.
    let count = unsafe { recv(userdata, fd, buffer, len, flags) };
    if count >= 0 && !source_len.is_null() {
        // SAFETY: not null, and as the module vouches. TCP tells no source.
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
        return octets(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: not null, and as the module vouches.
    let header = unsafe { &mut *message };
    // SAFETY: as the module vouches.
    let pieces = match unsafe { pieces(header.msg_iov, header.msg_iovlen) } {
        Ok(pieces) => pieces,
        Err(error) => return octets(Err(error)),
    };
    // SAFETY: as the module vouches.
    let count = unsafe { receive_into(userdata, fd, &pieces, flags) };
    if count >= 0 {
        header.msg_namelen = 0;
        header.msg_flags = 0;
        // SAFETY: as the module vouches.
        let left = unsafe { shared(userdata) }.with(|stack| {
            let socket = stack.descriptors.socket(fd).ok()?;
            socket.settings.tells_left.then(|| stack.left(fd))
        });
        // SAFETY: as the module vouches.
        unsafe { tell_left(header, left) };
    }
    count
}

/// The control message of `TCP_INQ`, if there is room and somebody wants it.
///
/// # Safety
///
/// `msg_control` is null or points to `msg_controllen` writable octets.
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
    // SAFETY: there is room for the header and one number behind it.
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
    // SAFETY: as the module vouches.
    unsafe { send(userdata, fd, buffer, len, 0) }
}

pub(super) unsafe extern "C" fn send(
    userdata: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module vouches.
    let (shared, data) = unsafe { (shared(userdata), copy_in(buffer.cast(), len)) };
    octets(data.and_then(|data| give(shared, fd, &data, flags)))
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
    // A stream has one destination, given to `connect`.
    // SAFETY: as the module vouches.
    unsafe { send(userdata, fd, buffer, len, flags) }
}

pub(super) unsafe extern "C" fn writev(
    userdata: *mut c_void,
    fd: c_int,
    vector: *const iovec,
    count: c_int,
) -> ssize_t {
    let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL));
    // SAFETY: as the module vouches.
    count
        .map_or_else(|error| octets(Err(error)), |count| unsafe { send_from(userdata, fd, vector, count, 0) })
}

pub(super) unsafe extern "C" fn sendmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return octets(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: not null, and as the module vouches.
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
    // SAFETY: as the caller vouches.
    let data = unsafe { pieces(vector, count).and_then(|pieces| gather(&pieces)) };
    // SAFETY: as the module vouches.
    let shared = unsafe { shared(userdata) };
    octets(data.and_then(|data| give(shared, fd, &data, flags)))
}
