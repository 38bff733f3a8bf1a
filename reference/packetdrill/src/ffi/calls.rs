//! The calls except reading and writing.

use std::ffi::{c_int, c_longlong, c_uint, c_ulong, c_void};

use headway_units::Duration;
use libc::{epoll_event, loff_t, nfds_t, pollfd, size_t, sockaddr, socklen_t, timeval, timezone, useconds_t};

use super::address::{self, Target};
use super::memory::{copy_in, copy_out, number, put, success};
use super::shared;
use crate::calls::Polled;
use crate::errno::{Errno, Result};
use crate::socket::{Flags, WaitLimit};
use crate::stack::Stack;

// --- sockets -----------------------------------------------------------------------------------------

pub(super) unsafe extern "C" fn socket(
    userdata: *mut c_void,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    number(shared.with(|stack| stack.socket(domain, kind, protocol)))
}

pub(super) unsafe extern "C" fn bind(
    userdata: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the module guarantees.
    let (shared, target) = unsafe { (shared(userdata), address::read(address, len)) };
    success(target.and_then(|target| match target {
        Target::Address(address) => shared.with(|stack| stack.bind(fd, address)),
        Target::Nowhere => Err(Errno(libc::EAFNOSUPPORT)),
    }))
}

pub(super) unsafe extern "C" fn listen(userdata: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    success(shared.with(|stack| stack.listen(fd, backlog)))
}

pub(super) unsafe extern "C" fn accept(
    userdata: *mut c_void,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let wait_limit = shared.with(|stack| stack.wait_limit(fd, Flags::default(), false));
    let accepted = shared.wait(wait_limit, |stack| stack.accept(fd)).map(|(accepted, remote)| {
        let as_v6 = shared.with(|stack| stack.descriptors.socket(fd).is_ok_and(|socket| socket.is_v6));
        // SAFETY: as the module guarantees.
        unsafe { address::write(address, len, remote, as_v6) };
        accepted
    });
    number(accepted)
}

pub(super) unsafe extern "C" fn connect(
    userdata: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the module guarantees.
    let (shared, target) = unsafe { (shared(userdata), address::read(address, len)) };
    success(target.and_then(|target| match target {
        Target::Nowhere => shared.with(|stack| stack.disconnect(fd)),
        Target::Address(remote) => {
            let wait_limit = shared.with(|stack| stack.wait_limit(fd, Flags::default(), true));
            let result = shared.wait(wait_limit, |stack| stack.connect(fd, remote));
            // After SO_SNDTIMEO the handshake continues.
            result.map_err(|error| if error == Errno::WOULD_BLOCK { Errno(libc::EINPROGRESS) } else { error })
        }
    }))
}

pub(super) unsafe extern "C" fn close(userdata: *mut c_void, fd: c_int) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    success(shared.with(|stack| stack.close(fd)).map(|lingering| {
        if let Some((id, wait_limit)) = lingering {
            // Linux does not report undelivered data.
            let _ = shared.wait(wait_limit, |stack| stack.lingers(id));
        }
    }))
}

pub(super) unsafe extern "C" fn shutdown(userdata: *mut c_void, fd: c_int, how: c_int) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    success(shared.with(|stack| stack.shutdown(fd, how)))
}

// --- options -----------------------------------------------------------------------------------------

pub(super) unsafe extern "C" fn setsockopt(
    userdata: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the module guarantees.
    let (shared, value) = unsafe { (shared(userdata), copy_in(value.cast(), len as usize)) };
    success(value.and_then(|value| shared.with(|stack| stack.set_option(fd, level, name, &value))))
}

pub(super) unsafe extern "C" fn getsockopt(
    userdata: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let result = shared.with(|stack| stack.option(fd, level, name)).and_then(|found| {
        if len.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        // SAFETY: not null, and as the module guarantees: `value` has room for `len` bytes.
        unsafe {
            let room = found.len().min(len.read() as usize);
            copy_out(&found[..room], value.cast())?;
            len.write(room as socklen_t);
        }
        Ok(())
    });
    success(result)
}

/// Called by `variadic.c`.
pub(super) unsafe extern "C" fn fcntl(
    userdata: *mut c_void,
    fd: c_int,
    command: c_int,
    argument: c_int,
) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    number(shared.with(|stack| stack.control(fd, command, argument)))
}

/// Called by `variadic.c`.
pub(super) unsafe extern "C" fn ioctl(
    userdata: *mut c_void,
    fd: c_int,
    request: c_ulong,
    argument: *mut c_int,
) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let found = shared.with(|stack| stack.query(fd, request));
    // SAFETY: every supported request has a pointer to a number.
    success(found.and_then(|value| unsafe { put(argument, value) }))
}

// --- readiness ---------------------------------------------------------------------------------------

/// The wait limit of `poll` and `epoll_wait`.
fn wait_limit(millis: c_int) -> WaitLimit {
    match u64::try_from(millis) {
        Ok(0) => WaitLimit::NoWait,
        Ok(millis) => WaitLimit::For(Duration::from_millis(millis)),
        Err(_) => WaitLimit::Unlimited,
    }
}

/// A timeout is not an error.
fn or_zero(result: Result<usize>) -> Result<usize> {
    match result {
        Err(Errno::WOULD_BLOCK) => Ok(0),
        result => result,
    }
}

pub(super) unsafe extern "C" fn poll(
    userdata: *mut c_void,
    list: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let count = count as usize;
    if list.is_null() && count > 0 {
        return success(Err(Errno(libc::EFAULT)));
    }
    let entries =
        // SAFETY: not null unless empty, and as the module guarantees.
        if count == 0 { &mut [][..] } else { unsafe { std::slice::from_raw_parts_mut(list, count) } };
    let mut polled: Vec<Polled> =
        entries.iter().map(|entry| Polled { fd: entry.fd, wanted: entry.events, found: 0 }).collect();
    let result = shared.wait(wait_limit(timeout), |stack| stack.poll(&mut polled));
    for (entry, polled) in entries.iter_mut().zip(&polled) {
        entry.revents = polled.found;
    }
    number(or_zero(result))
}

pub(super) unsafe extern "C" fn epoll_create(userdata: *mut c_void, size: c_int) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    number(shared.with(|stack| stack.epoll_create(size)))
}

pub(super) unsafe extern "C" fn epoll_ctl(
    userdata: *mut c_void,
    set: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let event = (!event.is_null()).then(|| {
        // SAFETY: not null, and as the module guarantees.
        let event = unsafe { event.read_unaligned() };
        (event.events, event.u64)
    });
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    success(shared.with(|stack| stack.epoll_ctl(set, operation, fd, event)))
}

pub(super) unsafe extern "C" fn epoll_wait(
    userdata: *mut c_void,
    set: c_int,
    events: *mut epoll_event,
    limit: c_int,
    timeout: c_int,
) -> c_int {
    let Ok(limit @ 1..) = usize::try_from(limit) else {
        return success(Err(Errno(libc::EINVAL)));
    };
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let found = match shared.wait(wait_limit(timeout), |stack| stack.epoll_wait(set, limit)) {
        Ok(found) => found,
        Err(Errno::WOULD_BLOCK) => return 0,
        Err(error) => return success(Err(error)),
    };
    let written = found.iter().enumerate().try_for_each(|(at, &(events_found, data))| {
        // SAFETY: there is room for `limit` entries, and `found` is not longer.
        unsafe { put(events.wrapping_add(at), epoll_event { events: events_found, u64: data }) }
    });
    number(written.map(|()| found.len()))
}

// --- pipes -------------------------------------------------------------------------------------------

pub(super) unsafe extern "C" fn pipe(userdata: *mut c_void, ends: *mut c_int) -> c_int {
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    // SAFETY: as the module guarantees, `ends` has room for two.
    success(shared.with(Stack::pipe).and_then(|made| unsafe { put(ends.cast(), made) }))
}

pub(super) unsafe extern "C" fn splice(
    userdata: *mut c_void,
    from: c_int,
    from_offset: *mut loff_t,
    to: c_int,
    to_offset: *mut loff_t,
    len: size_t,
    flags: c_uint,
) -> c_int {
    // SAFETY: as the module guarantees, non-null pointers are readable.
    let has_offset = |offset: *mut loff_t| !offset.is_null() && unsafe { offset.read_unaligned() } != 0;
    if has_offset(from_offset) || has_offset(to_offset) {
        // Pipes and sockets have no offsets. packetdrill passes the address of a zero for NULL in a
        // script.
        return success(Err(Errno(libc::ESPIPE)));
    }
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let wait_limit = shared.with(|stack| {
        let waits = flags & libc::SPLICE_F_NONBLOCK == 0
            && !stack.descriptors.is_nonblocking(from)
            && !stack.descriptors.is_nonblocking(to);
        if waits { WaitLimit::Unlimited } else { WaitLimit::NoWait }
    });
    number(shared.wait(wait_limit, |stack| stack.splice(from, to, len)))
}

// --- network and time --------------------------------------------------------------------------------

pub(super) unsafe extern "C" fn netdev_send(
    userdata: *mut c_void,
    packet: *const c_void,
    len: size_t,
) -> c_int {
    // SAFETY: as the module guarantees.
    let (shared, packet) = unsafe { (shared(userdata), copy_in(packet.cast(), len)) };
    success(packet.map(|packet| shared.with(|stack| stack.inject(&packet))))
}

pub(super) unsafe extern "C" fn netdev_receive(
    userdata: *mut c_void,
    buffer: *mut c_void,
    len: *mut size_t,
    micros: *mut c_longlong,
) -> c_int {
    if len.is_null() {
        return success(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: as the module guarantees.
    let shared = unsafe { shared(userdata) };
    let Some(sent) = shared.next_sent() else {
        // packetdrill reports an empty packet as an error and ends the script: the expected packet will
        // never be sent.
        eprintln!("headway: no packet will be sent: nothing is queued and no timer is running");
        // SAFETY: not null, and as the module guarantees.
        unsafe { len.write(0) };
        return 0;
    };
    // SAFETY: not null, and as the module guarantees: `buffer` has room for `len` bytes.
    let result = unsafe {
        let fits = sent.packet.len().min(len.read());
        len.write(fits);
        copy_out(&sent.packet[..fits], buffer.cast())
            .and_then(|()| put(micros, (sent.at.as_nanos() / 1000) as c_longlong))
    };
    success(result)
}

pub(super) unsafe extern "C" fn usleep(userdata: *mut c_void, micros: useconds_t) -> c_int {
    // SAFETY: as the module guarantees.
    unsafe { shared(userdata) }.sleep(Duration::from_micros(micros.into()));
    0
}

pub(super) unsafe extern "C" fn gettimeofday(
    userdata: *mut c_void,
    time: *mut timeval,
    _zone: *mut timezone,
) -> c_int {
    // SAFETY: as the module guarantees.
    let now = unsafe { shared(userdata) }.read_clock().as_nanos() / 1000;
    let value = timeval { tv_sec: (now / 1_000_000) as _, tv_usec: (now % 1_000_000) as _ };
    // SAFETY: as the module guarantees.
    success(unsafe { put(time, value) })
}
